package simulator

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxWord bounds the letters and digits of one token.
const maxWord = 8

// firstToken returns the length in bytes of the first token of s. A token is up to eight ASCII letters or digits with at most one space
// before them, or any other single character. Input and output are counted by this rule, so an answer cut at max_tokens has exactly that
// many tokens.
func firstToken(s string) int {
	start := 0
	if len(s) > 1 && s[0] == ' ' && isWord(s[1]) {
		start = 1
	}
	end := start
	for end < len(s) && end-start < maxWord && isWord(s[end]) {
		end++
	}
	if end > start {
		return end
	}
	_, n := utf8.DecodeRuneInString(s)
	return n
}

func isWord(b byte) bool {
	return '0' <= b && b <= '9' || 'A' <= b && b <= 'Z' || 'a' <= b && b <= 'z'
}

// tokens counts the tokens of s.
func tokens(s string) int {
	_, n := firstTokens(s, len(s))
	return n
}

// firstTokens returns the first n tokens of s and their number.
func firstTokens(s string, n int) (string, int) {
	end, count := 0, 0
	for count < n && end < len(s) {
		end += firstToken(s[end:])
		count++
	}
	return s[:end], count
}

// pieces cuts s into pieces of n tokens, each with its count.
func pieces(s string, n int) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for len(s) > 0 {
			piece, count := firstTokens(s, n)
			s = s[len(piece):]
			if !yield(piece, count) {
				return
			}
		}
	}
}

// firstRunes returns the first n characters (code points) of s.
func firstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// language has the sentences that make up answers. %s is replaced by the question.
type language struct {
	space                  string // between sentences
	opening, body, closing []string
	thinking               string
}

var english = language{
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
	closing: []string{"That is the short of it.", "The rest is patience.", "Ask again and the water will be a little further down."},
	thinking: "First, what is being asked: %s. The words are plain, so the answer may be plain too. I could list every case, " +
		"yet one clear picture will carry further. A picture from the water fits. I will keep it brief.",
}

var chinese = language{
	opening: []string{"关于%s，可以这样想。", "说到%s，不妨先看看水是怎么流的。", "谢谢你问起%s。"},
	body: []string{
		"水闸并不拦住河流，它只决定一次放下多少水。", "先开最小的那道闸，再慢慢加大。", "流进来的水，要么流走，要么蓄住，要么漫出去。",
		"磨坊需要的是平稳的水流，而不是汹涌的水流。", "两条水渠共用一个源头时，要记清楚各自取了多少。", "水清见底：路要简单到一眼能看到底。",
	},
	closing:  []string{"大致如此。", "剩下的就交给耐心。"},
	thinking: "先想清楚问的是什么：%s。话说得明白，答案也可以明白。用水来打个比方最合适。",
}

// languageOf picks the language of the question.
func languageOf(question string) language {
	if strings.ContainsFunc(question, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
		return chinese
	}
	return english
}

// maxQuote bounds the characters of the question that an answer repeats.
const maxQuote = 60

// about puts the question's beginning into a sentence with a %s.
func about(question, sentence string) string {
	question = strings.Join(strings.Fields(firstRunes(question, 4*maxQuote)), " ")
	short := strings.TrimRight(firstRunes(question, maxQuote), " .?!。？！")
	if utf8.RuneCountInString(question) > maxQuote || short == "" {
		short += "…"
	}
	return strings.ReplaceAll(sentence, "%s", "“"+short+"”")
}

// sentences composes the text for a question; hash picks the sentences.
func sentences(question string, hash uint64) string {
	l, d := languageOf(question), dice(hash)
	parts := []string{about(question, l.opening[d.roll(len(l.opening))])}
	first, count := d.roll(len(l.body)), 3+d.roll(3)
	for i := range count {
		parts = append(parts, l.body[(first+3*i)%len(l.body)])
	}
	return strings.Join(append(parts, l.closing[d.roll(len(l.closing))]), l.space)
}

// paragraphs composes a story about the question in count paragraphs.
func paragraphs(question string, count int, d *dice) []string {
	l := languageOf(question)
	var out []string
	first := d.roll(len(l.body))
	for i := range count {
		out = append(out, l.body[(first+i)%len(l.body)])
	}
	out[0] = about(question, l.opening[0]) + l.space + out[0]
	return out
}

// dice makes deterministic choices (splitmix64). The same hash must give the same text in every Go version, which math/rand promises only
// for some of its sources.
type dice uint64

// roll returns a number from 0 to n-1.
func (d *dice) roll(n int) int {
	*d += 0x9e3779b97f4a7c15
	z := uint64(*d)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int((z ^ z>>31) % uint64(n))
}
