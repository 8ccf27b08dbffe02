package dialecttest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sluice/gateway/conversation"
)

// Failing is what a check needs of a test, of package testing or rapid.
type Failing interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Said is an answer of a model, as the service can say it whole or in frames.
type Said struct {
	Thinking, Text string
	Calls          []SaidCall
	Finish         string
}

// SaidCall is a call of a tool in it.
type SaidCall struct{ ID, Name, Arguments string }

// DrawAnswer draws an answer that calls tools of these names, or none.
func DrawAnswer(t *rapid.T, names []string) (s Said) {
	texts := rapid.OneOf(rapid.StringN(0, 60, -1), rapid.SampledFrom([]string{"", "ha", "\"\\\n", "词😀", "a lock lifts"}))
	s.Thinking, s.Text = texts.Draw(t, "thinking"), texts.Draw(t, "text")
	s.Finish = rapid.SampledFrom([]string{"stop", "length"}).Draw(t, "finish")
	for i := range rapid.IntRange(0, 3).Draw(t, "calls") {
		input, _ := json.Marshal(map[string]string{"input": texts.Draw(t, "input")})
		s.Calls = append(s.Calls, SaidCall{fmt.Sprintf("call_%d", i), rapid.SampledFrom(names).Draw(t, "tool"), string(input)})
		s.Finish = "tool_calls"
	}
	return s
}

// Whole is the service's answer.
func (s *Said) Whole() string { return s.document(s.Thinking, s.Text, s.Calls, 0, s.Finish) }

// document is an answer or a frame. The first call has this index.
func (s *Said) document(thinking, text string, calls []SaidCall, index int, finish string) string {
	type function struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	}
	type call struct {
		Index    int      `json:"index"`
		ID       string   `json:"id,omitempty"`
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	var list []call
	for i, c := range calls {
		list = append(list, call{index + i, c.ID, "function", function{c.Name, c.Arguments}})
	}
	message := map[string]any{"role": "assistant", "content": text, "reasoning_content": thinking}
	if list != nil {
		message["tool_calls"] = list
	}
	document, _ := json.Marshal(map[string]any{
		"output": map[string]any{"choices": []any{map[string]any{"message": message, "finish_reason": finish}}},
		"usage":  map[string]any{"input_tokens": 9, "output_tokens": 5, "output_tokens_details": map[string]int{"reasoning_tokens": 2}},
	})
	return string(document)
}

// Frames are documents of frames that add up to the answer, cut anywhere.
func (s *Said) Frames(t *rapid.T) (documents []string) {
	for _, piece := range cut(t, s.Thinking) {
		documents = append(documents, s.document(piece, "", nil, 0, "null"))
	}
	for _, piece := range cut(t, s.Text) {
		documents = append(documents, s.document("", piece, nil, 0, "null"))
	}
	for i, call := range s.Calls {
		documents = append(documents, s.document("", "", []SaidCall{{call.ID, call.Name, ""}}, i, "null"))
		for _, piece := range cut(t, call.Arguments) {
			documents = append(documents, s.document("", "", []SaidCall{{"", "", piece}}, i, "null"))
		}
	}
	return append(documents, s.document("", "", nil, 0, s.Finish))
}

// cut cuts a text into pieces that are not empty. The second piece does not begin with the first: no reader could distinguish such pieces
// from frames that repeat the text.
func cut(t *rapid.T, text string) (pieces []string) {
	runes := []rune(text)
	for len(runes) > 0 {
		n := rapid.IntRange(1, len(runes)).Draw(t, "cut")
		pieces, runes = append(pieces, string(runes[:n])), runes[n:]
	}
	for len(pieces) > 1 && strings.HasPrefix(pieces[1], pieces[0]) {
		pieces = append([]string{pieces[0] + pieces[1]}, pieces[2:]...)
	}
	return pieces
}

// Sane fails if the chain could not accept the result of a translation of a chat.
func Sane(t *testing.T, r *conversation.Request, err error) {
	t.Helper()
	if err != nil {
		refused, ok := errors.AsType[*conversation.Refusal](err)
		if !ok || r != nil || refused.Status != 400 {
			t.Fatalf("%v beside %v", err, r)
		}
		return
	}
	MustBeJSON(t, r.Body)
	var native struct {
		Model      string
		Input      struct{ Messages []json.RawMessage }
		Parameters map[string]json.RawMessage
	}
	if err := json.Unmarshal(r.Body, &native); err != nil || native.Model == "" || native.Input.Messages == nil || native.Parameters == nil {
		t.Fatalf("%s: %v", r.Body, err)
	}
	if _, streamed := native.Parameters["incremental_output"]; streamed != r.Stream {
		t.Fatalf("stream %t: %s", r.Stream, r.Body)
	}
	if r.Path != conversation.TextPath && r.Path != conversation.MultimodalPath || r.Async ||
		!bytes.Contains(r.Body, []byte(`"result_format":"message"`)) {
		t.Fatalf("%s, async %t: %s", r.Path, r.Async, r.Body)
	}
}
