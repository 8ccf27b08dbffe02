package openai

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// A walker walks over the members of an object or the elements of an array, which MUST be valid JSON. It does not allocate,
// except for names with escapes.
type walker struct {
	rest  []byte
	name  []byte // of the member, escapes resolved
	value []byte // raw
}

// walkObject starts before the first member of an object. Anything else has none.
func walkObject(value []byte) walker {
	if kind(value) != '{' {
		return walker{}
	}
	return walker{rest: value[1:]}
}

// walkArray starts before the first element of an array. Anything else has none.
func walkArray(value []byte) walker {
	if kind(value) != '[' {
		return walker{}
	}
	return walker{rest: value[1:]}
}

// find returns the value of a member; nil if the object has no such member.
func find(object []byte, name string) (value []byte) {
	for w := walkObject(object); w.member(); {
		if string(w.name) == name {
			value = w.value
		}
	}
	return value
}

// member steps to the next member of an object and reports whether there is one.
func (w *walker) member() bool {
	if !w.more() {
		return false
	}
	end := stringEnd(w.rest)
	if w.name = inside(w.rest[:end]); len(w.name) <= mostEscape*mostWord { // else it is no name that is known, with or without escapes
		w.name = decoded(w.rest[:end])
	}
	w.rest = trimmed(w.rest[end:])[1:] // the colon
	w.take()
	return true
}

// element steps to the next element of an array and reports whether there is one.
func (w *walker) element() bool {
	if !w.more() {
		return false
	}
	w.take()
	return true
}

func (w *walker) more() bool {
	w.rest = trimmed(w.rest)
	if len(w.rest) == 0 || w.rest[0] == '}' || w.rest[0] == ']' {
		return false
	}
	if w.rest[0] == ',' {
		w.rest = trimmed(w.rest[1:])
	}
	return true
}

func (w *walker) take() {
	w.rest = trimmed(w.rest)
	end := valueEnd(w.rest)
	w.value, w.rest = w.rest[:end:end], w.rest[end:]
}

// trimmed drops leading white space.
func trimmed(p []byte) []byte {
	for len(p) > 0 && (p[0] == ' ' || p[0] == '\n' || p[0] == '\r' || p[0] == '\t') {
		p = p[1:]
	}
	return p
}

// valueEnd is the length of the value at the start of p.
func valueEnd(p []byte) int {
	switch p[0] {
	case '"':
		return stringEnd(p)
	case '{', '[':
		return nestedEnd(p)
	}
	for i, c := range p {
		switch c {
		case ',', '}', ']', ' ', '\n', '\r', '\t':
			return i
		}
	}
	return len(p)
}

func nestedEnd(p []byte) int {
	depth := 0
	for i := 0; ; i++ {
		switch p[i] {
		case '"':
			i += stringEnd(p[i:]) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
}

// stringEnd is the length of the string at the start of p, with its quotes. It searches for quotes only, because a string may be
// an image of many megabytes.
func stringEnd(p []byte) int {
	for i := 1; ; i++ {
		i += bytes.IndexByte(p[i:], '"')
		escapes := 0
		for p[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i + 1
		}
	}
}

// kind is the first byte of a value, which tells its type; 0 if there is no value.
func kind(value []byte) byte {
	if len(value) == 0 {
		return 0
	}
	return value[0]
}

// isString reports whether a value is a string.
func isString(value []byte) bool { return kind(value) == '"' }

// absent reports whether a value is missing or null.
func absent(value []byte) bool { return len(value) == 0 || value[0] == 'n' }

// inside is the raw text of a string, without its quotes.
func inside(value []byte) []byte { return value[1 : len(value)-1] }

// decoded decodes a string. Without escapes, the result is part of the value.
func decoded(value []byte) []byte {
	if bytes.IndexByte(value, '\\') < 0 {
		return inside(value)
	}
	text, _ := jsontext.AppendUnquote(nil, value) // half of a surrogate pair becomes U+FFFD
	return text
}

// quoted appends a text as a JSON string. Invalid UTF-8 becomes U+FFFD.
func quoted[T ~string | ~[]byte](dst []byte, text T) []byte {
	dst, _ = jsontext.AppendQuote(dst, text)
	return dst
}
