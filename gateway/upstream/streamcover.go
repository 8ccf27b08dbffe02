package upstream

import (
	"bytes"
	"strings"
)

// streamCover covers what a stream must not tell. The key is covered in every frame: an error need not say that it is one. The
// service's address is covered in those that say so, since a success may name it.
type streamCover struct {
	credential *Credential
	within     bool // the last piece ended inside an error
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

// errorFrame returns where the first frame begins that says to be an error, or -1. JSON has no raw line ends, so model text
// cannot look like one.
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

// saysError reports whether a line names the event of an error, in whatever case and with whatever blanks.
func saysError(line []byte) bool {
	value, ok := cutFold(line, "event:")
	if !ok {
		return false
	}
	_, ok = cutFold(bytes.TrimLeft(value, " \t"), "error")
	return ok
}

func cutFold(text []byte, prefix string) ([]byte, bool) {
	if len(text) < len(prefix) || !strings.EqualFold(string(text[:len(prefix)]), prefix) {
		return nil, false
	}
	return text[len(prefix):], true
}
