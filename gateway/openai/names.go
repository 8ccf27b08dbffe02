package openai

import "bytes"

// mostNames is how many members an object that this package reads may have. The search for duplicates compares each with all.
const mostNames = 256

// names finds a member that appears twice: two readers may take it for two different values.
type names [][]byte

// fewNames is how many names most objects have room for without allocating.
const fewNames = 16

// add takes the next name of an object. It returns the names with it, so that their room can stay on the stack.
func (n names) add(name []byte) (names, error) {
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

// brief is as much of a client's text as a message may repeat.
func brief[T ~string | ~[]byte](text T) T {
	return text[:min(len(text), 64)]
}
