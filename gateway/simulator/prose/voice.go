// Package prose holds the sentences of which answers are made, and counts their tokens.
package prose

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"
)

// voice is the sentences of one language. A %s stands for the question.
type voice struct {
	space    string // between sentences
	opening  []string
	body     []string
	closing  []string
	thinking []string
}

var english = voice{
	space: " ",
	opening: []string{
		"Here is what comes to mind about %s.",
		"A good question to sit by the water with: %s.",
		"Let us take %s one step at a time.",
		"Thank you for asking about %s.",
	},
	body: []string{
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
	opening:  []string{"关于%s，可以这样想。", "说到%s，不妨先看看水是怎么流的。", "谢谢你问起%s。"},
	body:     []string{"水闸并不拦住河流，它只决定一次放下多少水。", "先开最小的那道闸，再慢慢加大。", "流进来的水，要么流走，要么蓄住，要么漫出去。", "磨坊需要的是平稳的水流，而不是汹涌的水流。", "两条水渠共用一个源头时，要记清楚各自取了多少。", "水清见底：路要简单到一眼能看到底。"},
	closing:  []string{"大致如此。", "剩下的就交给耐心。"},
	thinking: []string{"先想清楚问的是什么：%s。", "话说得明白，答案也可以明白。", "用水来打个比方最合适。"},
}

// maxQuote is how many characters of the question an answer repeats.
const maxQuote = 60

// voiceFor picks the language of the question.
func voiceFor(question string) voice {
	for _, r := range question {
		if unicode.Is(unicode.Han, r) {
			return chinese
		}
	}
	return english
}

// about puts the question's beginning into a sentence with a %s.
func (v voice) about(question, sentence string) string {
	question = strings.Join(strings.Fields(CutRunes(question, 4*maxQuote)), " ")
	short := strings.TrimRight(CutRunes(question, maxQuote), " .?!。？！")
	if utf8.RuneCountInString(question) > maxQuote || short == "" {
		short += "…"
	}
	return strings.ReplaceAll(sentence, "%s", "“"+short+"”")
}

// Answer composes the text for a question; hash picks the sentences.
func Answer(question string, hash uint64) string {
	v, d := voiceFor(question), Dice(hash)
	parts := []string{v.about(question, d.pick(v.opening))}
	first, count := d.Roll(len(v.body)), 3+d.Roll(3)
	for i := range count {
		parts = append(parts, v.body[(first+3*i)%len(v.body)])
	}
	return strings.Join(append(parts, d.pick(v.closing)), v.space)
}

// Thoughts composes the chain of thought before an answer.
func Thoughts(question string) string {
	v := voiceFor(question)
	return v.about(question, strings.Join(v.thinking, ""))
}

// Paragraphs composes a story about the question in count paragraphs.
func Paragraphs(question string, count int, d *Dice) []string {
	v := voiceFor(question)
	var out []string
	first := d.Roll(len(v.body))
	for i := range count {
		out = append(out, v.body[(first+i)%len(v.body)])
	}
	out[0] = v.about(question, v.opening[0]) + v.space + out[0]
	return out
}

// JSONAnswer is an answer for response_format json_object.
func JSONAnswer(question string, hash uint64) string {
	text, _ := json.Marshal(map[string]string{ // strings always encode
		"question": CutRunes(question, maxQuote), "answer": Answer(question, hash),
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
