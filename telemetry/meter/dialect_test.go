package meter_test

import (
	"strings"
	"testing"

	"sluice/telemetry/meter"
)

const eventStream = "text/event-stream"

// dialects are answers of other interfaces, and what is read of them.
var dialects = []struct {
	name     string
	speaks   meter.Dialect
	media    string
	body     string
	input    int64
	output   int64
	cached   int64
	text     int
	complete bool
	failed   string
}{
	{
		"chat", meter.Chat, "application/json",
		`{"id":"c1","choices":[{"index":0,"message":{"role":"assistant","content":"river"},"finish_reason":"stop"}],` +
			`"usage":{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18,"prompt_tokens_details":{"cached_tokens":4}}}`,
		11, 7, 4, 5, true, "",
	},
	{
		"a chat's stream", meter.Chat, eventStream,
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"riv\"},\"finish_reason\":null}]}\n\n" +
			"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"er\"},\"finish_reason\":\"stop\"}]}\n\n" +
			"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":11,\"completion_tokens\":7}}\n\ndata: [DONE]\n\n",
		11, 7, 0, 5, true, "",
	},
	{
		"a cut stream of a chat", meter.Chat, eventStream,
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"riv\"},\"finish_reason\":null}]}\n\n", 0, 0, 0, 3, false, "",
	},
	{
		"Responses", meter.Responses, "application/json",
		`{"id":"r1","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"river"}]}],"error":null,` +
			`"usage":{"input_tokens":11,"output_tokens":7,"input_tokens_details":{"cached_tokens":4}}}`,
		11, 7, 4, 5, true, "",
	},
	{
		"a stream of Responses", meter.Responses, eventStream,
		"event: response.created\ndata: " +
			"{\"type\":\"response.created\",\"response\":{\"id\":\"r1\",\"status\":\"in_progress\",\"usage\":null}}\n\n" +
			"event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"river\"}\n\n" +
			"event: response.output_text.done\ndata: {\"type\":\"response.output_text.done\",\"text\":\"river\"}\n\n" +
			"event: response.completed\ndata: " +
			"{\"type\":\"response.completed\",\"response\":{\"id\":\"r1\",\"status\":\"completed\",\"output\":[{\"content\":[{\"text\":\"river\"}]}],\"usage\":{\"input_tokens\":11,\"output_tokens\":7,\"input_tokens_details\":{\"cached_tokens\":4}}}}\n\n",
		11, 7, 4, 5, true, "",
	},
	{
		"a failed stream of Responses", meter.Responses, eventStream,
		"data: {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"error\":{\"code\":\"server_error\",\"message\":\"no\"}}}\n\n",
		0, 0, 0, 0, true, "server_error",
	},
	{
		"Messages, whose input is without what the cache had", meter.Messages, "application/json",
		`{"id":"m1","type":"message","content":[{"type":"text","text":"river"}],"stop_reason":"end_turn","usage":{"input_tokens":5,` +
			`"cache_read_input_tokens":4,"cache_creation_input_tokens":2,"output_tokens":7}}`,
		11, 7, 4, 5, true, "",
	},
	{
		"a stream of Messages", meter.Messages, eventStream,
		"event: message_start\ndata: " +
			"{\"type\":\"message_start\",\"message\":{\"id\":\"m1\",\"usage\":{\"input_tokens\":5,\"cache_read_input_tokens\":4,\"cache_creation_input_tokens\":2,\"output_tokens\":1}}}\n\n" +
			"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"river\"}}\n\n" +
			"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":7}}\n\n" +
			"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
		11, 7, 4, 5, true, "",
	},
	{
		"an error of Messages", meter.Messages, eventStream,
		"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"no\"}}\n\n", 0, 0, 0, 0, true,
		"overloaded_error",
	},
}

func TestUsageOfOtherDialectsIsRead(t *testing.T) {
	for _, tt := range dialects {
		for _, piece := range []int{1, 7, len(tt.body)} {
			m := meter.New(tt.media, "")
			m.Speaks(tt.speaks)
			for rest := tt.body; rest != ""; {
				n := min(piece, len(rest))
				_, _ = m.Write([]byte(rest[:n]))
				rest = rest[n:]
			}
			r := m.End()
			input, _ := r.Usage.Get(meter.InputTokens)
			output, _ := r.Usage.Get(meter.OutputTokens)
			cached, _ := r.Usage.Get(meter.CachedTokens)
			if input != tt.input || output != tt.output || cached != tt.cached {
				t.Errorf("%s in pieces of %d: %d, %d and %d cached, want %d, %d, %d", tt.name, piece, input, output, cached, tt.input, tt.output,
					tt.cached)
			}
			if r.TextBytes != tt.text || r.Complete != tt.complete || r.ErrorCode != tt.failed || r.Failed != (tt.failed != "") {
				t.Errorf("%s in pieces of %d: text of %d bytes, complete %t, error %q; want %d, %t, %q", tt.name, piece, r.TextBytes, r.Complete,
					r.ErrorCode, tt.text, tt.complete, tt.failed)
			}
		}
	}
}

// TestOneDialectIsNotTakenForAnother: the service's own answers are read as ever, whatever members of others they have.
func TestOneDialectIsNotTakenForAnother(t *testing.T) {
	m := meter.New("application/json", "")
	_, _ = m.Write([]byte(strings.Replace(dialects[0].body, "{", `{"output":{"text":"water"},`, 1)))
	r := m.End()
	if n, ok := r.Usage.Get(meter.InputTokens); ok || r.TextBytes != len("water") {
		t.Errorf("%d tokens of input, text of %d bytes", n, r.TextBytes)
	}
}
