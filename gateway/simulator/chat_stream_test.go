package simulator

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// event is one parsed frame.
type event struct {
	id, name, status, data string
}

func (e event) object(t *testing.T) object {
	t.Helper()
	return got{body: e.data}.object(t)
}

// errFrame is a stream that is not in the service's form.
var errFrame = errors.New("malformed frame")

// readEvent reads one frame strictly: every line has its place and its prefix, and an empty line ends it.
func readEvent(r *bufio.Reader) (event, error) {
	var values []string
	for _, prefix := range []string{"id:", "event:", ":HTTP_STATUS/", "data:", ""} {
		line, err := r.ReadString('\n')
		if err == io.EOF && line == "" && prefix == "id:" {
			return event{}, io.EOF
		}
		if err != nil {
			return event{}, fmt.Errorf("%w: %q: %w", errFrame, line, err)
		}
		value, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), prefix)
		if !ok || prefix == "" && value != "" || strings.HasPrefix(value, " ") {
			return event{}, fmt.Errorf("%w: %q where %q belongs", errFrame, line, prefix)
		}
		values = append(values, value)
	}
	return event{values[0], values[1], values[2], values[3]}, nil
}

// events parses a whole stream.
func (g got) events(t *testing.T) []event {
	t.Helper()
	if g.err != nil {
		t.Fatal(g.err)
	}
	if ct := g.header.Get("Content-Type"); g.status != 200 || ct != "text/event-stream;charset=UTF-8" {
		t.Fatalf("answer is no stream: %d %s\n%s", g.status, ct, g.body)
	}
	var out []event
	r := bufio.NewReader(strings.NewReader(g.body))
	for {
		e, err := readEvent(r)
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
}

func TestStreamSwitch(t *testing.T) {
	r := newRig(t, Config{})
	for _, tt := range []struct {
		name, header, value string
		stream              bool
	}{
		{"header", "X-Service-SSE", "enable", true},
		{"other casing of the name", "x-service-sse", "enable", true},
		{"other casing of the value", "X-Service-Sse", "Enable", true},
		{"disable", "X-Service-SSE", "disable", false},
		{"another word", "X-Service-SSE", "true", false},
		{"accept", "Accept", "text/event-stream", true},
		{"accept among others", "Accept", "application/json, Text/Event-Stream;q=0.9", true},
		{"accept something else", "Accept", "application/json", false},
		{"another service's header", "X-Other-SSE", "enable", false},
	} {
		g := r.post(textPath, say("hi", ""), tt.header, tt.value)
		if got := strings.HasPrefix(g.header.Get("Content-Type"), "text/event-stream"); got != tt.stream {
			t.Errorf("%s: streams %v, want %v", tt.name, got, tt.stream)
		}
	}
	g := r.post(textPath, say("hi", `"stream":true`))
	if strings.HasPrefix(g.header.Get("Content-Type"), "text/event-stream") {
		t.Error("the parameter alone switched the stream on")
	}
	g = r.post(textPath, say("hi", ""), "X-Service-SSE", "disable", "Accept", "text/event-stream")
	if len(g.events(t)) == 0 {
		t.Error("a disabled header, which counts as absent, outweighed Accept")
	}
}

func TestHeaderPrefix(t *testing.T) {
	r := newRig(t, Config{HeaderPrefix: "X-Other-"})
	if g := r.post(textPath, say("hi", ""), "X-Other-SSE", "enable"); len(g.events(t)) == 0 {
		t.Error("the other prefix has no stream")
	}
	if g := r.post(textPath, say("hi", ""), "X-Service-SSE", "enable"); g.header.Get("Content-Type") != "application/json" {
		t.Error("the usual prefix still streams")
	}
}

// told returns the text of a stream's first choice, appending the frames or taking the last one.
func told(t *testing.T, events []event, incremental bool, path ...any) string {
	t.Helper()
	var text string
	for _, e := range events {
		s, _ := at(e.object(t), path...).(string)
		switch {
		case incremental:
			text += s
		case !strings.HasPrefix(s, text):
			t.Errorf("a cumulative frame took text back: %q, then %q", text, s)
		default:
			text = s
		}
	}
	return text
}

func TestStreamsTellTheWholeAnswer(t *testing.T) {
	r := newRig(t, Config{})
	content := []any{"output", "choices", 0, "message", "content"}
	for _, tt := range []struct {
		name, path, parameters string
		text                   []any
	}{
		{"text", textPath, `"result_format":"text"`, []any{"output", "text"}},
		{"message", textPath, `"result_format":"message"`, content},
		{"thinking", textPath, `"result_format":"message","enable_thinking":true`, content},
		{"thoughts", textPath, `"result_format":"message","enable_thinking":true`, []any{"output", "choices", 0, "message", "reasoning_content"}},
		{"second choice", textPath, `"result_format":"message","n":2`, []any{"output", "choices", 1, "message", "content"}},
		{"multimodal", multimodalPath, ``, append(content, 0, "text")},
		{"tool arguments", textPath, levels, []any{"output", "choices", 0, "message", "tool_calls", 0, "function", "arguments"}},
	} {
		for _, incremental := range []bool{true, false} {
			t.Run(fmt.Sprint(tt.name, " incremental ", incremental), func(t *testing.T) {
				more := ""
				if tt.parameters != "" {
					more = ","
				}
				whole := r.post(tt.path, say("水闸 gate", tt.parameters)).object(t)
				events := r.post(tt.path, say("水闸 gate", fmt.Sprintf(`%s%s"incremental_output":%v`, tt.parameters, more, incremental)), sse...).events(t)
				if got := told(t, events, incremental, tt.text...); got == "" || got != at(whole, tt.text...) {
					t.Errorf("streamed\n%q, whole\n%q", got, at(whole, tt.text...))
				}
			})
		}
	}
}

func TestStreamUsageIsCumulative(t *testing.T) {
	r := newRig(t, Config{FrameTokens: 3})
	for _, parameters := range []string{``, `"incremental_output":true`, `"enable_thinking":true`, `"n":3`, levels} {
		events := r.post(textPath, say("hi there", parameters), sse...).events(t)
		whole := r.post(textPath, say("hi there", parameters)).object(t)
		last := -1.
		for i, e := range events {
			u := at(e.object(t), "usage")
			in, out, total := at(u, "input_tokens").(float64), at(u, "output_tokens").(float64), at(u, "total_tokens").(float64)
			if out <= last || in+out != total || in != at(whole, "usage", "input_tokens") {
				t.Errorf("%s: frame %d has usage %v after %v output tokens", parameters, i, u, last)
			}
			last = out
		}
		if last != at(whole, "usage", "output_tokens") {
			t.Errorf("%s: the last frame tells %v output tokens, the whole answer %v", parameters, last, at(whole, "usage", "output_tokens"))
		}
	}
}

func TestStreamFinishReason(t *testing.T) {
	for _, tt := range []struct {
		name, parameters, last string
		path                   []any
	}{
		{"text", ``, "stop", []any{"output", "finish_reason"}},
		{"message", `"result_format":"message"`, "stop", []any{"output", "choices", 0, "finish_reason"}},
		{"cut", `"max_tokens":30`, "length", []any{"output", "finish_reason"}},
		{"tool call", levels, "tool_calls", []any{"output", "choices", 0, "finish_reason"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, Config{})
			events := r.post(textPath, say("hi", tt.parameters), sse...).events(t)
			if len(events) < 2 {
				t.Fatalf("only %d frames", len(events))
			}
			for i, e := range events {
				want := "null"
				if i == len(events)-1 {
					want = tt.last
				}
				if got := at(e.object(t), tt.path...); got != want {
					t.Errorf("frame %d of %d has finish_reason %v, want %v", i, len(events), got, want)
				}
			}
		})
	}
}

func TestImageHWIsInTheLastChunk(t *testing.T) {
	r := newRig(t, Config{})
	body := `{"model":"llm-vision","input":{"messages":[{"role":"user","content":[{"image":"https://a.example/b.png"}]}]},
		"parameters":{"vl_enable_image_hw_output":true,"incremental_output":true}}`
	events := r.post(multimodalPath, body, sse...).events(t)
	for i, e := range events {
		there := at(e.object(t), "output", "choices", 0, "message", "content", 0, "image_hw") != nil
		if there != (i == len(events)-1) {
			t.Errorf("frame %d of %d: image_hw is there: %v", i, len(events), there)
		}
	}
}

// A slow stream: the reader sees each frame before the next one is made.
func TestStreamDrips(t *testing.T) {
	r := newRig(t, Config{})
	r.SetFault(Fault{Stall: "body", After: 1})
	resp, err := r.client.Do(r.request("POST", textPath, say("hi", ""), sse...))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body := bufio.NewReader(resp.Body)
	if e, err := readEvent(body); err != nil || e.id != "1" {
		t.Fatalf("first frame %+v, %v", e, err)
	}
	if err := r.AwaitStalled(within(t), 1); err != nil {
		t.Fatal(err)
	}
	r.Release()
	if e, err := readEvent(body); err != nil || e.id != "2" {
		t.Fatalf("second frame %+v, %v", e, err)
	}
}

func TestFrameDelay(t *testing.T) {
	r := newRig(t, Config{FrameTokens: 1000, FrameDelay: 30 * time.Millisecond})
	begun := time.Now()
	r.post(textPath, say("hi", ""), sse...).events(t)
	if took := time.Since(begun); took < 30*time.Millisecond {
		t.Errorf("one frame took %v, want at least 30 ms", took)
	}
}
