package chat

import (
	"testing"

	"sluice/gateway/conversation"
	"sluice/gateway/dialect/dialecttest"
	"sluice/gateway/openai"
)

func TestChats(t *testing.T) {
	dialecttest.Passages(t, "chats", "native", func(_ string, in []byte) string { return shown(Read(in, dialecttest.Models)) })
}

func TestCompletions(t *testing.T) {
	dialecttest.Passages(t, "answers", "openai", func(_ string, in []byte) string {
		out, err := conversation.Whole(nil, begun(false), in)
		if err != nil {
			return dialecttest.Refused(err, openai.AppendError)
		}
		dialecttest.MustBeJSON(t, out)
		return string(out) + "\n"
	})
}

func TestStreams(t *testing.T) {
	dialecttest.Passages(t, "streams", "openai", func(name string, in []byte) string {
		s := dialecttest.NewStream(begun(name == "native-with-usage"))
		out, err := s.Append(nil, in)
		if err == nil {
			out, err = s.End(out)
		}
		if err != nil {
			return string(out) + dialecttest.Refused(err, openai.AppendError)
		}
		return string(out)
	})
}

// begun is an answer that has begun.
func begun(usage bool) *Answer {
	a := &Answer{usage: usage}
	a.Begin(dialecttest.Head)
	return a
}

func shown(r *conversation.Request, err error) string {
	if err == nil && r.Dialect.(*Answer).usage {
		return dialecttest.Shown(r, nil, "usage")
	}
	return dialecttest.Shown(r, err)
}
