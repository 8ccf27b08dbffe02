package openai

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// FuzzCalls: what a client adds up of two tool calls is what the service says, in whichever way its frames carry and name them.
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
		out, err := translated(t, nativeStream(documents...), 64)
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
	named      bool // a call has its id in every frame, not in its first alone
}

// of returns the frames of calls with these pieces of arguments: at least one for each call, and the finish.
func (w callFrames) of(calls [][]string) (documents []string) {
	var said []string // whole calls before the one that is told
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
