package upstream

import (
	"bytes"
	"strings"
)

// streamCover covers the service's key in every frame, because an error need not be marked as one, and the service's address in
// frames that are marked as errors: a success may name it.
type streamCover struct {
	credential *Credential
	within     bool // the last piece ended inside an error frame
}

// cover covers the next piece, in place and letter for letter.
func (f *streamCover) cover(whole []byte) {
	f.credential.RedactKeys(whole)
	from := 0
	if !f.within {
		from = errorFrame(whole)
	}
	if f.within = false; from >= 0 {
		f.credential.Redact(whole[from:])
		f.within = lastBorder(whole) != len(whole)
	}
}

// errorFrame returns where the first error frame begins, or -1. JSON has no raw line ends, so model text cannot look like a
// line of the stream.
func errorFrame(whole []byte) int {
	if saysError(whole) {
		return 0
	}
	first := -1
	for _, lineEnd := range [...]byte{'\n', '\r'} {
		for from := 0; ; {
			i := bytes.IndexByte(whole[from:], lineEnd)
			if i < 0 {
				break
			}
			if from += i + 1; saysError(whole[from:]) {
				if frame := lastBorder(whole[:from]); first < 0 || frame < first {
					first = frame
				}
				break
			}
		}
	}
	return first
}

// saysError reports whether a line is "event:error", in any case and with any blanks before the name.
func saysError(line []byte) bool {
	value, ok := cutFold(line, "event:")
	if !ok {
		return false
	}
	_, ok = cutFold(bytes.TrimLeft(value, " \t"), "error")
	return ok
}

// cutFold cuts a prefix in any case. Its first letter has only one other case. It decides for nearly all texts.
func cutFold(text []byte, prefix string) ([]byte, bool) {
	if len(text) < len(prefix) || text[0]|0x20 != prefix[0] || !strings.EqualFold(string(text[:len(prefix)]), prefix) {
		return nil, false
	}
	return text[len(prefix):], true
}
