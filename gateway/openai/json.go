package openai

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/policy/strictjson"
)

// readAnswer returns the object that an answer is. Invalid characters in its strings are replaced, because an answer that is
// paid for must not fail for them.
func readAnswer(answer []byte) (object []byte, ok bool) {
	r := strictjson.NewReader(answer)
	if object = r.Value(); r.End() {
		return object, kind(object) == '{'
	}
	return repair(nil, answer)
}

// repair appends an answer with its invalid characters replaced. It reports false if the answer is no object.
func repair(dst, answer []byte) ([]byte, bool) {
	repaired, err := jsontext.AppendFormat(dst, answer, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	return repaired, err == nil && len(repaired) > len(dst) && repaired[len(dst)] == '{'
}

// object is a reader inside of an object of a document that was read. Anything else has no members.
func object(value []byte) strictjson.Reader { return opened(value, '{') }

// array is a reader inside of an array. Anything else has no elements.
func array(value []byte) strictjson.Reader { return opened(value, '[') }

func opened(value []byte, kind byte) strictjson.Reader {
	r := strictjson.NewCheckedReader(value)
	r.Open(kind)
	return r
}

// find returns the value of a member; nil if the object has no such member.
func find(value []byte, name string) []byte {
	r := strictjson.NewCheckedReader(value)
	return member(&r, name)
}

// member steps over a value and returns the value of its member.
func member(r *strictjson.Reader, name string) (found []byte) {
	for r.Open('{'); r.Member(); {
		if string(r.Name) == name {
			found = r.Value()
		}
	}
	return found
}

// length counts the elements of an array.
func length(value []byte) (n int) {
	for r := array(value); r.Element(); n++ {
		r.Skip()
	}
	return n
}

// kind is the first byte of a value, which shows its type; 0 if there is no value.
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

// inside is the raw text of a string, without its quotes; nil for other values.
func inside(value []byte) []byte {
	if !isString(value) {
		return nil
	}
	return value[1 : len(value)-1]
}

// decoded decodes a string. Without escapes, the result is part of the value.
func decoded(value []byte) []byte {
	raw := inside(value)
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	return strictjson.Unescape(make([]byte, 0, len(raw)), raw, len(raw))
}

// text decodes a string. For an empty one and for other values it returns otherwise.
func text(value []byte, otherwise string) string {
	if !isString(value) || len(value) == 2 {
		return otherwise
	}
	return string(decoded(value))
}

// isWord reports whether a value is a string that spells the word.
func isWord(value []byte, word string) bool {
	return isString(value) && len(value) <= mostEscape*len(word)+2 && string(decoded(value)) == word
}

// isZero reports whether a value is a number equal to zero, in any spelling.
func isZero(value []byte) bool {
	if len(value) > mostWord {
		return false
	}
	digits, _, _ := strings.Cut(strings.ToLower(string(value)), "e")
	return digits != "" && strings.Trim(digits, "-.0") == ""
}

// isEmpty reports whether a value is an empty object or array.
func isEmpty(value []byte) bool {
	switch kind(value) {
	case '{', '[':
		return len(bytes.TrimLeft(value[1:], " \t\r\n")) == 1
	}
	return false
}

// isTextAlone reports whether a value is a list with no other element than "text".
func isTextAlone(value []byte) bool {
	for r := array(value); r.Element(); {
		if !isWord(r.Value(), "text") {
			return false
		}
	}
	return kind(value) == '[' && !isEmpty(value)
}

// boolean reads true or false.
func boolean(name string, value []byte) (bool, error) {
	if k := kind(value); k != 't' && k != 'f' {
		return false, badRequest(name, "%s: true or false is needed.", name)
	}
	return kind(value) == 't', nil
}

// quoted appends a text as a JSON string. Invalid UTF-8 becomes U+FFFD.
func quoted[T ~string | ~[]byte](dst []byte, text T) []byte {
	dst, _ = jsontext.AppendQuote(dst, text)
	return dst
}

// named appends the name of an object's next member.
func named[T ~string | ~[]byte](dst []byte, name T) []byte {
	return append(quoted(next(dst), name), ':')
}

// next appends the comma before an object's next member or an array's next element, unless that is the first.
func next(dst []byte) []byte {
	if last := dst[len(dst)-1]; last == '{' || last == '[' {
		return dst
	}
	return append(dst, ',')
}

// appendText appends a member with a raw text.
func appendText(dst []byte, name string, text []byte) []byte {
	dst = append(append(append(next(dst), '"'), name...), `":"`...)
	return append(append(dst, text...), '"')
}

func rawOrNull(dst, value []byte) []byte {
	if value == nil {
		value = []byte("null")
	}
	return append(dst, value...)
}
