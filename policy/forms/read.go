package forms

import (
	"cmp"
	"maps"
	"strconv"
	"sync"

	"sluice/policy"
	"sluice/policy/strictjson"
)

// Fault is an invalid field of a document that is otherwise readable.
type Fault struct{ Field, Text string }

func (f *Fault) Error() string { return f.Field + ": " + f.Text }

// ErrModel is the error of a document that names no model.
var ErrModel = &Fault{"model", "the name of a model is missing or not valid; allowed: a string of 1 to 128 bytes"}

// ErrBackground refuses a background request: only the answer to a later request would tell its usage.
var ErrBackground = &Fault{"background", "allowed only false: what it used would not be known"}

// The members that are read of a body that is not in the service's own form.
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

// common are the members of all these forms. Pictures in a fieldText do not count: see [strictjson.Reader.SkipCounting].
var common = map[string]strictjson.Field{"model": fieldModel, "stream": fieldStream, "tools": fieldText}

var places = map[Form]*strictjson.Names{
	OpenAI: named(map[string]strictjson.Field{
		"messages": fieldText, "prompt": fieldText, "input": fieldText, "functions": fieldText, "response_format": fieldText,
		"max_tokens": fieldMost, "max_completion_tokens": fieldMost, "n": fieldAnswers, "best_of": fieldAnswers,
	}),
	Responses: named(map[string]strictjson.Field{
		"input": fieldText, "instructions": fieldText, "text": fieldText,
		"max_output_tokens": fieldMost, "background": fieldBackground,
	}),
	Messages: named(map[string]strictjson.Field{"messages": fieldText, "system": fieldText, "max_tokens": fieldMost}),
}

func named(own map[string]strictjson.Field) *strictjson.Names {
	maps.Copy(own, common)
	return strictjson.NewNames(own)
}

var readers = sync.Pool{New: func() any { return new(strictjson.Reader) }}

// Read reads a body in a governed form: its model and what it may cost. call has what the headers say, for the
// service's own form, and bounds are those of [Embeddings]. The error is a [*strictjson.Error] if the body is not one
// strict JSON object, or a [*Fault].
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
			background = r.Shape() != strictjson.False && r.Shape() != strictjson.Null // some parsers take other values as true
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

// The longest name of a model in bytes, as in the teams file, and the longest that is written with escapes.
const (
	mostName    = 128
	mostWritten = 6 * mostName
)

// nameOf returns a string's content as a model's name; empty if it is too long.
func nameOf(t strictjson.Text) string {
	switch {
	case len(t.Raw) > mostWritten:
		return ""
	case t.Escaped:
		return string(strictjson.Unescape(nil, t.Raw, len(t.Raw)))
	}
	return string(t.Raw)
}
