package messages

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sluice/gateway/conversation"
	"sluice/gateway/dialect/dialecttest"
)

// content is a block of an answer as the tests read it.
type content struct {
	Type, ID, Name, Text, Thinking string
	Input                          json.RawMessage
	partial                        string
}

func (c content) said() string {
	input := string(c.Input)
	if c.partial != "" {
		input = c.partial
	}
	return fmt.Sprintf("%s %s %s %q %q %s", c.Type, c.ID, c.Name, c.Text, c.Thinking, input)
}

// decoded is what a client has of a stream once it has added up its events, as the official libraries do.
type decoded struct {
	blocks []content
	stop   string
	usage  string
	names  []string
	open   bool
}

type event struct {
	Type  string
	Index int
	Block *content `json:"content_block"`
	Delta struct {
		Type, Text, Thinking string
		Partial              string `json:"partial_json"`
		Stop                 string `json:"stop_reason"`
	}
	Usage json.RawMessage
	Error *struct{ Type string }
}

// decode adds up a stream as a client does, and fails the test where an event is not as Anthropic's.
func decode(t dialecttest.Failing, stream []byte) (d decoded) {
	t.Helper()
	for text := range strings.SplitSeq(strings.TrimSuffix(string(stream), "\n\n"), "\n\n") {
		name, data, ok := strings.Cut(text, "\ndata: ")
		if text == "" && len(stream) == 0 {
			continue
		}
		var e event
		if err := json.Unmarshal([]byte(data), &e); err != nil || !ok || name != "event: "+e.Type ||
			(len(d.names) == 0) != (e.Type == "message_start") {
			t.Fatalf("event %d is %q: %v", len(d.names), text, err)
		}
		d.names = append(d.names, e.Type)
		d.add(t, &e)
	}
	return d
}

func (d *decoded) add(t dialecttest.Failing, e *event) {
	t.Helper()
	last := len(d.blocks) - 1
	switch e.Type {
	case "content_block_start":
		if d.open || e.Index != last+1 {
			t.Fatalf("block %d begins behind %d, open %t", e.Index, last, d.open)
		}
		d.blocks, d.open = append(d.blocks, *e.Block), true
	case "content_block_delta", "content_block_stop":
		if !d.open || e.Index != last {
			t.Fatalf("%+v is about a block that is not open", e)
		}
		b := &d.blocks[last]
		b.Text, b.Thinking, b.partial = b.Text+e.Delta.Text, b.Thinking+e.Delta.Thinking, b.partial+e.Delta.Partial
		d.open = e.Type != "content_block_stop"
	case "message_delta":
		d.stop, d.usage = e.Delta.Stop, string(e.Usage)
	}
}

// TestStreamsSayWhatAnswersSay: what a client adds up of a stream is the answer that is no stream, whatever is said and however it is
// cut into frames.
func TestStreamsSayWhatAnswersSay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		said := dialecttest.DrawAnswer(t, []string{"level", "find"})
		whole, err := conversation.Whole(nil, begun(), []byte(said.Whole()))
		if err != nil {
			t.Fatal(err)
		}
		var want struct {
			Content []content
			Stop    string `json:"stop_reason"`
			Usage   json.RawMessage
		}
		if err := json.Unmarshal(whole, &want); err != nil {
			t.Fatal(err)
		}
		stream, err := dialecttest.Translated(begun(), dialecttest.Frames(said.Frames(t)...), rapid.IntRange(1, 200).Draw(t, "piece"))
		if err != nil {
			t.Fatal(err)
		}
		d := decode(t, stream)
		texts := func(list []content) (all []string) {
			for _, c := range list {
				all = append(all, c.said())
			}
			return all
		}
		if !slices.Equal(texts(d.blocks), texts(want.Content)) || d.stop != want.Stop || d.usage != string(want.Usage) ||
			d.names[len(d.names)-1] != "message_stop" {
			t.Fatalf("%+v was added up, the answer is %s", d, whole)
		}
	})
}

// frameOf is the document of a frame with a text and calls of tools.
func frameOf(content, finish string, calls ...string) string {
	return fmt.Sprintf(`{"output":{"choices":[{"message":{"content":%q,"tool_calls":[%s]},"finish_reason":%q}]}}`, content,
		strings.Join(calls, ","), finish)
}

func callOf(index int, id, name, arguments string) string {
	return fmt.Sprintf(`{"index":%d,"id":%q,"type":"function","function":{"name":%q,"arguments":%q}}`, index, id, name, arguments)
}

// The service may go on with a call after the next has begun, and say more then; blocks follow each other all the same.
func TestBlocksFollowEachOther(t *testing.T) {
	out, err := dialecttest.Translated(begun(), dialecttest.Frames(
		frameOf("I look.", "null"), frameOf("", "null", callOf(0, "a", "f", `{"x":`)), frameOf("", "null", callOf(1, "b", "", `{"y"`)),
		frameOf("And", "null", callOf(0, "", "", `1}`)),
		frameOf(" then.", "null"), frameOf("", "tool_calls", callOf(1, "", "g", `:2}`))), 1<<30)
	d := decode(t, out)
	var got []string
	for _, block := range d.blocks {
		got = append(got, block.said())
	}
	want := []string{`text   "I look." "" `, `tool_use a f "" "" {"x":1}`, `tool_use b g "" "" {"y":2}`, `text   "And then." "" `}
	if err != nil || !slices.Equal(got, want) || d.stop != "tool_use" {
		t.Errorf("%v: %q, want %q", err, got, want)
	}
}

// What follows a call is sent as it arrives, once the arguments of the call are a whole object. Otherwise they may still go on.
func TestWhatFollowsAWholeCallIsSentAsItArrives(t *testing.T) {
	s := dialecttest.NewStream(begun())
	for i, step := range []struct {
		frame    string
		has, not string // in the events that the frame becomes
	}{
		{frameOf("", "null", callOf(0, "a", "f", `{"x":"}`)), `\"x\":\"}`, "content_block_stop"},
		{frameOf("", "null", callOf(1, "b", "g", `{"y":`)), "", "y"}, // the brace was part of a text
		{frameOf("", "null", callOf(0, "", "", `\""} `)), `\"y\"`, ""},
		{frameOf("", "null", callOf(1, "", "", `[2`)), `[2`, "content_block_stop"},
		{frameOf("", "null", callOf(2, "c", "h", `{}`)), "", "h"},
		{frameOf("", "null", callOf(1, "", "", `]}`)), `"name":"h"`, ""},
		{frameOf("", "null", callOf(1, "", "", "\n")), "", "partial_json"}, // behind the end of the object
		{frameOf("And", "null"), "And", ""},
		{frameOf(" so", "null", callOf(3, "d", "i", `{`)), `"name":"i"`, ""},
		{frameOf("", "tool_calls", callOf(3, "", "", `}`)), `"}"`, "content_block_stop"},
	} {
		out, err := s.Append(nil, dialecttest.Frames(step.frame))
		if err != nil || !strings.Contains(string(out), step.has) || step.not != "" && strings.Contains(string(out), step.not) {
			t.Errorf("frame %d: %v %s, want %q and no %q", i, err, out, step.has, step.not)
		}
	}
}

// A client refers to a call by its id: the call begins once it is known, and gets one if the service gives none.
func TestCallsHaveIDs(t *testing.T) {
	late := []string{frameOf("", "null", callOf(0, "", "f", `{"x":`)), frameOf("", "null", callOf(0, "a", "", `1`)),
		frameOf("", "tool_calls", callOf(0, "", "", `}`))}
	never := []string{frameOf("So.", "null"),
		frameOf("", "null", callOf(0, "", "f", `{}`)), frameOf("", "tool_calls", callOf(1, "", "g", `{}`))}
	for _, c := range []struct {
		frames []string
		want   []string
	}{
		{late, []string{`tool_use a f "" "" {"x":1}`}},
		{never, []string{`text   "So." "" `, `tool_use toolu_7a2f3c51_1 f "" "" {}`, `tool_use toolu_7a2f3c51_2 g "" "" {}`}},
	} {
		out, err := dialecttest.Translated(begun(), dialecttest.Frames(c.frames...), 1<<30)
		d := decode(t, out)
		var got []string
		for _, block := range d.blocks {
			got = append(got, block.said())
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%v: %q, want %q", err, got, c.want)
		}
	}
	whole, err := conversation.Whole(nil, begun(), []byte(frameOf("So.", "tool_calls", callOf(0, "", "f", `{}`))))
	if err != nil || !strings.Contains(string(whole), `"id":"toolu_7a2f3c51_1","name":"f"`) {
		t.Errorf("%v %s", err, whole)
	}
}

// What a tool is called with is an object, also where the model wrote none.
func TestInputsAreObjects(t *testing.T) {
	for arguments, want := range map[string]string{`{\"a\":[1]}`: `{"a":[1]}`, ``: `{}`, `[1]`: `{"arguments":"[1]"}`,
		`{\"a\"`: `{"arguments":"{\"a\""}`} {
		if got := string(input(&conversation.Call{Arguments: []byte(arguments)})); got != want {
			t.Errorf("%s became %s, want %s", arguments, got, want)
		}
	}
}

// Tokens of caches are counted apart from the rest of the input.
func TestUsage(t *testing.T) {
	for native, want := range map[string]string{
		`{"input_tokens":100,"output_tokens":5,"prompt_tokens_details":{"cached_tokens":64,` +
			`"cache_creation_input_tokens":16}}`: `{"input_tokens":20,"cache_creation_input_tokens":16,"cache_read_input_tokens":64,` +
			`"output_tokens":5}`,
		`{"input_tokens":3,"cached_tokens":9}`: `{"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":9,` +
			`"output_tokens":0}`,
		``: `{"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}`,
	} {
		usage := conversation.ReadUsage([]byte(native))
		if got := string(appendUsage(nil, &usage)); got != want {
			t.Errorf("%s became %s, want %s", native, got, want)
		}
	}
}

// FuzzStream: any bytes become events that a client can read, and where they are cut makes no difference.
func FuzzStream(f *testing.F) {
	dialecttest.Seeds(f, func(in []byte) { f.Add(in, uint16(5)) }, "streams")
	f.Fuzz(func(t *testing.T, native []byte, piece uint16) {
		whole, wholeErr := dialecttest.Translated(begun(), native, 1<<30)
		cut, cutErr := dialecttest.Translated(begun(), native, int(piece)+1)
		if !bytes.Equal(whole, cut) || fmt.Sprint(wholeErr) != fmt.Sprint(cutErr) {
			t.Fatalf("whole:\n%s\n%v\ncut:\n%s\n%v", whole, wholeErr, cut, cutErr)
		}
		if wholeErr != nil && len(whole) > 0 {
			t.Fatalf("%q beside %v", whole, wholeErr)
		}
		decode(t, whole)
	})
}

// FuzzRequest: any body becomes a request of the service, or is refused; both are JSON.
func FuzzRequest(f *testing.F) {
	dialecttest.Seeds(f, func(in []byte) { f.Add(in) }, "requests")
	f.Fuzz(func(t *testing.T, body []byte) {
		before := bytes.Clone(body)
		r, err := Read(body, dialecttest.Models)
		if dialecttest.Sane(t, r, err); !bytes.Equal(before, body) {
			t.Fatal("the body has changed")
		}
	})
}

// FuzzAnswer: any answer becomes JSON, or is refused.
func FuzzAnswer(f *testing.F) {
	dialecttest.Seeds(f, func(in []byte) { f.Add(in) }, "answers")
	f.Fuzz(func(t *testing.T, native []byte) {
		if out, err := conversation.Whole(nil, begun(), native); err == nil {
			dialecttest.MustBeJSON(t, out)
		} else if len(out) > 0 {
			t.Fatalf("%q beside %v", out, err)
		}
	})
}
