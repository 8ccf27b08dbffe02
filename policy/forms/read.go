package forms

import (
	"cmp"
	"strconv"
	"sync"

	"sluice/policy"
	"sluice/policy/strictjson"
)

// Fault is what is wrong with a field of a document that can be read otherwise.
type Fault struct{ Field, Text string }

func (f *Fault) Error() string { return f.Field + ": " + f.Text }

// ErrModel is the error of a document that names no model.
var ErrModel = &Fault{"model", "the name of a model is missing or not valid; allowed: a string of 1 to 128 bytes"}

// ErrBackground is the error of a request whose answer has no usage: what it used would be in the answer to another one.
var ErrBackground = &Fault{"background", "allowed only false: what it used would not be known"}

// What is read of a body that is not in the service's own form.
const (
	fieldModel strictjson.Field = iota + 1
	fieldText
	fieldMost
	fieldAnswers
	fieldStream
	fieldBackground
	fieldInput
	fieldTexts
)

// text are the members whose strings the model reads. Pictures in them do not count: see [strictjson.Reader.SkipCounting].
var text = map[string]strictjson.Field{"model": fieldModel, "stream": fieldStream, "tools": fieldText}

var places = map[Form]*strictjson.Names{
	OpenAI: named(map[string]strictjson.Field{
		"messages": fieldText, "prompt": fieldText, "input": fieldText, "functions": fieldText, "response_format": fieldText,
		"max_tokens": fieldMost, "max_completion_tokens": fieldMost, "n": fieldAnswers, "best_of": fieldAnswers,
	}),
	Responses: named(map[string]strictjson.Field{"input": fieldText, "instructions": fieldText, "text": fieldText, "max_output_tokens": fieldMost, "background": fieldBackground}),
	Messages:  named(map[string]strictjson.Field{"messages": fieldText, "system": fieldText, "max_tokens": fieldMost}),
}

func named(own map[string]strictjson.Field) *strictjson.Names {
	for name, field := range text {
		own[name] = field
	}
	return strictjson.NewNames(own)
}

var readers = sync.Pool{New: func() any { return new(strictjson.Reader) }}

// Read reads a body in a governed form: its model and what it may cost. call has what the headers say, for the service's own form, and bounds
// are those of [Embeddings]. The error is a [*strictjson.Error] if the body is not one strict JSON object, or a [*Fault].
func Read(form Form, call policy.Call, bounds Bounds, body []byte) (q policy.Request, err error) {
	switch form {
	case Embeddings:
		return readEmbeddings(bounds, body)
	case Native:
		q, err = policy.Read(&policy.Families{}, call, body)
		q.Release()
	default:
		q, err = read(places[form], body)
	}
	q.Kind = policy.KindOther
	return q, cmp.Or(err, checkModel(&q))
}

func checkModel(q *policy.Request) error {
	if q.Model == "" || len(q.Model) > mostName {
		return ErrModel
	}
	return nil
}

func read(known *strictjson.Names, body []byte) (q policy.Request, err error) {
	r := readers.Get().(*strictjson.Reader)
	defer func() {
		r.Reset(nil)
		readers.Put(r)
	}()
	r.Reset(body)
	var count strictjson.Count
	background := false
	q.N = 1
	for r.Document(known); r.Member(); {
		switch r.Field {
		case fieldModel:
			if r.Kind() == '"' {
				q.Model = nameOf(r.Identifier())
			}
		case fieldText:
			r.SkipCounting(&count)
		case fieldMost:
			if n, ok := whole(r); ok && (!q.MaxTokens.Set || n > q.MaxTokens.Value) {
				q.MaxTokens = policy.Maybe[int64]{Value: n, Set: true}
			}
		case fieldAnswers:
			if n, ok := whole(r); ok && n > 0 {
				q.N = max(q.N, int(min(n, mostAnswers)))
			}
		case fieldBackground:
			background = r.Shape() != strictjson.False && r.Shape() != strictjson.Null // some readers take other values for true
		case fieldStream:
			q.Stream = r.Shape() == strictjson.True
		}
	}
	if !r.End() {
		return q, r.Err()
	}
	if background {
		return q, ErrBackground
	}
	q.TextLength = policy.Tokens(count)
	return q, nil
}

// mostAnswers bounds n, so that no estimate overflows.
const mostAnswers = 1 << 20

// whole reads a whole number from 0 on; ok is false for any other value.
func whole(r *strictjson.Reader) (n int64, ok bool) {
	if r.Shape() != strictjson.Number {
		return 0, false
	}
	n, err := strconv.ParseInt(string(r.Number()), 10, 64)
	return n, err == nil && n >= 0
}

// mostName is how many bytes a model's name may have, as in the teams file, and mostWritten with escapes.
const (
	mostName    = 128
	mostWritten = 6 * mostName
)

// nameOf is the name in a string; empty if it is too long for one.
func nameOf(t strictjson.Text) string {
	switch {
	case len(t.Raw) > mostWritten:
		return ""
	case t.Escaped:
		return string(strictjson.Unescape(nil, t.Raw, len(t.Raw)))
	}
	return string(t.Raw)
}
