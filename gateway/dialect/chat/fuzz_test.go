package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sluice/gateway/conversation"
	"sluice/gateway/dialect/dialecttest"
	"sluice/gateway/openai"
)

// FuzzRequest: any body becomes a request of the service, or is refused; both are JSON.
func FuzzRequest(f *testing.F) {
	dialecttest.Seeds(f, func(in []byte) { f.Add(in) }, "chats")
	f.Fuzz(func(t *testing.T, body []byte) {
		before := bytes.Clone(body)
		chat, err := Read(body, dialecttest.Models)
		dialecttest.Sane(t, chat, err)
		if !bytes.Equal(before, body) {
			t.Fatal("the body has changed")
		}
	})
}

// FuzzAnswer: any answer becomes JSON, or is refused.
func FuzzAnswer(f *testing.F) {
	dialecttest.Seeds(f, func(in []byte) { f.Add(in) }, "answers")
	f.Fuzz(func(t *testing.T, native []byte) {
		if out, err := conversation.Whole(nil, begun(false), native); err == nil {
			dialecttest.MustBeJSON(t, out)
		} else if len(out) > 0 {
			t.Fatalf("%q beside %v", out, err)
		}
		dialecttest.MustBeJSON(t, openai.AppendError(nil, conversation.ReadRefusal(400, native)))
	})
}

// FuzzStream: any bytes become events that a client can read, and where they are cut makes no difference.
func FuzzStream(f *testing.F) {
	dialecttest.Seeds(f, func(in []byte) { f.Add(in, uint16(5)) }, "streams")
	f.Fuzz(func(t *testing.T, native []byte, piece uint16) {
		whole, wholeErr := translated(native, 1<<30)
		cut, cutErr := translated(native, int(piece)+1)
		if !bytes.Equal(whole, cut) || fmt.Sprint(wholeErr) != fmt.Sprint(cutErr) {
			t.Fatalf("whole:\n%s\n%v\ncut:\n%s\n%v", whole, wholeErr, cut, cutErr)
		}
		if wholeErr != nil && len(whole) > 0 {
			t.Fatalf("%q beside %v", whole, wholeErr)
		}
		for event := range strings.SplitSeq(string(whole), "\n\n") {
			if data, ok := strings.CutPrefix(event, "data: "); ok && data != "[DONE]" {
				dialecttest.MustBeJSON(t, []byte(data))
			} else if event != "" && data != "[DONE]" {
				t.Fatalf("the event %q", event)
			}
		}
	})
}

// FuzzText: the text that a client assembles is the service's, whichever way its frames carry it.
func FuzzText(f *testing.F) {
	f.Add("Thr|ee| words", "because|it is", uint8(0))
	f.Add("词|语\n|😀", "", uint8(1))
	f.Add("\"|\\|\u2028", "x|y", uint8(2))
	f.Add("a|b", "c", uint8(7))
	f.Fuzz(func(t *testing.T, content, reasoning string, form uint8) {
		contents := pieces(content)
		reasonings := pieces(reasoning)
		repeats, older := form&1 != 0, form&2 != 0
		if !repeats && (ambiguous(contents) || ambiguous(reasonings)) {
			t.Skip("no reader could tell")
		}
		if older {
			reasonings = nil
		}
		documents := textFrames(contents, reasonings, repeats, older, form&4 != 0)
		out, err := translated(dialecttest.Frames(documents...), 64)
		if err != nil {
			t.Fatal(err)
		}
		d := decodeStream(t, out)
		want := added{role: "assistant", content: strings.Join(contents, ""), reasoning: strings.Join(reasonings, ""), finish: "stop"}
		if got := d.choices[0]; got == nil || fmt.Sprint(*got) != fmt.Sprint(want) || !d.done {
			t.Fatalf("%+v, want %+v, of\n%s", got, want, strings.Join(documents, "\n"))
		}
	})
}

// pieces are what the frames of a text add, none of them empty.
func pieces(text string) []string {
	return slices.DeleteFunc(strings.Split(strings.ToValidUTF8(text, "?"), "|"), func(s string) bool { return s == "" })
}

// ambiguous reports whether increments begin like a repetition.
func ambiguous(pieces []string) bool {
	return len(pieces) > 1 && strings.HasPrefix(pieces[1], pieces[0])
}

// textFrames are frames with the thinking first, then the content, and a finish on the last one or on one of its own.
func textFrames(contents, reasonings []string, repeats, older, lastAlone bool) (documents []string) {
	content, reasoning := "", ""
	frame := func(finish string) {
		c, _ := json.Marshal(content)
		r, _ := json.Marshal(reasoning)
		if older {
			documents = append(documents, fmt.Sprintf(`{"output":{"text":%s,"finish_reason":%q}}`, c, finish))
			return
		}
		documents = append(documents, fmt.Sprintf(`{"output":{"choices":[{"message":{"content":%s,"reasoning_content":%s},`+
			`"finish_reason":%q}]}}`, c, r, finish))
	}
	all := len(contents) + len(reasonings)
	for i := range all {
		if !repeats {
			content, reasoning = "", ""
		}
		if i < len(reasonings) {
			reasoning += reasonings[i]
		} else {
			content += contents[i-len(reasonings)]
		}
		finish := "null"
		if i == all-1 && !lastAlone {
			finish = "stop"
		}
		frame(finish)
	}
	if lastAlone || all == 0 {
		if !repeats {
			content, reasoning = "", ""
		}
		frame("stop")
	}
	return documents
}

// FuzzCalls: the two tool calls that a client assembles are the service's, whichever way its frames carry and name them.
func FuzzCalls(f *testing.F) {
	for form := range uint8(8) {
		f.Add(`{"river"|:"El|be"}`, `{}`, form)
		f.Add(`1|2|12`, `"a|\|b"`, form)
		f.Add(``, `{|}`, form)
	}
	f.Fuzz(func(t *testing.T, first, second string, form uint8) {
		calls := [][]string{pieces(first), pieces(second)}
		way := callFrames{repeats: form&1 != 0, unnumbered: form&2 != 0, named: form&4 != 0}
		if !way.repeats && slices.ContainsFunc(calls, ambiguous) {
			t.Skip("no reader could tell")
		}
		documents := way.of(calls)
		out, err := translated(dialecttest.Frames(documents...), 64)
		if err != nil {
			t.Fatal(err)
		}
		want := added{role: "assistant", finish: "tool_calls"}
		for i, arguments := range calls {
			want.calls = append(want.calls, addedCall{callID(i), "function", "level", strings.Join(arguments, "")})
		}
		d := decodeStream(t, out)
		if got := d.choices[0]; got == nil || fmt.Sprint(*got) != fmt.Sprint(want) || !d.done {
			t.Fatalf("%+v, want %+v, of\n%s", got, want, strings.Join(documents, "\n"))
		}
	})
}

func callID(i int) string { return fmt.Sprintf("call_%d", i) }

// callFrames is a way in which frames carry calls.
type callFrames struct {
	repeats    bool // each frame has all calls so far, whole
	unnumbered bool // no call has an index
	named      bool // a call has its id in every frame, not only in its first
}

// of returns the frames of calls with these pieces of arguments: at least one for each call, and the finish.
func (w callFrames) of(calls [][]string) (documents []string) {
	var said []string // whole calls before the current one
	for i, arguments := range calls {
		sum := ""
		for n := range max(1, len(arguments)) {
			piece := ""
			if n < len(arguments) {
				piece = arguments[n]
			}
			sum += piece
			call := w.call(i, n == 0, piece)
			if w.repeats {
				call = strings.Join(append(slices.Clone(said), w.call(i, n == 0, sum)), ",")
			}
			documents = append(documents, callFrame(call, "null"))
		}
		said = append(said, w.call(i, false, sum))
	}
	last := ""
	if w.repeats {
		last = strings.Join(said, ",")
	}
	return append(documents, callFrame(last, "tool_calls"))
}

func (w callFrames) call(i int, first bool, arguments string) string {
	call := map[string]any{"type": "function", "function": map[string]string{"arguments": arguments}}
	if !w.unnumbered {
		call["index"] = i
	}
	if first || w.named {
		call["id"], call["function"] = callID(i), map[string]string{"name": "level", "arguments": arguments}
	}
	text, _ := json.Marshal(call)
	return string(text)
}

func callFrame(calls, finish string) string {
	return fmt.Sprintf(`{"output":{"choices":[{"message":{"content":"","tool_calls":[%s]},"finish_reason":%q}]}}`, calls, finish)
}
