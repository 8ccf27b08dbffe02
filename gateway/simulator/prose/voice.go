// Package prose holds the sentences of which answers are made, and counts their tokens.
package prose

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	"sluice/gateway/simulator/dice"
)

// voice is the stock of sentences in one language.
type voice struct {
	quote    [2]string // around the question
	Space    string    // between sentences
	Opening  []string
	Body     []string
	closing  []string
	thinking []string
}

var english = voice{
	quote: [2]string{"“", "”"}, Space: " ",
	Opening: []string{
		"Here is what comes to mind about %s.",
		"A good question to sit by the water with: %s.",
		"Let us take %s one step at a time.",
		"Thank you for asking about %s.",
	},
	Body: []string{
		"A sluice does not stop the river; it decides how much of it arrives at once.",
		"Start with the smallest gate that could work, and open it slowly.",
		"What flows in must flow out, be stored, or spill over, and each of the three should be a decision.",
		"The mill needs a steady stream far more than it needs a strong one.",
		"Measure at the weir, not at the sea: by then it is too late to change anything.",
		"When two channels share one source, a fair keeper writes down who took what.",
		"A dry summer shows which gates were ever closed properly.",
		"Clear water shows the stones: keep the path simple enough to see the bottom.",
		"If the level rises faster than you can read it, close first and ask afterwards.",
		"The oldest channels are the straightest ones, because everything else was washed away.",
	},
	closing:  []string{"That is the short of it.", "The rest is patience.", "Ask again and the water will be a little further down."},
	thinking: []string{"First, what is being asked: %s.", " The words are plain, so the answer may be plain too.", " I could list every case, yet one clear picture will carry further.", " A picture from the water fits.", " I will keep it brief."},
}

var chinese = voice{
	quote: [2]string{"“", "”"}, Space: "",
	Opening:  []string{"关于%s，可以这样想。", "说到%s，不妨先看看水是怎么流的。", "谢谢你问起%s。"},
	Body:     []string{"水闸并不拦住河流，它只决定一次放下多少水。", "先开最小的那道闸，再慢慢加大。", "流进来的水，要么流走，要么蓄住，要么漫出去。", "磨坊需要的是平稳的水流，而不是汹涌的水流。", "两条水渠共用一个源头时，要记清楚各自取了多少。", "水清见底：路要简单到一眼能看到底。"},
	closing:  []string{"大致如此。", "剩下的就交给耐心。"},
	thinking: []string{"先想清楚问的是什么：%s。", "话说得明白，答案也可以明白。", "用水来打个比方最合适。"},
}

// maxQuote is how many characters of the question an answer repeats.
const maxQuote = 60

// VoiceFor picks the language of the question.
func VoiceFor(question string) voice {
	for _, r := range question {
		if unicode.Is(unicode.Han, r) {
			return chinese
		}
	}
	return english
}

// Quoted is the question's beginning as part of a sentence.
func (v voice) Quoted(question string) string {
	question = strings.Join(strings.Fields(CutRunes(question, 4*maxQuote)), " ")
	short := strings.TrimRight(CutRunes(question, maxQuote), " .?!。？！")
	if utf8.RuneCountInString(question) > maxQuote {
		short += "…"
	}
	if short == "" {
		short = "…"
	}
	return v.quote[0] + short + v.quote[1]
}

// Answer composes the text for a question; hash picks the sentences.
func (v voice) Answer(question string, hash uint64) string {
	d := dice.Dice(hash)
	parts := []string{strings.ReplaceAll(d.Pick(v.Opening), "%s", v.Quoted(question))}
	first, count := d.Roll(len(v.Body)), 3+d.Roll(3)
	for i := range count {
		parts = append(parts, v.Body[(first+3*i)%len(v.Body)])
	}
	return strings.Join(append(parts, d.Pick(v.closing)), v.Space)
}

// Thoughts composes the chain of thought before an answer.
func (v voice) Thoughts(question string) string {
	return strings.ReplaceAll(strings.Join(v.thinking, ""), "%s", v.Quoted(question))
}

// JSONAnswer is an answer for response_format json_object.
func JSONAnswer(question string, hash uint64) string {
	v := VoiceFor(question)
	text, _ := json.Marshal(map[string]any{ // strings always encode
		"question": CutRunes(question, maxQuote), "answer": v.Answer(question, hash),
	})
	return string(text)
}

// CutRunes returns the first n characters of s, each code point one.
func CutRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
