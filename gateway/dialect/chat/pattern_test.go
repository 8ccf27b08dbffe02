package chat

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"sluice/gateway/dialect/dialecttest"
)

// usualEvent is an event with a text and a usage.
func usualEvent(id int, text string) string {
	return fmt.Sprintf(
		"id:%d\nevent:result\n:HTTP_STATUS/200\ndata:{\"output\":{\"choices\":[{\"message\":{\"content\":%q,\"reasoning_content\":\"\",\"role\":\"assistant\"},\"index\":0,\"finish_reason\":\"null\"}]},\"usage\":{\"output_tokens\":%d},\"request_id\":\"7f3c\"}\n\n", id, text, id)
}

// unusual are changes of a usual event with the number 7 and the text c.
var unusual = [][2]string{
	{`"c"`, `"\x"`}, {`"c"`, `"\ud83d"`}, {`"c"`, "\"\xff\""}, {`"c"`, "\"\n\""}, {`"c"`, `"c","code":"x"`}, {`"c"`, `"x","content":"c"`},
	{`"c"`, `"c","content":null`}, {`"c"`, `null`},
	{`"c"`, `["c"]`}, {`"c"`, `[{"text":"c"},{"text":"x"}]`}, {`"c"`, `[{"text":"x"},{"text":"c"}]`}, {`"c"`, `[{"image":"c"}]`},
	{`"c"`, `"c","tool_calls":[]`}, {`""`, `"x"`},
	{`"c"`, `"c","tool_calls":[{"id":"x","function":{"name":"f","arguments":"{}"}}]`}, {`"choices"`, `"text":"c","choices"`},
	{`}]}`, `}],"text":"x"}`},
	{`}]}`, `},{"index":1,"message":{"content":""}}]}`}, {`[{"m`, `[{"index":1,"message":{"content":""}},{"m`}, {`"index":0`, `"index":1`},
	{`"content":"c","reasoning_content":"","role":"assistant"},"index":0,"finish_reason":"null"}]`, `"content":"x"}}],"text":"c"`},
	{`}]}`, `},{"index":1,"message":{"tool_calls":[{"index":0,"function":{"arguments":"x"}}]}}]}`},
	{`"null"`, `"stop"`}, {`"null"`, `null`}, {`"null"`, `"null","logprobs":{"content":[{"token":"c"}]}`},
	{`{"output_tokens":7}`, `{"output_tokens":07}`}, {`{"output_tokens":7}`, "{\n\"output_tokens\":7}"},
	{`{"output_tokens":7}`, "{\r\"output_tokens\":7}"}, {`{"output_tokens":7}`, `7`}, {`{"output_tokens":7}`, `null`},
	{`{"output_tokens":7}`, `{"output_tokens":7,"output_tokens_details":{"reasoning_tokens":1}}`}, {`,"usage":{"output_tokens":7}`, ``},
	{`"usage":`, `"usage":{},"usage":`},
	{`{"output":`, `{"usage":{"output_tokens":8},"output":`}, {`"usage":{"output_tokens":7},`, ``},
	{`"request_id":"7f3c"`, `"request_id":"7f3d"`},
	{`"7f3c"}`, `"7f3c"`}, {`"7f3c"}`, `"7f3c"}}`}, {`"7f3c"}`, `"7f3c"} `}, {`"7f3c"}`, "\"7f3c\"}\r"}, {"\n", "\r\n"}, {"\n", "\r"},
	{"}\n\n", "}\n"}, {"\n\n", "\n\n\n"},
	{"id:7", "id:x"}, {"id:7", "id"}, {"id:7\n", ""}, {"id:7", "id: 7"}, {"id:7", "id:\nid:7"}, {"id:7", "event:error\nid:7"},
	{"result", "error"}, {"/200", "/429"},
	{"data:", "data:{\"output\":{}}\ndata:"}, {"data:", ":data:{\"output\":{\"choices\":[{\"message\":{\"content\":\"x\"}}]}}\ndata:"},
	{"data:", "retry:1\ndata:"}, {"data:", "event:error\ndata:"}, {"data:", ":HTTP_STATUS/429\ndata:"},
	{"\n\n", "\nid:8\n\n"}, {"data:", "data"}, {"data:", "xdata:"}, {"data:", "\xef\xbb\xbfdata:"},
}

// TestUnusualEvents: whether an event fits makes no difference, wherever a piece ends. In pieces of one byte no event fits.
func TestUnusualEvents(t *testing.T) {
	members := regexp.MustCompile(`id:\d+\n|event:result\n|:HTTP_STATUS/200\n|"reasoning_content":"",`)
	short := func(events string) string { return members.ReplaceAllString(events, "") }
	before, after := usualEvent(5, "a")+usualEvent(6, "b"), usualEvent(10, "e")+usualEvent(11, "f")
	last := strings.NewReplacer(`"null"`, `"stop"`, `,"usage":{"output_tokens":99}`, "").Replace(usualEvent(99, "."))
	for n, change := range unusual {
		changed := strings.ReplaceAll(usualEvent(7, "c"), change[0], change[1])
		if changed == usualEvent(7, "c") {
			t.Errorf("%q changes nothing", change)
		}
		again := strings.NewReplacer("id:7", "id:8", `"c"`, `"d"`, `s":7`, `s":8`).Replace(changed)
		ahead := strings.Replace(again, `{"output":`, `{"usage":{"output_tokens":9},"output":`, 1)
		sameInTwo(t, before, changed+again+ahead, after+last, n%5, 5) // another fifth of the places for each change
		sameInTwo(t, short(before), short(changed+again+ahead), short(after+last), 0, 1)
		sameInTwo(t, short(before), short(changed+again), short(after)+"event:error\ndata:{\"code\":\"x\"}\n\n", n%5, 5)
	}
}

// sameInTwo cuts a stream in its middle, at one of every step places.
func sameInTwo(t *testing.T, before, among, after string, first, step int) {
	t.Helper()
	native := []byte(before + among + after)
	want, wantErr := translated(native, 1)
	for cut := first; cut < len(among); cut += step {
		got, err := inTwo(native, len(before)+cut)
		if !bytes.Equal(got, want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Fatalf("%s\ncut at %d:\n%s\n%v, want\n%s\n%v", among, cut, got, err, want, wantErr)
		}
	}
}

// inTwo translates a stream in two pieces.
func inTwo(native []byte, cut int) ([]byte, error) {
	s := dialecttest.NewStream(begun(true))
	out, err := s.Append(nil, native[:cut])
	if err == nil {
		out, err = s.Append(out, native[cut:])
	}
	if err == nil {
		out, err = s.End(out)
	}
	return out, err
}
