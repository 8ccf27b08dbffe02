package openai

import "bytes"

// mostNames is how many members an object that this package reads may have. The search for duplicates compares each with all.
const mostNames = 256

// names finds a member that appears twice: two readers may take it for two different values.
type names struct {
	list [][]byte
	room [24][]byte
}

// add takes the next name of an object.
func (n *names) add(name []byte) error {
	for _, other := range n.list {
		if bytes.Equal(other, name) {
			return badRequest(string(brief(name)), "The member %q appears twice.", brief(name))
		}
	}
	if len(n.list) == mostNames {
		return badRequest("", "An object has more than %d members.", mostNames)
	}
	if n.list == nil {
		n.list = n.room[:0]
	}
	n.list = append(n.list, name)
	return nil
}

// brief is as much of a client's text as a message may repeat.
func brief(text []byte) []byte {
	return text[:min(len(text), 64)]
}
