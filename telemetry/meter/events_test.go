package meter

import (
	"bytes"
	"strings"
	"testing"
)

func TestFrames(t *testing.T) {
	const usage = `data:{"usage":{"input_tokens":5}}`
	for _, c := range []struct {
		story, stream string
		frames        int
		known, failed bool
		status        int
		gaveUp        bool
	}{
		{"nothing", "", 0, false, false, 0, false},
		{"empty lines", "\n\n\r\n\r\r", 0, false, false, 0, false},
		{"one frame", usage + "\n\n", 1, true, false, 0, false},
		{"two frames", usage + "\n\n" + usage + "\n\n", 2, true, false, 0, false},
		{"no empty line between: one document too many", usage + "\n" + usage + "\n\n", 1, true, false, 0, true},
		{"a space before the colon", "data :{\"usage\":{\"input_tokens\":5}}\n\n", 0, false, false, 0, false},
		{"two spaces after it", "data:  {\"usage\":{\"input_tokens\":5}}\n\n", 1, true, false, 0, false},
		{"a tab after it", "data:\t{\"usage\":{\"input_tokens\":5}}\n\n", 1, true, false, 0, false},
		{"another field", "date:{\"usage\":{\"input_tokens\":5}}\n\n", 0, false, false, 0, false},
		{"upper case", "DATA:{\"usage\":{\"input_tokens\":5}}\n\n", 0, false, false, 0, false},
		{"a field of any length", strings.Repeat("x", 9999) + ":1\n" + strings.Repeat("data", 99) + "\n" + usage + "\n\n", 1, true, false, 0,
			false},
		{"a comment that looks like data", ":" + usage + "\n\n", 0, false, false, 0, false},
		{"a frame without data", "id:1\nevent:result\n:HTTP_STATUS/200\n\n", 0, false, false, 0, false},
		{"an end mark of others", usage + "\n\ndata:[DONE]\n\n", 2, true, false, 0, true},
		{"an error", "event:error\n:HTTP_STATUS/400\ndata:{\"code\":\"Bad\"}\n\n", 1, false, true, 400, false},
		{"an error, spaced", "event: error\n: HTTP_STATUS/400\ndata: {\"code\":\"Bad\"}\n\n", 1, false, true, 400, false},
		{"an error, status first", ":HTTP_STATUS/429\nevent:error\ndata:{\"code\":\"Bad\"}\n\n", 1, false, true, 429, false},
		{"an error, data first", "data:{\"code\":\"Bad\"}\nevent:error\n:HTTP_STATUS/400\n\n", 1, false, true, 400, false},
		{"an error without a code", "event:error\n:HTTP_STATUS/503\ndata:{}\n\n", 1, false, true, 503, false},
		{"an error that is no JSON", "event:error\n:HTTP_STATUS/503\ndata:oops\n\n", 1, false, true, 503, true},
		{"an error without a status", "event:error\ndata:{\"code\":\"Bad\",\"status_code\":401}\n\n", 1, false, true, 401, false},
		{"no status", "event:error\n:HTTP_STATUS/\ndata:{\"code\":\"Bad\"}\n\n", 1, false, true, 0, false},
		{"not a status", "event:error\n:HTTP_STATUS/4x0\ndata:{\"code\":\"Bad\"}\n\n", 1, false, true, 0, false},
		{"a status of five digits", "event:error\n:HTTP_STATUS/40000\ndata:{\"code\":\"Bad\"}\n\n", 1, false, true, 0, false},
		{"a code in a result", "event:result\ndata:{\"code\":\"Bad\"}\n\n", 1, false, true, 0, false},
		{"errors", "event:errors\ndata:{}\n\n", 1, false, false, 0, false},
		{"a result after all", "event:error\nevent:result\ndata:{}\n\n", 1, false, false, 0, false},
		{"a status is of its frame", ":HTTP_STATUS/500\n\nevent:error\ndata:{\"code\":\"Bad\"}\n\n", 1, false, true, 0, false},
		{"the event is of its frame", "event:error\n\n" + usage + "\n\n", 2, true, true, 0, false},
		{"LF after CR is one end", usage + "\r\n\r\n" + usage + "\r\n\r\n", 2, true, false, 0, false},
		{"CR after LF is two", usage + "\n\r" + usage + "\n\r", 2, true, false, 0, false},
	} {
		t.Run(c.story, func(t *testing.T) {
			r := read("text/event-stream", []byte(c.stream))
			if r.Frames != c.frames || r.Usage.Known() != c.known || r.Failed != c.failed || r.ErrorStatus != c.status || r.GaveUp != c.gaveUp {
				t.Errorf("%d frames, usage %t, failed %t, status %d, gave up %t",
					r.Frames, r.Usage.Known(), r.Failed, r.ErrorStatus, r.GaveUp)
			}
			same(t, "every byte alone", r, read("text/event-stream", eachByte([]byte(c.stream))...))
		})
	}
}

// No text of a model can end a frame or begin one: the service escapes line ends, and if it did not, the rest of the text
// would be a field with an unknown name.
func TestLookAlikesInText(t *testing.T) {
	for _, text := range []string{
		`\n\nevent:error\n:HTTP_STATUS/500\ndata:{\"code\":\"Fake\"}\n\n`,
		`\",\"usage\":{\"input_tokens\":999}`, `\"}]},\"usage\":{\"input_tokens\":999}}`, `\\\",\"code\":\"Fake`,
		`\u0022,\u0022usage\u0022:{\u0022input_tokens\u0022:999}`, `\u000a\u000aevent:error\u000a`,
	} {
		for _, around := range []string{`{"output":{"text":"%"}}`, `{"output":{"choices":[{"message":{"content":"%"}}]}}`, `{"x":["%"]}`,
			`{"%":1}`} {
			document := strings.Replace(around, "%", text, 1)
			for contentType, body := range map[string][]byte{"text/event-stream": frames(document), "application/json": []byte(document)} {
				if r := read(contentType, body); r.Usage.Known() || r.Failed || r.ErrorCode != "" || r.GaveUp || r.Frames > 1 {
					t.Errorf("%s: %+v", document, r)
				}
			}
		}
	}
}

// The kept part of a line is bounded, and finding line ends takes time in proportion to the bytes: quadratic time would be
// minutes here.
func TestManyShortLines(t *testing.T) {
	for _, end := range []string{"\n", "\r", "\r\n"} {
		body := []byte(strings.Repeat("a"+end, 4<<20) + end + strings.ReplaceAll(`data:{"usage":{"input_tokens":5}}NN`, "N", end))
		if r := read("text/event-stream", body); !r.Usage.Known() || r.Frames != 1 {
			t.Errorf("%q: %+v", end, r)
		}
	}
	quotes := []byte(`{"output":{"text":"` + strings.Repeat(`\"\\`, 4<<20) + `"},"usage":{"input_tokens":5}}`)
	if r := read("", quotes); !r.Usage.Known() || r.TextBytes != 8<<20 {
		t.Errorf("%d bytes of text, usage %t", r.TextBytes, r.Usage.Known())
	}
}

// A stream is closed where a frame ends, and nowhere else, whether or not it has marked its end.
func TestStreamsAreClosedWhereAFrameEnds(t *testing.T) {
	body := frames(said("a", "null"), said("b", ""), `{"output":{"text":"c"},"usage":{"total_tokens":3}}`)
	for i := range len(body) + 1 {
		r := read("text/event-stream", body[:i])
		data := bytes.LastIndex(body[:i], []byte("data:{"))
		whole := data >= 0 && bytes.Count(body[data:i], []byte("{")) == bytes.Count(body[data:i], []byte("}"))
		if r.Closed != whole || r.Complete {
			t.Errorf("closed %t and complete %t behind %q", r.Closed, r.Complete, body[:i])
		}
	}
}

func TestDocumentsAreClosedWhenTheyAreComplete(t *testing.T) {
	for body, want := range map[string]bool{`{"usage":{}}`: true, `{"usage":{}`: false, "": false, "<html>": false} {
		if r := read("application/json", []byte(body)); r.Closed != want || r.Complete != want {
			t.Errorf("%q: closed %t, complete %t", body, r.Closed, r.Complete)
		}
	}
}
