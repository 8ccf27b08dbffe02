package conversation

import (
	"testing"

	"sluice/telemetry/meter"
)

// reports are usages: flat, in one of two details, or in several places.
var reports = []string{
	`{}`,
	`{"input_tokens":11,"output_tokens":7,"total_tokens":18}`,
	`{"input_tokens":11,"output_tokens":7}`,
	`{"input_tokens":11}`,
	`{"total_tokens":18}`,
	`{"input_tokens":11,"output_tokens":7,"total_tokens":3}`,
	`{"input_tokens":11,"cached_tokens":4}`,
	`{"input_tokens":11,"prompt_tokens_details":{"cached_tokens":4,"cache_creation_input_tokens":3}}`,
	`{"input_tokens":11,"input_tokens_details":{"cached_tokens":4,"cache_creation_input_tokens":3}}`,
	`{"input_tokens":11,"cache_creation_input_tokens":3}`,
	`{"input_tokens":11,"cached_tokens":4,"prompt_tokens_details":{"cached_tokens":9}}`,
	`{"input_tokens":11,"cached_tokens":9,"prompt_tokens_details":{"cached_tokens":4}}`,
	`{"input_tokens":11,"cache_creation_input_tokens":9,"input_tokens_details":{"cache_creation_input_tokens":4}}`,
	`{"input_tokens":11,"input_tokens_details":{"cached_tokens":9},"prompt_tokens_details":{"cached_tokens":0}}`,
	`{"input_tokens":11,"cached_tokens":0,"prompt_tokens_details":null}`,
	`{"output_tokens":7,"output_tokens_details":{"reasoning_tokens":5}}`,
	`{"output_tokens":7,"completion_tokens_details":{"reasoning_tokens":5}}`,
	`{"output_tokens":7,"reasoning_tokens":5,"output_tokens_details":{"reasoning_tokens":2,"text_tokens":6}}`,
	`{"input_tokens":11,"input_tokens":12,"output_tokens":7,"output_tokens":6}`,
	`{"input_tokens":"11","output_tokens":null,"total_tokens":true}`,
	`{"input_tokens":11.5,"output_tokens":-7,"total_tokens":[18]}`,
	`{"input_tokens":11.0,"output_tokens":7e1,"cached_tokens":4.0}`,
	`{"input_tokens":9007199254740991,"output_tokens":9007199254740992}`,
	`{"input_tokens":1e400,"output_tokens":7}`,
	`{"input_tokens":-1e300,"output_tokens":0}`,
}

// hearing is a dialect that keeps the usage at a stream's end.
type hearing struct {
	silent
	usage Usage
}

func (h *hearing) Close(dst []byte, u *Usage) []byte {
	h.usage = *u
	return dst
}

// What the client reads of a usage is what the ledger counts, wherever the service writes it: of several places, the largest counts.
func TestClientsAndTheLedgerReadTheSameUsage(t *testing.T) {
	for _, usage := range reports {
		m := meter.New("application/json", "")
		_, _ = m.Write([]byte(`{"usage":` + usage + `}`))
		ledger, read := m.End().Usage, ReadUsage([]byte(usage))
		wantsTheSame(t, usage, &read, &ledger)
	}
}

// The same for the frames of a stream, of which any may lack what another has: the largest of each number counts.
func TestClientsAndTheLedgerReadTheSameUsageOfAStream(t *testing.T) {
	frame := func(text, usage string) string {
		return `data:{"output":{"choices":[{"message":{"content":"` + text + `"},"finish_reason":"stop"}]}` + usage + "}\n\n"
	}
	for _, first := range reports {
		for _, last := range append(reports, `null`, `[]`, "") {
			usage := last
			if last != "" {
				usage = `,"usage":` + last
			}
			stream := []byte(frame("a", `,"usage":`+first) + frame("b", `,"usage":`+first) + frame("c", usage))
			m, s, h := meter.New("text/event-stream", ""), new(Stream), new(hearing)
			_, _ = m.Write(stream)
			s.Begin(h)
			if _, err := s.Append(nil, stream); err != nil {
				t.Fatal(err)
			}
			if _, err := s.End(nil); err != nil {
				t.Fatal(err)
			}
			ledger := m.End().Usage
			wantsTheSame(t, first+" and "+last, &h.usage, &ledger)
		}
	}
}

func wantsTheSame(t *testing.T, usage string, u *Usage, ledger *meter.Usage) {
	t.Helper()
	for field, count := range map[meter.Field]Count{
		meter.InputTokens: u.in, meter.OutputTokens: u.out, meter.TotalTokens: u.sum, meter.CachedTokens: u.Cached,
		meter.CacheCreationTokens: u.Created, meter.ReasoningTokens: u.Thinking,
	} {
		n, ok := ledger.Get(field)
		if want := (Count{n, ok}); count != want {
			t.Errorf("%s: %v of %s, the ledger has %v", usage, count, field, want)
		}
	}
	if tokens, known := ledger.Tokens(); known != u.Known() || u.Total() != tokens {
		t.Errorf("%s: %d in all, known %t; the ledger has %d, %t", usage, u.Total(), u.Known(), tokens, known)
	}
}
