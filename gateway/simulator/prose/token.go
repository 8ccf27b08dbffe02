package prose

import "unicode/utf8"

// maxWord is the longest run of letters and digits that is one token.
const maxWord = 8

// Piece returns the length in bytes of the first token of s. A token is up to eight ASCII letters or digits together
// with one space before them, or any other single character. Input and output are counted by this one rule, so an
// answer cut at max_tokens has exactly that many.
func Piece(s string) int {
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

// Tokens counts the tokens of s.
func Tokens(s string) int {
	n := 0
	for ; len(s) > 0; n++ {
		s = s[Piece(s):]
	}
	return n
}

// FirstTokens returns the first n tokens of s and how many they are.
func FirstTokens(s string, n int) (string, int) {
	end, count := 0, 0
	for count < n && end < len(s) {
		end += Piece(s[end:])
		count++
	}
	return s[:end], count
}
