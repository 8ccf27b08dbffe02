package responses

import (
	"testing"

	"sluice/gateway/conversation"
	"sluice/gateway/dialect/dialecttest"
	"sluice/gateway/openai"
)

func TestRequests(t *testing.T) {
	dialecttest.Passages(t, "requests", "native", func(_ string, in []byte) string { return dialecttest.Shown(Read(in, dialecttest.Models)) })
}

func TestPassagesKeepTheRules(t *testing.T) { dialecttest.KeepRules(t, "requests", Read) }

// begun is an answer to a request with a custom tool and one of a namespace that has begun.
func begun() *Answer {
	return answering(`{"model":"gpt-4o","input":"Hi","max_output_tokens":64,"tools":[{"type":"custom","name":"patch"},` +
		`{"type":"namespace","name":"mcp","tools":[{"type":"function","name":"find"}]}]}`)
}

// answering is an answer to a request that has begun.
func answering(request string) *Answer {
	r, err := Read([]byte(request), dialecttest.Models)
	if err != nil {
		panic(err)
	}
	a := r.Dialect.(*Answer)
	a.Begin(dialecttest.Head)
	return a
}

func TestAnswers(t *testing.T) {
	dialecttest.Passages(t, "answers", "openai", func(_ string, in []byte) string {
		out, err := conversation.Whole(nil, begun(), in)
		if err != nil {
			return dialecttest.Refused(err, openai.AppendError)
		}
		dialecttest.MustBeJSON(t, out)
		return string(out) + "\n"
	})
}

func TestStreams(t *testing.T) {
	dialecttest.Passages(t, "streams", "openai", func(_ string, in []byte) string {
		out, err := dialecttest.Translated(begun(), in, 1<<30)
		if err != nil {
			return string(out) + dialecttest.Refused(err, openai.AppendError)
		}
		return string(out)
	})
}
