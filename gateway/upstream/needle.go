package upstream

import (
	"bytes"
	"strings"
)

// needle is a text to find in any JSON spelling: each letter as it is or escaped (\u002d, \/), also in JSON inside a JSON string
// (\\u002d). The search therefore skips backslashes between letters, including the needle's own.
type needle struct {
	plain   string
	letters string // plain without backslashes
	rare    int    // index in plain of a letter that few texts have
	special bool   // JSON escapes one of its letters without \u00
	gap     int    // how many bytes may be between two letters: backslashes of the escapes, and the needle's own
}

const (
	// mostBackslashes is how many may precede one letter: as many as two letters have in JSON that is quoted four times.
	mostBackslashes = 32
	// longestLetter is how many bytes a letter takes at most.
	longestLetter = mostBackslashes + len("u0000")
	// escape begins the escapes of all letters that a needle has.
	escape = `\u00`
	// usual are the bytes of answers, the most frequent first.
	usual = "\"etaoinsrhldcu:,mpfgyw_0123456789bvk.-{}[]"
)

func needlesOf(texts ...string) (list []needle) {
	for _, text := range texts {
		letters := strings.ReplaceAll(text, `\`, "")
		if len(letters) > 3 { // a shorter one would damage texts and hide nothing
			gap := longestLetter * (1 + len(text) - len(letters))
			list = append(list, needle{text, letters, rarest(text), strings.ContainsAny(text, `"/\`), gap})
		}
	}
	return list
}

func rarest(text string) (at int) {
	for i, most := 0, -1; i < len(text); i++ {
		rank := strings.IndexByte(usual, text[i])
		if rank < 0 {
			return i
		}
		if rank > most {
			at, most = i, rank
		}
	}
	return at
}

// cover overwrites each occurrence of the needle with asterisks.
func (n *needle) cover(text []byte) {
	if !n.mayBeIn(text) {
		return
	}
	for i := 0; i < len(text); i++ {
		if text[i] != n.letters[0] && text[i] != '\\' {
			continue
		}
		if end, _ := n.match(text, i); end > 0 {
			for j := opens(text, i); j < end; j++ {
				text[j] = '*'
			}
			i = end - 1
		}
	}
}

// mayBeIn reports false for most texts that do not contain the needle. It is fast, because it runs over every byte of every
// stream: it looks for a rare letter of the needle, and for escapes of its letters.
func (n *needle) mayBeIn(text []byte) bool {
	for from := n.rare; from < len(text); from++ {
		i := bytes.IndexByte(text[from:], n.plain[n.rare])
		if i < 0 {
			break
		}
		if from += i; string(text[from-n.rare:min(from-n.rare+len(n.plain), len(text))]) == n.plain {
			return true
		}
	}
	for from := 0; ; from++ {
		i := bytes.IndexByte(text[from:], '\\')
		if i < 0 {
			return false
		}
		from += i
		letter, size := readEscape(text[from+1:])
		if n.special || size > 0 && strings.IndexByte(n.letters, letter) >= 0 {
			return true
		}
	}
}

// opens returns where to begin to cover a needle at i, so that the text stays JSON: a backslash that belongs to the first letter is
// covered with it, and one that is escaped itself stays.
func opens(text []byte, i int) int {
	if text[i] == '\\' {
		i++
	}
	before := 0
	for i > before && text[i-before-1] == '\\' {
		before++
	}
	return i - before%2
}

// begins returns where an incomplete needle begins at the end of text, with the backslashes before it, or else the length of
// text.
func (n *needle) begins(text []byte) int {
	for i := max(0, len(text)-len(n.letters)*n.gap); i < len(text); i++ {
		if _, more := n.match(text, i); more {
			for least := max(0, i-mostBackslashes); i > least && text[i-1] == '\\'; {
				i--
			}
			return i
		}
	}
	return len(text)
}

// match returns the end of the needle at i, or 0, and whether more text could complete a needle at i. Of the backslashes before
// the first letter it takes the one of the letter's own escape.
func (n *needle) match(text []byte, i int) (end int, more bool) {
	for at := range len(n.letters) {
		from := i
		if at > 0 {
			i = n.passBackslashes(text, i)
		} else if text[i] == '\\' {
			i++
		}
		if i == len(text) {
			return 0, true
		}
		if i > from && text[i] == 'u' {
			value, size := readEscape(text[i:])
			if size < 0 {
				return 0, true
			}
			if size > 0 && value == n.letters[at] {
				i += size
				continue
			}
		}
		if text[i] != n.letters[at] {
			return 0, false
		}
		i++
	}
	return i, false
}

// passBackslashes skips the backslashes that may come before a letter.
func (n *needle) passBackslashes(text []byte, i int) int {
	for least := i; i < len(text) && text[i] == '\\' && i-least < n.gap; i++ {
		if value, size := readEscape(text[i+1:]); size > 0 && value == '\\' {
			i += size
		}
	}
	return i
}

// readEscape reads u00 and two hexadecimal digits. size is 0 if there is no such escape, and -1 if the text ends too early to
// tell.
func readEscape(text []byte) (value byte, size int) {
	const form = "u00xx"
	for i, c := range text[:min(len(text), len(form))] {
		if form[i] != 'x' {
			if c != form[i] {
				return 0, 0
			}
			continue
		}
		digit := strings.IndexByte("0123456789abcdef0123456789ABCDEF", c)
		if digit < 0 {
			return 0, 0
		}
		value = value<<4 | byte(digit%16)
	}
	if len(text) < len(form) {
		return 0, -1
	}
	return value, len(form)
}
