package forms

import (
	"fmt"

	"sluice/policy"
	"sluice/policy/strictjson"
)

// Bounds bound a request for embeddings; 0: no bound.
type Bounds struct {
	Texts  int   // their number
	Tokens int64 // of one text, as estimated
}

// The members that are read of a body in the form [Embeddings].
var (
	placeEmbeddings = strictjson.NewNames(map[string]strictjson.Field{"model": fieldModel, "input": fieldInput})
	placeTexts      = strictjson.NewNames(map[string]strictjson.Field{"texts": fieldTexts})
)

// readEmbeddings is [Read] for the form [Embeddings].
func readEmbeddings(bounds Bounds, body []byte) (q policy.Request, err error) {
	r := readers.Get().(*strictjson.Reader)
	defer func() {
		r.Reset(nil)
		readers.Put(r)
	}()
	r.Reset(body)
	q.Kind, q.N = policy.KindEmbeddings, 1
	texts := reading{bounds: bounds}
	for r.Document(placeEmbeddings); r.Member(); {
		switch {
		case r.Field == fieldInput:
			for r.Object(placeTexts); r.Member(); {
				texts.read(r)
			}
		case r.Kind() == '"':
			q.Model = nameOf(r.Identifier())
		}
	}
	q.TextLength = texts.tokens
	switch {
	case !r.End():
		return q, r.Err()
	case texts.fault != nil:
		return q, texts.fault
	case texts.count == 0:
		return q, &Fault{"input.texts", "given none, allowed an array of at least one text"}
	}
	return q, checkModel(&q)
}

// reading collects what was read of the texts so far.
type reading struct {
	bounds Bounds
	count  int
	tokens int64
	fault  *Fault // the first; nil: none
}

func (t *reading) read(r *strictjson.Reader) {
	for r.Open('['); r.Element(); t.count++ {
		place := fmt.Sprintf("input.texts[%d]", t.count)
		if r.Kind() != '"' {
			t.refuse(place, "given %s, allowed a string", r.Shape())
			continue
		}
		tokens := policy.Tokens(r.Text().Count)
		if t.tokens += tokens; t.bounds.Tokens > 0 && tokens > t.bounds.Tokens {
			t.refuse(place, "given about %d tokens, allowed at most %d", tokens, t.bounds.Tokens)
		}
	}
	if t.bounds.Texts > 0 && t.count > t.bounds.Texts {
		t.refuse("input.texts", "given %d, allowed at most %d texts", t.count, t.bounds.Texts)
	}
}

func (t *reading) refuse(field, format string, args ...any) {
	if t.fault == nil {
		t.fault = &Fault{field, fmt.Sprintf(format, args...)}
	}
}
