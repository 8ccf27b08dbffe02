// Package rawjson reads and writes JSON values as they were received: with their escapes and their digits. A value that is nil is
// missing. It knows nothing of what the values mean.
package rawjson

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/policy/strictjson"
)

const (
	mostEscape = 6   // bytes that a byte of text takes in JSON at most
	mostNumber = 256 // bytes of a number whose value counts
)

// Object returns a reader inside an object of a document that was read before. Any other value has no members.
func Object(value []byte) strictjson.Reader { return opened(value, '{') }

// Array returns a reader inside an array. Any other value has no elements.
func Array(value []byte) strictjson.Reader { return opened(value, '[') }

func opened(value []byte, kind byte) strictjson.Reader {
	r := strictjson.NewCheckedReader(value)
	r.Open(kind)
	return r
}

// Find returns the value of a member; nil if the object has no such member.
func Find(value []byte, name string) []byte {
	r := strictjson.NewCheckedReader(value)
	return Member(&r, name)
}

// Member reads a value to its end, and returns the value of its member.
func Member(r *strictjson.Reader, name string) (found []byte) {
	for r.Open('{'); r.Member(); {
		if string(r.Name) == name {
			found = r.Value()
		}
	}
	return found
}

// Length counts the elements of an array.
func Length(value []byte) (n int) {
	for r := Array(value); r.Element(); n++ {
		r.Skip()
	}
	return n
}

// Kind is the first byte of a value, which shows its type; 0 if there is no value.
func Kind(value []byte) byte {
	if len(value) == 0 {
		return 0
	}
	return value[0]
}

// IsString reports whether a value is a string.
func IsString(value []byte) bool { return Kind(value) == '"' }

// Absent reports whether a value is missing or null.
func Absent(value []byte) bool { return len(value) == 0 || value[0] == 'n' }

// Inside is the raw text of a string, without its quotes; nil for other values.
func Inside(value []byte) []byte {
	if !IsString(value) {
		return nil
	}
	return value[1 : len(value)-1]
}

// Decoded decodes a string. Without escapes, the result is part of the value.
func Decoded(value []byte) []byte {
	raw := Inside(value)
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	return strictjson.Unescape(make([]byte, 0, len(raw)), raw, len(raw))
}

// Text decodes a string. For an empty string and for other values it returns otherwise.
func Text(value []byte, otherwise string) string {
	if !IsString(value) || len(value) == 2 {
		return otherwise
	}
	return string(Decoded(value))
}

// IsWord reports whether a value is a string that spells the word.
func IsWord(value []byte, word string) bool {
	return IsString(value) && len(value) <= mostEscape*len(word)+2 && string(Decoded(value)) == word
}

// IsZero reports whether a value is a number equal to zero, in any spelling.
func IsZero(value []byte) bool {
	if len(value) > mostNumber {
		return false
	}
	digits, _, _ := strings.Cut(strings.ToLower(string(value)), "e")
	return digits != "" && strings.Trim(digits, "-.0") == ""
}

// IsEmpty reports whether a value is an empty object or array.
func IsEmpty(value []byte) bool {
	switch Kind(value) {
	case '{', '[':
		return len(bytes.TrimLeft(value[1:], " \t\r\n")) == 1
	}
	return false
}

// Quote appends a text as a JSON string. Invalid UTF-8 becomes U+FFFD.
func Quote[T ~string | ~[]byte](dst []byte, text T) []byte {
	dst, _ = jsontext.AppendQuote(dst, text)
	return dst
}

// Name appends the name of an object's next member.
func Name[T ~string | ~[]byte](dst []byte, name T) []byte {
	return append(Quote(Next(dst), name), ':')
}

// Next appends the comma before an object's next member or an array's next element, unless that is the first.
func Next(dst []byte) []byte {
	if last := dst[len(dst)-1]; last == '{' || last == '[' {
		return dst
	}
	return append(dst, ',')
}

// AppendText appends a member with a raw text.
func AppendText[T ~string | ~[]byte](dst []byte, name string, text T) []byte {
	dst = append(append(append(Next(dst), '"'), name...), `":"`...)
	return append(append(dst, text...), '"')
}

// AppendValue appends a member with a raw value.
func AppendValue(dst []byte, name string, value []byte) []byte {
	return append(append(append(append(Next(dst), '"'), name...), `":`...), value...)
}

// AppendOr appends a value, or another for none. It leaves out line ends, because an event of a stream has only one line for its data.
func AppendOr(dst, value []byte, otherwise string) []byte {
	if value == nil {
		return append(dst, otherwise...)
	}
	for end := bytes.IndexAny(value, "\r\n"); end >= 0; end = bytes.IndexAny(value, "\r\n") { // no string has one
		dst, value = append(dst, value[:end]...), value[end+1:]
	}
	return append(dst, value...)
}

// AppendOrNull appends a value as of [AppendOr], or null for none.
func AppendOrNull(dst, value []byte) []byte { return AppendOr(dst, value, "null") }
