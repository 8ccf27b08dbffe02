package openai

import "bytes"

// mostNames is how many members an object may have, because the search for duplicates compares each with all others.
const mostNames = 64

// names are the member names of an object. They serve to refuse duplicates, of which readers take different ones.
type names [][]byte

// fewNames is how many names fit without an allocation.
const fewNames = 16

// add adds a name. It returns the new names, as append does, so that they can stay on the stack.
func (n names) add(name []byte) (names, error) {
	if len(name) > mostWord {
		return n, badRequest("", "The name of a member has more than %d bytes: %q…", mostWord, brief(name))
	}
	for _, other := range n {
		if bytes.Equal(other, name) {
			return n, badRequest(string(brief(name)), "The member %q appears twice.", brief(name))
		}
	}
	if len(n) == mostNames {
		return n, badRequest("", "An object has more than %d members.", mostNames)
	}
	return append(n, name), nil
}

// brief cuts a client's text to the length that a message may repeat.
func brief[T ~string | ~[]byte](text T) T {
	return text[:min(len(text), 64)]
}
