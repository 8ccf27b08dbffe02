package conversation

import (
	"strconv"
	"testing"

	"sluice/telemetry/meter"
)

// What the client reads of a usage is what the ledger counts, wherever the service writes it: flat, in one of two details, or in several
// places, of which the largest counts.
func TestClientsAndTheLedgerReadTheSameUsage(t *testing.T) {
	for _, usage := range []string{
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
	} {
		m := meter.New("application/json", "")
		_, _ = m.Write([]byte(`{"usage":` + usage + `}`))
		ledger := m.End().Usage
		u := ReadUsage([]byte(usage))
		for field, count := range map[meter.Field][]byte{
			meter.InputTokens: u.in, meter.OutputTokens: u.out, meter.TotalTokens: u.sum, meter.CachedTokens: u.Cached,
			meter.CacheCreationTokens: u.Created, meter.ReasoningTokens: u.Thinking,
		} {
			want := ""
			if n, ok := ledger.Get(field); ok {
				want = strconv.FormatInt(n, 10)
			}
			if string(count) != want {
				t.Errorf("%s: %q of %s, the ledger has %q", usage, count, field, want)
			}
		}
		if tokens, known := ledger.Tokens(); known != u.Known() || string(u.Total()) != strconv.FormatInt(tokens, 10) {
			t.Errorf("%s: %s in all, known %t; the ledger has %d, %t", usage, u.Total(), u.Known(), tokens, known)
		}
	}
}
