package policy

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sluice/policy/strictjson"
)

// whole is a document with all things that the reader knows.
const whole = `{
	"model": "gen2.6-image",
	"input": {
		"messages": [
			{"role": "system", "content": "Plain \u732b 猫 \"words\"\n"},
			{"role": "user", "content": [
				{"text": "a cat", "cache_control": {"type": "ephemeral"}},
				{"image": "https:\/\/a.example\/b.png"},
				{"image": "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAyAAAAJYCAIAAAAAAAAAAAAAAElEQVQAAAAA"},
				{"video": ["http://a/1.jpg", "http://a/2.jpg"], "fps": 0.5},
				{"audio": "data:;base64,AAAA"}
			]},
			{"role": "assistant", "content": null, "reasoning_content": "hm", "tool_calls": [
				{"index": 0, "id": "call-1", "type": "function", "function": {"name": "f", "arguments": "{\"a\":1}"}}
			]},
			{"role": "tool", "content": "{}", "tool_call_id": "call-1", "name": "f"}
		],
		"history": [{"user": "a", "bot": "b"}]
	},
	"parameters": {
		"n": 1, "seed": 0, "temperature": 1.5e-1, "stop": ["a", [1, 2], 3], "top_k": -0, "size": "1280*720",
		"tools": [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {"N": {}, "n": []}}}],
		"tool_choice": {"type": "function", "function": {"name": "f"}}, "stream": true, "enable_thinking": false,
		"response_format": {"type": "json_schema", "json_schema": {"name": "s", "schema": {"Type": 1}, "strict": true}},
		"unknown": [[], {}, "x", 1.0, true, false, null, {"deep": [{"er": []}]}]
	},
	"unknown": {"": "", "é": "\ud83d\ude00"}
}`

var everything = Families{
	SyncImage: []Pattern{"llm-image*"}, EditImage: []Pattern{"gen2.6-image*"}, Thinking: []Pattern{"*"},
}

// readWhole reads a document as a task.
func readWhole(body []byte) (Request, error) {
	return Read(&everything, Call{Endpoint: EndpointImage, Async: []string{"enable"}}, body)
}

// TestEveryCut ends a document at every byte: no part is accepted, and the fault lies within it.
func TestEveryCut(t *testing.T) {
	if _, err := readWhole([]byte(whole)); err != nil {
		t.Fatal(err)
	}
	for end := range len(whole) {
		_, err := readWhole([]byte(whole[:end]))
		var fault *strictjson.Error
		if !errors.As(err, &fault) || fault.Offset > end {
			t.Fatalf("the first %d bytes: %v", end, err)
		}
	}
}

// TestEveryByteChanged replaces every byte of a document by each of some bytes. If the result is accepted, it is JSON for
// jsontext too; otherwise it has a fault.
func TestEveryByteChanged(t *testing.T) {
	body := []byte(whole)
	for at := range body {
		was := body[at]
		for _, c := range []byte("\"\\{}[]:, \n0a\x00\x1f\x7f\x80\xc3\xe2\xff") {
			body[at] = c
			q, err := readWhole(body)
			if strict := jsontext.Value(body).IsValid(); err == nil && !strict {
				t.Fatalf("%q at %d is taken", c, at)
			} else if err == nil {
				Judge(nil, nil, &q)
			} else if fault := new(strictjson.Error); errors.As(err, &fault) && strict && !limits[fault.Fault] {
				t.Fatalf("%q at %d is refused: %v", c, at, err)
			}
		}
		body[at] = was
	}
}

// TestSpaceMeansNothing widens and removes the white space between all tokens: the request stays the same.
func TestSpaceMeansNothing(t *testing.T) {
	want, err := readWhole([]byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	compact, wide := jsontext.Value(whole), jsontext.Value(whole)
	if err := compact.Compact(jsontext.PreserveRawStrings(true)); err != nil {
		t.Fatal(err)
	}
	if err := wide.Indent(jsontext.WithIndent(" \t  "), jsontext.PreserveRawStrings(true), jsontext.SpaceAfterComma(true)); err != nil {
		t.Fatal(err)
	}
	for _, body := range [][]byte{compact, wide, []byte(" \r\n\t" + whole + "\r\n\t ")} {
		got, err := readWhole(body)
		if err != nil {
			t.Fatal(err)
		}
		// Tools are measured as written, so their white space counts.
		ignore := cmpopts.IgnoreFields(Request{}, "facts", "TextLength")
		if diff := cmp.Diff(want, got, ignore); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(Judge(nil, nil, &want), Judge(nil, nil, &got)); diff != "" {
			t.Error(diff)
		}
	}
}

// TestBodyIsNotTouched: reading and judging change no byte of the body.
func TestBodyIsNotTouched(t *testing.T) {
	body := []byte(whole)
	q, err := readWhole(body)
	if err != nil {
		t.Fatal(err)
	}
	Judge(nil, nil, &q)
	if !bytes.Equal(body, []byte(whole)) {
		t.Error("the body has changed")
	}
}

// TestRandomWordsOfJSON strings tokens together at random, which is rarely JSON: both parsers agree.
func TestRandomWordsOfJSON(t *testing.T) {
	words := []string{
		"{", "}", "[", "]", ":", ",", `"model"`, `"parameters"`, `"n"`, `"N"`, `"a"`, "1", "-0", "true", "null", " ", `"\u006e"`,
		`{"parameters":{"n":1}}`, `"input"`, `"messages"`, `[{"role":"user"}]`, "\n", `""`,
	}
	random := rand.New(rand.NewPCG(1, 2))
	taken, documents := 0, 200_000
	if testing.Short() {
		documents /= 50
	}
	for range documents {
		var b strings.Builder
		b.WriteString(`{`)
		for range random.IntN(9) {
			b.WriteString(words[random.IntN(len(words))])
		}
		b.WriteString(`}`)
		_, err := readWhole([]byte(b.String()))
		strict := jsontext.Value(b.String()).IsValid()
		var fault *strictjson.Error
		switch {
		case err == nil && !strict:
			t.Fatalf("%s is taken", b.String())
		case errors.As(err, &fault) && strict && !limits[fault.Fault]:
			t.Fatalf("%s is refused: %v", b.String(), err)
		case err == nil:
			taken++
		}
	}
	if taken < documents/2000 {
		t.Errorf("%d documents were taken: the comparison says little", taken)
	}
}
