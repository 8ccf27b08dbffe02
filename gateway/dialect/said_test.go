package dialect

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"sluice/gateway/conversation"
	"sluice/gateway/dialect/chat"
	"sluice/gateway/dialect/dialecttest"
	"sluice/gateway/dialect/messages"
	"sluice/gateway/dialect/responses"
)

// heard is what a client adds up of a stream.
type heard struct {
	dialecttest.Said
	in, out int64
}

// event has the members of all dialects' events that add something.
type event struct {
	Type    string
	Choices []struct {
		Delta struct {
			Content   string
			Thinking  string `json:"reasoning_content"`
			ToolCalls []struct {
				ID       string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
	}
	Item struct {
		Type, Name string
		CallID     string `json:"call_id"`
	}
	Block struct{ Type, ID, Name string } `json:"content_block"`
	Delta json.RawMessage

	Usage    usage
	Response struct{ Usage usage }
}

// usage has the names of all dialects.
type usage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
}

// hear adds up a stream of any dialect.
func hear(t interface{ Fatalf(string, ...any) }, stream []byte) (h heard) {
	for text := range bytes.SplitSeq(bytes.TrimSpace(stream), []byte("\n\n")) {
		_, data, ok := bytes.Cut(text, []byte("data: "))
		if string(data) == "[DONE]" {
			continue
		}
		var e event
		if err := json.Unmarshal(data, &e); err != nil || !ok {
			t.Fatalf("%v: %s", err, text)
		}
		h.add(&e)
		h.in += e.Usage.Prompt + e.Response.Usage.Input
		h.out += e.Usage.Completion + e.Response.Usage.Output
		if e.Type == "message_delta" {
			h.in, h.out = e.Usage.Input, e.Usage.Output
		}
	}
	return h
}

func (h *heard) add(e *event) {
	for _, choice := range e.Choices {
		h.Text, h.Thinking = h.Text+choice.Delta.Content, h.Thinking+choice.Delta.Thinking
		for _, call := range choice.Delta.ToolCalls {
			h.call(call.ID, call.Function.Name)
			h.argue(call.Function.Arguments)
		}
	}
	var delta string
	var block struct {
		Text, Thinking string
		Partial        string `json:"partial_json"`
	}
	_, _ = json.Unmarshal(e.Delta, &delta), json.Unmarshal(e.Delta, &block) // one of them has another form
	switch e.Type {
	case "response.output_text.delta":
		h.Text += delta
	case "response.reasoning_summary_text.delta":
		h.Thinking += delta
	case "response.function_call_arguments.delta":
		h.argue(delta)
	case "response.output_item.added":
		h.call(e.Item.CallID, e.Item.Name)
	case "content_block_start":
		h.call(e.Block.ID, e.Block.Name)
	case "content_block_delta":
		h.Text, h.Thinking = h.Text+block.Text, h.Thinking+block.Thinking
		h.argue(block.Partial)
	}
}

func (h *heard) call(id, name string) {
	if name != "" {
		h.Calls = append(h.Calls, dialecttest.SaidCall{ID: id, Name: name})
	}
}

func (h *heard) argue(piece string) {
	if piece != "" {
		h.Calls[len(h.Calls)-1].Arguments += piece
	}
}

// reads has a request of each dialect, for a stream with its usage.
var reads = map[string]struct {
	read func([]byte, *conversation.Models) (*conversation.Request, error)
	body string
}{
	"chat":      {chat.Read, `{"model":"gpt-4o","messages":[],"stream":true,"stream_options":{"include_usage":true}}`},
	"responses": {responses.Read, `{"model":"gpt-4o","input":"","stream":true}`},
	"messages":  {messages.Read, `{"model":"gpt-4o","max_tokens":9,"messages":[],"stream":true}`},
}

// What a client of each dialect adds up of a stream is what the service said: the same text, calls and usage, however it was cut.
func TestDialectsSayTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		said := dialecttest.DrawAnswer(t, []string{"level", "find"})
		frames := dialecttest.Frames(said.Frames(t)...)
		piece := rapid.IntRange(1, 200).Draw(t, "piece")
		said.Finish = ""
		want := heard{said, 9, 5}
		for name, dialect := range reads {
			r, err := dialect.read([]byte(dialect.body), dialecttest.Models)
			if err != nil {
				t.Fatal(err)
			}
			r.Dialect.Begin(dialecttest.Head)
			stream, err := dialecttest.Translated(r.Dialect, frames, piece)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, hear(t, stream), cmp.AllowUnexported(heard{}), cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("%s (-said +heard):\n%s\n%s", name, diff, stream)
			}
		}
	})
}

// A client reads the usage of all frames, of which the last need not have all: of each number the largest counts, as in the ledger.
func TestDialectsAddUpTheUsageOfAllFrames(t *testing.T) {
	for _, c := range []struct {
		usages      []string // of the frames
		in, out     int64    // with what was read from a cache
		cached, sum string
	}{
		{[]string{`{"input_tokens":14,"output_tokens":1,"total_tokens":15,"prompt_tokens_details":{"cached_tokens":9}}`,
			`{"input_tokens":14,"output_tokens":2,"total_tokens":16}`}, 14, 2, "9", "16"},
		{[]string{`{"input_tokens":14,"output_tokens":1,"total_tokens":15}`, `{"output_tokens":2}`}, 14, 2, "0", "16"},
		{[]string{`{"input_tokens":14,"output_tokens":1,"total_tokens":15}`, `{}`}, 14, 1, "0", "15"},
	} {
		var frames []string
		for i, usage := range c.usages {
			finish := map[bool]string{true: "stop", false: "null"}[i == len(c.usages)-1]
			frames = append(frames, strings.TrimSuffix(dialecttest.Frame("a", finish), "}")+`,"usage":`+usage+"}")
		}
		for name, dialect := range reads {
			r, err := dialect.read([]byte(dialect.body), dialecttest.Models)
			if err != nil {
				t.Fatal(err)
			}
			r.Dialect.Begin(dialecttest.Head)
			stream, err := dialecttest.Translated(r.Dialect, dialecttest.Frames(frames...), 1<<30)
			if err != nil {
				t.Fatal(err)
			}
			in, cached := c.in, `"cached_tokens":`+c.cached
			if name == "messages" { // which counts it apart
				cached = `"cache_read_input_tokens":` + c.cached
				n, _ := strconv.ParseInt(c.cached, 10, 64)
				in -= n
			}
			has := func(member string) bool { return strings.Contains(string(stream), member) }
			if h := hear(t, stream); h.in != in || h.out != c.out || c.cached != "0" && !has(cached) ||
				name != "messages" && !has(`"total_tokens":`+c.sum) {
				t.Errorf("%s of %s: %s", name, c.usages, stream)
			}
		}
	}
}
