package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"sluice/gateway/conversation"
	"sluice/gateway/dialect/dialecttest"
)

// added is what a client has of a choice once it has added up its chunks, as the official libraries do.
type added struct {
	role, content, reasoning, finish string
	calls                            []addedCall
	tokens                           int // of logprobs
}

type addedCall struct{ id, kind, name, arguments string }

// decoded chunks of a stream: its choices by index, its usage, and how it ended.
type decodedStream struct {
	choices map[int]*added
	usage   string // the last one
	failure string // the error's code
	done    bool
	chunks  int
}

// chunk is what a client reads of a chunk.
type chunk struct {
	Object  string
	Choices []struct {
		Index int
		Delta struct {
			Role, Content *string
			Reasoning     *string `json:"reasoning_content"`
			Calls         []struct {
				Index    int
				ID, Type string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		FinishReason *string `json:"finish_reason"`
		Logprobs     *struct{ Content []json.RawMessage }
	}
	Usage json.RawMessage
	Error *struct{ Message, Type, Code string }
}

// decodeStream reads the events as a client does, and fails the test where one is not as OpenAI's.
func decodeStream(t *testing.T, stream []byte) decodedStream {
	t.Helper()
	d := decodedStream{choices: map[int]*added{}}
	for event := range strings.SplitSeq(strings.TrimSuffix(string(stream), "\n\n"), "\n\n") {
		data, ok := strings.CutPrefix(event, "data: ")
		switch {
		case event == "" && len(stream) == 0:
			continue
		case !ok || d.done || d.failure != "" || strings.Contains(data, "\n"):
			t.Fatalf("the event %q does not belong here", event)
		case data == "[DONE]":
			d.done = true
			continue
		}
		dialecttest.MustBeJSON(t, []byte(data))
		var c chunk
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		d.add(t, &c)
	}
	return d
}

func (d *decodedStream) add(t *testing.T, c *chunk) {
	t.Helper()
	if c.Error != nil {
		d.failure = c.Error.Type
		return
	}
	if d.chunks++; c.Object != "chat.completion.chunk" {
		t.Fatalf("the object is %q", c.Object)
	}
	if usage := string(c.Usage); usage != "" && usage != "null" {
		d.usage = usage
	}
	for _, choice := range c.Choices {
		a := d.choices[choice.Index]
		if (a == nil) != (choice.Delta.Role != nil) {
			t.Fatalf("choice %d: the role must be in its first delta, and there alone", choice.Index)
		}
		if a == nil {
			a = &added{role: *choice.Delta.Role}
			d.choices[choice.Index] = a
		}
		a.content += orEmpty(choice.Delta.Content)
		a.reasoning += orEmpty(choice.Delta.Reasoning)
		a.finish += orEmpty(choice.FinishReason)
		if choice.Logprobs != nil {
			a.tokens += len(choice.Logprobs.Content)
		}
		for _, call := range choice.Delta.Calls {
			for len(a.calls) <= call.Index {
				a.calls = append(a.calls, addedCall{})
			}
			sum := &a.calls[call.Index]
			sum.id, sum.kind = sum.id+call.ID, sum.kind+call.Type
			sum.name, sum.arguments = sum.name+call.Function.Name, sum.arguments+call.Function.Arguments
		}
	}
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// translated is a whole stream, handed over in pieces of this many bytes.
func translated(native []byte, piece int) ([]byte, error) {
	return dialecttest.Translated(begun(true), native, piece)
}

// TestStreamsCutAnywhere: where a stream is cut makes no difference.
func TestStreamsCutAnywhere(t *testing.T) {
	files, _ := filepath.Glob("testdata/streams/*.txt")
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, end := range []string{"\n", "\r", "\r\n"} {
			native := bytes.ReplaceAll(archive.Files[0].Data, []byte("\n"), []byte(end))
			want, wantErr := translated(native, 1<<30)
			for _, piece := range []int{1, 2, 7, 100} {
				got, err := translated(native, piece)
				if !bytes.Equal(got, want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
					t.Errorf("%s, %q, pieces of %d:\n%s\n%v, want\n%s\n%v", file, end, piece, got, err, want, wantErr)
				}
			}
		}
		if len(archive.Files) < 2 {
			t.Errorf("%s has no result", file)
		}
	}
}

func TestFailures(t *testing.T) {
	failure := "event:error\n:HTTP_STATUS/429\ndata:{\"code\":\"Throttling\",\"message\":\"slow\"}\n\n"
	for _, c := range []struct {
		story, native string
		status        int    // of the plain error
		failure       string // in the stream
	}{
		{"at first", failure, 429, ""},
		{"after a frame without content", string(dialecttest.Frames(dialecttest.Frame("", "null"))) + failure, 429, ""},
		{"after content", string(dialecttest.Frames(dialecttest.Frame("a", "null"))) + failure, 0, "rate_limit_error"},
		{"after frames that wait", string(dialecttest.Frames(dialecttest.Frame("a", "null"), dialecttest.Frame("ab", "null"))) + failure, 0,
			"rate_limit_error"},
		{"without a word for it", "data:{\"code\":\"InternalError\",\"message\":\"m\"}\n\n", 500, ""},
		{"with a status that is none", "event:error\n:HTTP_STATUS/200\ndata:{\"code\":\"InternalError\"}\n\n", 500, ""},
		{"a status of another frame", ":HTTP_STATUS/404\n\nevent:error\ndata:{}\n\n", 500, ""},
		{"no JSON", "data:{\"output\":\n\n", 502, ""},
		{"no JSON after content", string(dialecttest.Frames(dialecttest.Frame("a", "null"))) + "data:<html>\n\n", 0, "server_error"},
		{"no frames", "", 502, ""},
		{"frames without choices", string(dialecttest.Frames(`{"output":{},"usage":{"input_tokens":1}}`)), 502, ""},
		{"no finish", string(dialecttest.Frames(dialecttest.Frame("a", "null"), dialecttest.Frame("b", "null"))), 0, "server_error"},
		{"no finish, and frames that wait", string(dialecttest.Frames(dialecttest.Frame("a", "null"), dialecttest.Frame("ab", "null"))), 0,
			"server_error"},
		{"no finish of one choice",
			string(dialecttest.Frames(`{"output":{"choices":[{"message":{"content":"a"},"finish_reason":"stop"},{"message":{"content":"b"},` +
				`"finish_reason":"null"}]}}`)), 0, "server_error"},
		{"more after an error", string(dialecttest.Frames(dialecttest.Frame("a", "null"))) + failure +
			string(dialecttest.Frames(dialecttest.Frame("b", "stop"))), 0, "rate_limit_error"},
	} {
		t.Run(c.story, func(t *testing.T) {
			out, err := translated([]byte(c.native), 50)
			if c.status != 0 {
				r, ok := err.(*conversation.Refusal) //nolint:errorlint // that it is bare is the contract
				if !ok || r.Status != c.status || len(out) > 0 {
					t.Errorf("%v after %q, want a refusal of %d", err, out, c.status)
				}
				return
			}
			if d := decodeStream(t, out); err != nil || d.failure != c.failure || d.done {
				t.Errorf("%+v, %v: want the error %s", d, err, c.failure)
			}
		})
	}
}

func TestByteOrderMark(t *testing.T) {
	out, err := translated(append([]byte("\xef\xbb\xbf"), "data:"+dialecttest.Frame("a", "stop")+"\n\n"...), 1)
	if d := decodeStream(t, out); err != nil || d.choices[0] == nil || d.choices[0].content != "a" {
		t.Errorf("%s, %v", out, err)
	}
}

func TestEventTooLarge(t *testing.T) {
	s := dialecttest.NewStream(begun(false))
	piece := bytes.Repeat([]byte("a"), 1<<20)
	_, err := s.Append(nil, []byte("data:"))
	for i := 0; err == nil && i < 64; i++ {
		_, err = s.Append(nil, piece)
	}
	if err == nil {
		t.Error("64 MiB of one event were taken")
	}
}

func TestLogprobsOfRepeatedFrames(t *testing.T) {
	frame := func(text string, tokens int, finish string) string {
		return fmt.Sprintf(`{"output":{"choices":[{"message":{"content":%q},"finish_reason":%q,"logprobs":{"content":[%s]}}]}}`,
			text, finish, strings.TrimSuffix(strings.Repeat(`{"token":"t"},`, tokens), ","))
	}
	out, err := translated(dialecttest.Frames(frame("a", 1, "null"), frame("ab", 2, "null"), frame("abc", 3, "null"),
		frame("abc", 3, "stop")), 1<<30)
	if d := decodeStream(t, out); err != nil || d.choices[0].tokens != 3 || d.choices[0].content != "abc" {
		t.Errorf("%s, %v", out, err)
	}
	out, err = translated(dialecttest.Frames(frame("a", 1, "null"), frame("b", 1, "null"), frame("c", 1, "stop")), 1<<30)
	if d := decodeStream(t, out); err != nil || d.choices[0].tokens != 3 || d.choices[0].content != "abc" {
		t.Errorf("%s, %v", out, err)
	}
}

// Line ends between the tokens of a frame, whose log probabilities pass as they are, leave a chunk on one line.
func TestIndentedFramesAreChunksOnOneLine(t *testing.T) {
	for _, end := range []string{"\n", "\r\n"} {
		frame := strings.ReplaceAll(`{"output":{"choices":[{"message":{"content":"a"},"finish_reason":"stop",
data:"logprobs":{
data:"content":[
data:{"token":"a\n",
data:"logprob":-1}]}}]}}`, "\n", end)
		out, err := translated(dialecttest.Frames(frame), 1<<30)
		if want := `"logprobs":{"content":[{"token":"a\n","logprob":-1}]}}],"usage":null}` + "\n\n"; err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%v %q, want %q", err, out, want)
		}
		whole, err := dialecttest.NewStream(begun(true)).Whole(nil, []byte(strings.ReplaceAll(frame, "data:", "")))
		if decodeStream(t, whole); err != nil || !bytes.Equal(out, whole) {
			t.Errorf("%v %q, want %q", err, whole, out)
		}
	}
}

// TestUsageUnknown: without usage there is no chunk for it.
func TestUsageUnknown(t *testing.T) {
	out, err := translated(dialecttest.Frames(dialecttest.Frame("a", "stop")), 1<<30)
	if d := decodeStream(t, out); err != nil || d.usage != "" || !d.done || d.chunks != 1 {
		t.Errorf("%s, %v", out, err)
	}
}

// TestClearedStreamsAreNew: a stream in the memory of another has the output of a new one.
func TestClearedStreamsAreNew(t *testing.T) {
	files, _ := filepath.Glob("testdata/streams/*.txt")
	slices.Reverse(files)
	used := new(conversation.Stream)
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, cut := range []bool{true, false} { // first one that is left in its middle
			native := archive.Files[0].Data
			if cut {
				native = native[:len(native)*2/3]
			}
			fresh := dialecttest.NewStream(begun(cut))
			used.Begin(begun(cut))
			want, wantErr := fresh.Append(nil, native)
			got, gotErr := used.Append(nil, native)
			if !cut && wantErr == nil {
				want, wantErr = fresh.End(want)
				got, gotErr = used.End(got)
			}
			if !bytes.Equal(got, want) || fmt.Sprint(gotErr) != fmt.Sprint(wantErr) {
				t.Errorf("%s:\n%s\n%v, want\n%s\n%v", file, got, gotErr, want, wantErr)
			}
			used.Clear()
		}
	}
}
