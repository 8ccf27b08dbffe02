package messages

import (
	"testing"

	"sluice/gateway/conversation"
	"sluice/gateway/dialect/dialecttest"
)

func TestRequests(t *testing.T) {
	dialecttest.Passages(t, "requests", "native", func(_ string, in []byte) string { return dialecttest.Shown(Read(in, dialecttest.Models)) })
}

func TestPassagesKeepTheRules(t *testing.T) { dialecttest.KeepRules(t, "requests", Read) }

// begun is an answer that has begun.
func begun() *Answer {
	a := new(Answer)
	a.Begin(dialecttest.Head)
	return a
}

// inForm is an error in Anthropic's form.
func inForm(dst []byte, r *conversation.Refusal) []byte { return AppendError(dst, "7a2f3c51", r) }

func TestAnswers(t *testing.T) {
	dialecttest.Passages(t, "answers", "anthropic", func(_ string, in []byte) string {
		out, err := conversation.Whole(nil, begun(), in)
		if err != nil {
			return dialecttest.Refused(err, inForm)
		}
		dialecttest.MustBeJSON(t, out)
		return string(out) + "\n"
	})
}

func TestStreams(t *testing.T) {
	dialecttest.Passages(t, "streams", "anthropic", func(_ string, in []byte) string {
		out, err := dialecttest.Translated(begun(), in, 1<<30)
		if err != nil {
			return string(out) + dialecttest.Refused(err, inForm)
		}
		return string(out)
	})
}
