package responses

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sluice/gateway/conversation"
	"sluice/gateway/dialect/dialecttest"
)

// callsOf is an answer with calls, of which each has a name and its arguments.
func callsOf(words ...string) string {
	var calls []string
	for i := 0; i < len(words); i += 2 {
		calls = append(calls, fmt.Sprintf(`{"index":%d,"id":"call_%d","type":"function","function":{"name":"%s","arguments":"%s"}}`, i/2, i/2,
			words[i], words[i+1]))
	}
	return `{"output":{"choices":[{"message":{"content":"","tool_calls":[` + strings.Join(calls, ",") + `]},"finish_reason":"tool_calls"}]}}`
}

// decoded is what a client has of a stream once it has added up its events, as the official libraries do.
type decoded struct {
	items []outputItem
	last  event
	names []string
}

// outputItem is what the tests read of an item.
type outputItem struct {
	ID, Type, Role, Name, Namespace, Arguments, Input string
	CallID                                            string `json:"call_id"`
	Status                                            string
	Summary, Content                                  []struct{ Type, Text string }
}

// said is an item without its status.
func (i outputItem) said() string {
	i.Status = ""
	return fmt.Sprintf("%+v", i)
}

type event struct {
	Type     string
	Sequence int    `json:"sequence_number"`
	Index    int    `json:"output_index"`
	ItemID   string `json:"item_id"`
	Delta    string
	Text     *string
	Part     *struct{ Type, Text string }
	Item     *outputItem
	Response *struct {
		Status string
		Output []outputItem
		Usage  json.RawMessage
		Error  *struct{ Code, Message string }
	}
}

// decode adds up a stream as a client does, and fails the test where an event is not as OpenAI's.
func decode(t dialecttest.Failing, stream []byte) (d decoded) {
	t.Helper()
	for text := range strings.SplitSeq(strings.TrimSuffix(string(stream), "\n\n"), "\n\n") {
		name, data, ok := strings.Cut(text, "\ndata: ")
		if text == "" && len(stream) == 0 {
			continue
		}
		var e event
		if err := json.Unmarshal([]byte(data), &e); err != nil || !ok || name != "event: "+e.Type || e.Sequence != len(d.names) {
			t.Fatalf("event %d is %q: %v", len(d.names), text, err)
		}
		d.names = append(d.names, e.Type)
		d.add(t, &e)
		d.last = e
	}
	return d
}

func (d *decoded) add(t dialecttest.Failing, e *event) {
	t.Helper()
	if e.Type == "response.output_item.added" {
		if e.Index != len(d.items) || e.Item.Arguments+e.Item.Input != "" || len(e.Item.Content)+len(e.Item.Summary) > 0 {
			t.Fatalf("%+v comes as item %d", e, len(d.items))
		}
		d.items = append(d.items, *e.Item)
		return
	}
	if e.Response != nil {
		return
	}
	it := &d.items[e.Index]
	if e.Item == nil && e.ItemID != it.ID {
		t.Fatalf("%+v is about the item %s", e, it.ID)
	}
	switch e.Type {
	case "response.content_part.added":
		it.Content = append(it.Content, *e.Part)
	case "response.reasoning_summary_part.added":
		it.Summary = append(it.Summary, *e.Part)
	case "response.output_text.delta":
		it.Content[0].Text += e.Delta
	case "response.reasoning_summary_text.delta":
		it.Summary[0].Text += e.Delta
	case "response.function_call_arguments.delta":
		it.Arguments += e.Delta
	case "response.custom_tool_call_input.delta":
		it.Input += e.Delta
	case "response.output_item.done":
		if it.said() != e.Item.said() {
			t.Fatalf("%+v was added up, %+v is done", it, e.Item)
		}
	}
}

// TestStreamsSayWhatAnswersSay: what a client adds up of a stream is the answer that is no stream, whatever is said and however it is
// cut into frames.
func TestStreamsSayWhatAnswersSay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		said := dialecttest.DrawAnswer(t, []string{"level", "patch", "find"})
		whole, err := conversation.Whole(nil, begun(), []byte(said.Whole()))
		if err != nil {
			t.Fatal(err)
		}
		var want struct {
			Status string
			Output []outputItem
			Usage  json.RawMessage
		}
		if err := json.Unmarshal(whole, &want); err != nil {
			t.Fatal(err)
		}
		stream, err := dialecttest.Translated(begun(), dialecttest.Frames(said.Frames(t)...), rapid.IntRange(1, 200).Draw(t, "piece"))
		if err != nil {
			t.Fatal(err)
		}
		d := decode(t, stream)
		if end := d.last.Response; end == nil || d.last.Type != "response."+want.Status || fmt.Sprint(end.Output) != fmt.Sprint(want.Output) ||
			!bytes.Equal(end.Usage, want.Usage) {
			t.Fatalf("the stream ends with %+v, the answer is %s", d.last, whole)
		}
		for i, it := range d.items {
			if it.said() != want.Output[i].said() {
				t.Fatalf("%+v was added up, the answer has %+v", it, want.Output[i])
			}
		}
		if len(d.items) != len(want.Output) {
			t.Fatalf("%d items were added up, the answer has %d", len(d.items), len(want.Output))
		}
	})
}

// A call comes back as the client knows its tool.
func TestCallsComeBackAsTheyWereGiven(t *testing.T) {
	for story, c := range map[string]struct{ native, want string }{
		"a function": {callsOf("level", `{\"a\":1}`),
			`"type":"function_call","status":"completed","call_id":"call_0","name":"level","arguments":"{\"a\":1}"`},
		"a function of a namespace": {callsOf("find", `{}`), `"call_id":"call_0","name":"find","namespace":"mcp","arguments":"{}"`},
		"a custom tool": {callsOf("patch", `{\"input\":\"*** \\\"a\\\"\\n\"}`),
			`"type":"custom_tool_call","status":"completed","call_id":"call_0","name":"patch","input":"*** \"a\"\n"`},
		"a custom tool with other arguments": {callsOf("patch", `{\"text\":1}`), `"name":"patch","input":"{\"text\":1}"`},
		"a custom tool with no JSON":         {callsOf("patch", `{\"input\":`), `"name":"patch","input":"{\"input\":"`},
	} {
		whole, err := conversation.Whole(nil, begun(), []byte(c.native))
		if err != nil || !strings.Contains(string(whole), c.want) {
			t.Errorf("%s: %v %s, want %s", story, err, whole, c.want)
		}
		stream, err := dialecttest.Translated(begun(), dialecttest.Frames(c.native), 50)
		if err != nil || !strings.Contains(string(stream), c.want) {
			t.Errorf("%s: %v %s, want %s", story, err, stream, c.want)
		}
		decode(t, stream)
		broken := append(dialecttest.Frames(strings.Replace(c.native, `"finish_reason":"tool_calls"`, `"finish_reason":"null"`, 1)),
			"event:error\n:HTTP_STATUS/500\ndata:{\"code\":\"InternalError\",\"message\":\"m\"}\n\n"...)
		failed, err := dialecttest.Translated(begun(), broken, 50)
		if want := strings.Replace(c.want, `"status":"completed"`, `"status":"incomplete"`, 1); err != nil ||
			decode(t, failed).last.Type != "response.failed" || !strings.Contains(string(failed), want) {
			t.Errorf("%s, then an error: %v %s, want %s", story, err, failed, want)
		}
	}
}

// The input of a custom tool is sent as it arrives, without what JSON has around it, and however it is cut.
func TestInputsOfCustomToolsAreSentAsTheyArrive(t *testing.T) {
	s := dialecttest.NewStream(begun())
	var stream []byte
	said, before := "", 0
	for i, step := range []struct{ piece, want string }{
		{`{ "in`, ""}, {`put" : "*** a`, "*** a"}, {`\`, ""}, {`n\"`, "\n\""}, {`\u00`, ""}, {`e9\ud83d`, "é"}, {`\ud`, ""}, {`e00b`, "😀b"},
		{`\ud83d!`, "\uFFFD!"}, {"\t\\q", "\t\\q"}, {`\ud83d\n`, "\uFFFD\n"}, {`\ud83d\u0061\u00g`, "\uFFFDa\\u00g"},
		{`c", "d":1}`, "c"}, {"}", ""},
	} {
		arguments, _ := json.Marshal(step.piece)
		frame := strings.Replace(callsOf("patch", "PIECE"), `"PIECE"`, string(arguments), 1)
		var err error
		if stream, err = s.Append(stream, dialecttest.Frames(frame)); err != nil {
			t.Fatal(err)
		}
		if it := decode(t, stream).items[0]; it.Input != said+step.want {
			t.Errorf("step %d: %q, want %q", i, it.Input[len(said):], step.want)
		}
		said += step.want
		before = len(stream)
	}
	stream, err := s.End(stream)
	if d := decode(t, stream); err != nil || len(d.items) != 1 || d.last.Response.Output[0].Input != said ||
		strings.Contains(string(stream[before:]), "input.delta") {
		t.Errorf("%v %s, want %q", err, stream, said)
	}
	for piece, want := range map[string]string{`{"input":"a`: "a", `{"input":""}`: "", `{"input":"a","b":1`: "a", `{"b":1,"input":"a"}`: "a",
		`{"input":1}`: `{"input":1}`, `{"b":1,"input":"a"`: `{"b":1,"input":"a"`} {
		arguments, _ := json.Marshal(piece)
		native := strings.Replace(callsOf("patch", "PIECE"), `"PIECE"`, string(arguments), 1)
		stream, err := dialecttest.Translated(begun(), dialecttest.Frames(native), 50)
		whole, wholeErr := conversation.Whole(nil, begun(), []byte(native))
		input, _ := json.Marshal(want)
		if d := decode(t, stream); err != nil || d.items[0].Input != want || d.last.Response.Output[0].Input != want || wholeErr != nil ||
			!strings.Contains(string(whole), `"input":`+string(input)) {
			t.Errorf("%s: %v %s, %v %s, want %q", piece, err, stream, wholeErr, whole, want)
		}
	}
}

// An error before anything was said is a plain one; later it is the last event.
func TestFailures(t *testing.T) {
	failure := func(status int, code string) []byte {
		return fmt.Appendf(nil, "event:error\n:HTTP_STATUS/%d\ndata:{\"code\":%q,\"message\":\"slow\"}\n\n", status, code)
	}
	if out, err := dialecttest.Translated(begun(), failure(429, "Throttling"), 50); err == nil || len(out) > 0 {
		t.Errorf("%s, %v", out, err)
	}
	for _, c := range []struct {
		status     int
		code, want string
	}{
		{429, "Throttling", "rate_limit_exceeded"}, {429, "Throttling.AllocationQuota", "insufficient_quota"},
		{500, "InternalError", "server_error"}, {400, "DataInspectionFailed", "DataInspectionFailed"}, {400, "", "server_error"},
	} {
		native := append(dialecttest.Frames(dialecttest.Frame("a", "null"), dialecttest.Frame("b", "null")), failure(c.status, c.code)...)
		out, err := dialecttest.Translated(begun(), native, 50)
		d := decode(t, out)
		if e := d.last.Response; err != nil || d.last.Type != "response.failed" || e.Status != "failed" || e.Error.Code != c.want ||
			len(e.Output) != 1 || e.Output[0].Content[0].Text != "ab" {
			t.Errorf("%s: %v %s", c.code, err, out)
		}
	}
}

// What a stream repeats of an indented request leaves its events whole: an event has a line for its data.
func TestIndentedRequestsAreRepeatedOnOneLine(t *testing.T) {
	stream, err := dialecttest.Translated(indented(), dialecttest.Frames(dialecttest.Frame("a", "stop")), 50)
	if err != nil {
		t.Fatal(err)
	}
	decode(t, stream)
	for _, want := range []string{
		`"text":{"format":{  "type":"json_schema",  "name":"a\r\nb",  "schema":{    }}}`,
		`"tool_choice":{"type":"function","name":"level"}`,
	} {
		if n := strings.Count(string(stream), want); n != 3 {
			t.Errorf("%s comes %d times in %s", want, n, stream)
		}
	}
}

// indented is an answer to an indented request, as of [begun], that has begun.
func indented() *Answer {
	return answering(strings.ReplaceAll(`{
  "model": "gpt-4o",
  "input": "Hi",
  "text": {"format":{
  "type":"json_schema",
  "name":"a\r\nb",
  "schema":{
    }}},
  "tools": [
    {"type":"function", "name":"level"}, {"type":"custom", "name":"patch"},
    {"type":"namespace", "name":"mcp", "tools":[{"type":"function", "name":"find"}]}
  ],
  "tool_choice": {
    "type":"function",
    "name":"level",
    "other":[
    ]
  }
}`, "\n", "\r\n"))
}

// FuzzStream: any bytes become events that a client can read, and where they are cut makes no difference.
func FuzzStream(f *testing.F) {
	dialecttest.Seeds(f, func(in []byte) { f.Add(in, uint16(5)) }, "streams")
	f.Fuzz(func(t *testing.T, native []byte, piece uint16) {
		whole, wholeErr := dialecttest.Translated(indented(), native, 1<<30)
		cut, cutErr := dialecttest.Translated(indented(), native, int(piece)+1)
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
		dialecttest.Sane(t, r, err)
		if err == nil {
			r.Dialect.Begin(dialecttest.Head)
			out, err := conversation.Whole(nil, r.Dialect, []byte(callsOf("level", "{}")))
			if err != nil {
				t.Fatal(err)
			}
			dialecttest.MustBeJSON(t, out)
		}
		if !bytes.Equal(before, body) {
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
