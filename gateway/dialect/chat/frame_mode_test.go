package chat

import (
	"slices"
	"strings"
	"testing"

	"sluice/gateway/conversation"
	"sluice/gateway/dialect/dialecttest"
)

const longText = "A mill stands beside the river, and its wheel turns all day."

// TestFrameMode: frames that repeat the text so far are distinguished from frames that do not. If they look alike, the likelier
// reading wins.
func TestFrameMode(t *testing.T) {
	for _, c := range []struct {
		story string
		texts []string // of the frames, the last one with a finish
		want  string
	}{
		{"increments", []string{"Thr", "ee", " words"}, "Three words"},
		{"repetition", []string{"Thr", "Three", "Three words"}, "Three words"},
		{"repetition, all twice", []string{"Thr", "Thr", "Three", "Three", "Three words"}, "Three words"},
		{"repetition, the last again", []string{"Thr", "Three", "Three"}, "Three"},
		{"repetition, an empty frame last", []string{"Thr", "Three", ""}, "Three"},
		{"one frame", []string{"Yes."}, "Yes."},
		{"one text, said again at the end", []string{"Yes.", "Yes."}, "Yes."},
		{"nothing", []string{"", ""}, ""},
		{"a stutter", []string{"ha", "ha", "!"}, "haha!"},
		{"a stutter to the end", []string{"0", "0", "0", ""}, "000"},
		{"a growing number", []string{"1", "12", "3"}, "1123"},
		{"two growing words", []string{"a", "aa", "b", "ba"}, "aaabba"},
		{"empty frames between", []string{"", "a", "", "b", ""}, "ab"},
		{"a long stutter", append(slices.Repeat([]string{"-"}, 200), ""), strings.Repeat("-", 200)},
		{"a growing stutter", []string{"ha", "haha", "hahaha", "!"}, "hahahahahaha!"},
		{"growing blanks", []string{" ", "  ", "    ", "        ", "x"}, strings.Repeat(" ", 15) + "x"},
		{"numbers that grow", []string{"1", "12", "123", " are", " numbers"}, "112123 are numbers"},
		{"a repetition that is revised", []string{longText[:20], longText[:40], longText[:50], "x"}, longText[:50] + "x"},
		{"a character that comes in two parts", []string{longText[:20], longText[:40], longText, longText + "\ufffd", longText + "😀 a",
			longText + "😀 a b"}, longText + "\ufffd a b"},
		{"several that change", []string{longText[:20], longText[:40], longText, longText + "é\n\ufffd", longText + "e\t😀!"},
			longText + "é\n\ufffd!"},
		{"too many that change", []string{longText[:20], longText[:40], longText, longText + "12345", "abc"}, longText + "12345abc"},
		{"half a character first", []string{"\ufffd", "😀", "😀 Hello", "😀 Hello there"}, "\ufffd Hello there"},
		{"half a character before the proof", []string{"Hi \ufffd", "Hi 😀", "Hi 😀, how", "Hi 😀, how are you?"}, "Hi \ufffd, how are you?"},
		{"half a character before a proof", []string{"Hi \ufffd", "Hi 😀", "Hi 😀" + longText, "Hi 😀" + longText + "!", "x"},
			"Hi \ufffd" + longText + "!x"},
		{"half a character and nothing more", []string{"\ufffd", "😀"}, "\ufffd😀"},
		{"half a character behind an escape", []string{`\`, `\` + "\ufffd", `\` + "é", `\` + "é" + longText, `\` + "é" + longText + "!"},
			`\` + "\ufffd" + longText + "!"},
		{"increments of half characters", []string{"\ufffd", "\ufffd", " a", " b"}, "\ufffd\ufffd a b"},
		{"increments behind half a character", []string{"a\ufffd", "b", "c"}, "a\ufffdbc"},
		{"a repetition that shrinks", []string{longText[:20], longText[:40], longText[:50], longText[:40], longText}, longText},
	} {
		t.Run(c.story, func(t *testing.T) {
			var documents []string
			for i, text := range c.texts {
				finish := "null"
				if i == len(c.texts)-1 {
					finish = "stop"
				}
				documents = append(documents, dialecttest.Frame(text, finish))
			}
			out, err := translated(dialecttest.Frames(documents...), 1<<30)
			d := decodeStream(t, out)
			if err != nil || d.choices[0].content != c.want || d.choices[0].finish != "stop" || !d.done {
				t.Errorf("%+v, %v: want %q", d.choices[0], err, c.want)
			}
		})
	}
}

// TestFrameModeIsThatOfTheStream: what one text has proved holds for the others, also where half a character at their end is spelled anew.
func TestFrameModeIsThatOfTheStream(t *testing.T) {
	proof := []string{longText[:20], longText[:40], longText} // in the thinking
	for _, c := range []struct {
		story  string
		beside string // thinking in the frames with a text
		texts  []string
		want   string
	}{
		{"half a character first", longText, []string{"\ufffd", "😀", "😀 Hello", "😀 Hello there"}, "\ufffd Hello there"},
		{"half a character behind a text", longText, []string{longText[:44] + "\ufffd", longText[:44] + "é", longText[:44] + "é!"},
			longText[:44] + "\ufffd!"},
		{"a last character that changes", longText, []string{"Yes ", "Yes,", "Yes, sir"}, "Yes  sir"},
		{"a text that is no repetition", "", []string{"Yes", ", ", "sir"}, "Yes, sir"},
	} {
		t.Run(c.story, func(t *testing.T) {
			var documents []string
			for _, text := range proof {
				documents = append(documents, strings.Replace(dialecttest.Frame(text, "null"), `"content"`, `"reasoning_content"`, 1))
			}
			for _, text := range c.texts {
				documents = append(documents, strings.Replace(dialecttest.Frame(text, "null"), `"role"`, `"reasoning_content":"`+c.beside+`","role"`,
					1))
			}
			out, err := translated(dialecttest.Frames(append(documents, dialecttest.Frame("", "stop"))...), 1<<30)
			if d := decodeStream(t, out); err != nil || d.choices[0].content != c.want || d.choices[0].reasoning != longText {
				t.Errorf("%+v, %v: want %q", d.choices[0], err, c.want)
			}
		})
	}
}

// TestNothingWaitsLong: frames that may mean either are held, but not for ever.
func TestNothingWaitsLong(t *testing.T) {
	s := dialecttest.NewStream(begun(false))
	longest, waited := 0, 0
	for range 500 {
		out, err := s.Append(nil, dialecttest.Frames(dialecttest.Frame("-", "null")))
		if err != nil {
			t.Fatal(err)
		}
		if waited++; len(out) > 0 {
			longest, waited = max(longest, waited), 0
		}
	}
	if longest == 0 || longest > conversation.MostHeld+2 || waited > 1 {
		t.Errorf("%d frames waited, %d at the end", longest, waited)
	}
}

// TestCallsOfRepeatedFrames: a call's id, type and name are sent once, because clients join them.
func TestCallsOfRepeatedFrames(t *testing.T) {
	frame := func(arguments, finish string) string {
		return `{"output":{"choices":[{"message":{"content":"","tool_calls":[{"index":0,"id":"call_1","type":"function",` +
			`"function":{"name":"f","arguments":"` +
			arguments + `"}},{"index":1,"id":"call_2","type":"function","function":{"name":"g","arguments":"{}"}}]},"finish_reason":"` +
			finish + `"}]}}`
	}
	out, err := translated(dialecttest.Frames(frame(`{\"a`, "null"), frame(`{\"a\":`, "null"), frame(`{\"a\":1}`, "tool_calls")), 1<<30)
	want := []addedCall{{"call_1", "function", "f", `{"a":1}`}, {"call_2", "function", "g", "{}"}}
	if d := decodeStream(t, out); err != nil || !slices.Equal(d.choices[0].calls, want) || d.choices[0].finish != "tool_calls" {
		t.Errorf("%+v, %v", d.choices[0], err)
	}
}

// TestCallsWithoutAnIndex: a call with another id is another call, and one without an id continues the call before.
func TestCallsWithoutAnIndex(t *testing.T) {
	frame := func(finish string, calls ...string) string {
		return `{"output":{"choices":[{"message":{"content":"","tool_calls":[` + strings.Join(calls, ",") + `]},"finish_reason":"` +
			finish + `"}]}}`
	}
	call := func(id, name, arguments string) string {
		return `{"id":"` + id + `","type":"function","function":{"name":"` + name + `","arguments":"` + arguments + `"}}`
	}
	want := []addedCall{{"a", "function", "f", `{"x":1}`}, {"b", "function", "g", `{"y":2}`}}
	for story, documents := range map[string][]string{
		"increments": {
			frame("null", call("a", "f", `{\"x\":`)), frame("null", call("", "", `1}`)),
			frame("null", call("b", "g", `{\"y\":`)), frame("null", call("", "", `2}`)), frame("tool_calls"),
		},
		"increments with their id": {
			frame("null", call("a", "f", `{\"x\":`)), frame("null", call("a", "", `1}`)),
			frame("null", call("b", "g", `{\"y\":`)), frame("tool_calls", call("b", "", `2}`)),
		},
		"whole calls": {frame("null", call("a", "f", `{\"x\":1}`)), frame("null", call("b", "g", `{\"y\":2}`)), frame("tool_calls")},
		"repetition": {
			frame("null", call("a", "f", `{\"x\":`)), frame("null", call("a", "f", `{\"x\":1}`)),
			frame("null", call("a", "f", `{\"x\":1}`), call("b", "g", `{\"y\"`)),
			frame("tool_calls", call("a", "f", `{\"x\":1}`), call("b", "g", `{\"y\":2}`)),
		},
		"both in one frame": {frame("tool_calls", call("a", "f", `{\"x\":1}`), call("b", "g", `{\"y\":2}`))},
	} {
		out, err := translated(dialecttest.Frames(documents...), 1<<30)
		if d := decodeStream(t, out); err != nil || !slices.Equal(d.choices[0].calls, want) || !d.done {
			t.Errorf("%s: %+v, %v", story, d.choices[0], err)
		}
	}
}

// TestRepetitionBesideANewCall: a repeated text is no stutter if the frame begins a call, even without arguments yet.
func TestRepetitionBesideANewCall(t *testing.T) {
	frame := func(calls, finish string) string {
		return `{"output":{"choices":[{"message":{"content":"Let me look.","tool_calls":[` + calls + `]},"finish_reason":"` + finish + `"}]}}`
	}
	call := func(arguments string) string {
		return `{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"` + arguments + `"}}`
	}
	out, err := translated(dialecttest.Frames(frame("", "null"), frame(call(""), "null"), frame(call("{}"), "null"),
		frame(call("{}"), "tool_calls")), 1<<30)
	d := decodeStream(t, out)
	if got := d.choices[0]; err != nil || got.content != "Let me look." ||
		!slices.Equal(got.calls, []addedCall{{"a", "function", "f", "{}"}}) {
		t.Errorf("%+v, %v", got, err)
	}
}
