package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"sluice/policy/strictjson"
)

// FuzzPolicyJSON compares the strict pass with jsontext, and what it accepts with four parsers that treat duplicates and
// case differently: they must agree on every member that policy uses.
func FuzzPolicyJSON(f *testing.F) {
	for _, doc := range documents(f) {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, body []byte) { differ(t, body) })
}

// TestParsersAgree is the fuzz target over the known documents: the JSON rows of the abuse list and the material of
// parsers' test suites.
func TestParsersAgree(t *testing.T) {
	accepted := 0
	for _, doc := range documents(t) {
		if differ(t, []byte(doc)) {
			accepted++
		}
	}
	if accepted < 20 {
		t.Errorf("only %d documents were accepted: the comparison says little", accepted)
	}
}

// documents are the documents of testdata/json.txt, one to a line, written as Go strings where quoted.
func documents(t testing.TB) []string {
	data, err := os.ReadFile("testdata/json.txt")
	if err != nil {
		t.Fatal(err)
	}
	var docs []string
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "#") || line == "" {
			continue
		}
		docs = append(docs, strings.NewReplacer(`<00>`, "\x00", `<1f>`, "\x1f", `<ff>`, "\xff", `<c0>`, "\xc0", `<80>`, "\x80",
			`<ed>`, "\xed", `<a0>`, "\xa0", `<bom>`, "\ufeff", `<nl>`, "\n", `<cr>`, "\r", `<tab>`, "\t").Replace(line))
	}
	return docs
}

// limits are the faults of documents that other parsers accept.
var limits = map[strictjson.Fault]bool{
	strictjson.FaultNotObject: true, strictjson.FaultCase: true, strictjson.FaultNUL: true, strictjson.FaultDepth: true,
	strictjson.FaultMembers: true, strictjson.FaultLongName: true, strictjson.FaultLongNumber: true,
}

// differ compares the strict pass with the other parsers and reports whether it accepted the body.
func differ(t *testing.T, body []byte) bool {
	t.Helper()
	f := Families{EditImage: []Pattern{"gen2.6-image*"}}
	q, err := Read(&f, Call{Endpoint: EndpointImage}, body)
	strict := jsontext.Value(body).IsValid()
	var fault *strictjson.Error
	switch {
	case err != nil && !errors.As(err, &fault):
		t.Fatalf("%q: an error of another type: %v", body, err)
	case err != nil:
		if strict && !limits[fault.Fault] {
			t.Errorf("%q: refused with %v, jsontext takes it", body, err)
		}
		if len(fault.Input) > strictjson.MaxEcho || fault.Offset < 0 || fault.Offset > len(body) {
			t.Errorf("%q: the fault %+v is out of bounds", body, fault)
		}
		return false
	case !strict:
		t.Errorf("%q: accepted, jsontext refuses it", body)
		return true
	}
	Judge(nil, nil, &q)
	want := q.view()
	for name, parse := range map[string]func([]byte) (map[string]any, error){
		"last wins": lastWins, "json v2": v2, "first wins": firstWins, "struct": caseBlind,
	} {
		m, err := parse(body)
		if err != nil {
			t.Errorf("%q: accepted, but %s: %v", body, name, err)
			continue
		}
		if diff := cmp.Diff(want, viewOf(m)); diff != "" {
			t.Errorf("%q: policy and %s read it differently:\n%s", body, name, diff)
		}
	}
	return true
}

// usedParameters are the parameters that decide a request's kind and cost.
var usedParameters = map[string]field{
	"n": fieldN, "max_images": fieldMaxImages, "size": fieldSize, "stream": fieldStream, "seed": fieldSeed,
	"enable_interleave": fieldEnableInterleave, "max_tokens": fieldMaxTokens, "tools": fieldTools,
	"max_completion_tokens": fieldMaxCompletionTokens, "enable_thinking": fieldEnableThinking,
}

// view is the result of policy's reader, in a form to which other parsers' results can be brought.
func (q *Request) view() map[string]string {
	view := map[string]string{
		"model":    q.facts.values[fieldModel].plainly(),
		"messages": fmt.Sprint(q.Messages),
		"roles":    fmt.Sprint(q.Messages - int(q.facts.marks[markMessage].count) - int(q.facts.marks[markRole].count)),
	}
	for name, f := range usedParameters {
		view[name] = q.facts.values[f].plainly()
	}
	return view
}

func (v value) plainly() string {
	switch v.shape {
	case strictjson.Number, strictjson.String:
		return fmt.Sprint(int(v.shape), v.text)
	case strictjson.Absent:
		return strictjson.Null.String()
	}
	return v.shape.String()
}

// viewOf brings a parser's map to the form of view.
func viewOf(m map[string]any) map[string]string {
	view := map[string]string{"model": valueOf(m["model"]).plainly()}
	input, _ := m["input"].(map[string]any)
	messages, _ := input["messages"].([]any)
	roles := 0
	for _, message := range messages {
		object, _ := message.(map[string]any)
		if role, ok := object["role"].(string); ok && slices.Contains([]string{"system", "user", "assistant", "tool"}, role) {
			roles++
		}
	}
	view["messages"], view["roles"] = fmt.Sprint(len(messages)), fmt.Sprint(roles)
	parameters, _ := m["parameters"].(map[string]any)
	for name := range usedParameters {
		view[name] = valueOf(parameters[name]).plainly()
	}
	return view
}

func valueOf(v any) value {
	switch v := v.(type) {
	case nil:
		return value{shape: strictjson.Null}
	case bool:
		if v {
			return value{shape: strictjson.True}
		}
		return value{shape: strictjson.False}
	case json.Number:
		return value{shape: strictjson.Number, text: v.String()}
	case string:
		if len(v) > maxKept { // policy keeps no more of it
			v = kept([]byte(v), true)
		}
		return value{shape: strictjson.String, text: v}
	case []any:
		return value{shape: strictjson.Array}
	}
	return value{shape: strictjson.Object}
}

func lastWins(body []byte) (m map[string]any, err error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	err = dec.Decode(&m)
	return m, err
}

func v2(body []byte) (m map[string]any, err error) {
	numbers := jsonv2.UnmarshalFromFunc(func(dec *jsontext.Decoder, v *any) error {
		if dec.PeekKind() != '0' {
			return errors.ErrUnsupported
		}
		literal, err := dec.ReadValue()
		*v = json.Number(literal)
		return err
	})
	err = jsonv2.Unmarshal(body, &m, jsonv2.WithUnmarshalers(numbers))
	return m, err
}

// caseBlind reads into structs, as most Go programs do; member names match in any case.
func caseBlind(body []byte) (map[string]any, error) {
	var s struct {
		Model             any
		Input, Parameters json.RawMessage
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if err := dec.Decode(&s); err != nil {
		return nil, err
	}
	m := map[string]any{"model": s.Model}
	m["input"], m["parameters"] = folded(s.Input), folded(s.Parameters)
	return m, nil
}

// folded reads an object whose names are folded to lower case, so that variants overwrite one another.
func folded(raw json.RawMessage) map[string]any {
	exact, _ := lastWins(raw)
	m := map[string]any{}
	for name, v := range exact {
		for known := range usedParameters {
			if strings.EqualFold(name, known) {
				name = known
			}
		}
		if strings.EqualFold(name, "messages") {
			name = "messages"
		}
		m[name] = v
	}
	return m
}

// firstWins reads the document token by token; of two members with one name it keeps the first.
func firstWins(body []byte) (map[string]any, error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	v, err := firstValue(dec)
	m, _ := v.(map[string]any)
	return m, err
}

func firstValue(dec *json.Decoder) (any, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('['):
		list := []any{}
		for dec.More() {
			v, err := firstValue(dec)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = dec.Token()
		return list, err
	case json.Delim('{'):
		m := map[string]any{}
		for dec.More() {
			name, err := dec.Token()
			if err != nil {
				return nil, err
			}
			v, err := firstValue(dec)
			if err != nil {
				return nil, err
			}
			if _, seen := m[name.(string)]; !seen {
				m[name.(string)] = v
			}
		}
		_, err = dec.Token()
		return m, err
	}
	return token, nil
}
