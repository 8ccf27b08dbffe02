package responses

import (
	"bytes"
	"regexp"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"sluice/gateway/conversation"
	"sluice/gateway/rawjson"
	"sluice/policy/strictjson"
)

// opening is how the arguments of the function begin that stands for a custom tool: with the input, a string.
var opening = regexp.MustCompile(`^[ \t\r\n]*\{[ \t\r\n]*"input"[ \t\r\n]*:[ \t\r\n]*"`)

// longestOpening bounds how many bytes it has.
const longestOpening = 64

// input reads the input of a custom tool from the arguments of its function, as they arrive.
type input struct {
	opened bool   // the arguments have the form
	ended  bool   // nothing more belongs to the input
	rest   []byte // decoded arguments that are not read yet: the opening, or part of an escape
}

// read appends the next part of the input to dst, a raw text. arguments is the next piece of the arguments, which are JSON in a raw text.
func (in *input) read(dst, arguments []byte) []byte {
	if in.ended {
		return dst
	}
	text := strictjson.Unescape(in.rest, arguments, len(in.rest)+len(arguments))
	if !in.opened {
		begin := opening.Find(text)
		in.opened, in.ended = begin != nil, begin == nil && len(text) > longestOpening
		text = text[len(begin):]
	}
	for in.opened && !in.ended && len(text) > 0 {
		size, raw := next(text)
		if size == 0 {
			break
		}
		in.ended = raw == nil
		dst, text = append(dst, raw...), text[size:]
	}
	in.rest = append(in.rest[:0], text...)
	return dst
}

// replaced is half of a character, as a raw text.
var replaced = []byte(`\ufffd`)

// next reads the next characters of a JSON string: their size, and their raw text, nil for the end of the string. size is 0 if more must be
// known. What JSON does not allow there becomes what the model likely meant: what came before it has been sent.
func next(text []byte) (size int, raw []byte) {
	special := func(c rune) bool { return c < ' ' || c == '"' || c == '\\' }
	switch c := text[0]; {
	case c == '"':
		return 1, nil
	case c < ' ':
		return 1, rawjson.Inside(rawjson.Quote(nil, text[:1]))
	case c != '\\':
		if size = bytes.IndexFunc(text, special); size < 0 {
			size = len(text)
		}
		return size, text[:size]
	case len(text) == 1:
		return 0, nil
	case text[1] == 'u':
		return nextUnits(text)
	case strictjson.SimpleEscape(text[1]) >= 0:
		return 2, text[:2]
	}
	return 1, []byte(`\\`)
}

// nextUnits does the same with an escape of one UTF-16 unit or two.
func nextUnits(text []byte) (size int, raw []byte) {
	first, size := unit(text)
	switch {
	case size == 0:
		return 0, nil
	case first < 0:
		return 1, []byte(`\\`)
	case !utf16.IsSurrogate(first):
		return size, text[:size]
	}
	second, more := unit(text[size:])
	switch {
	case more == 0:
		return 0, nil
	case utf16.DecodeRune(first, second) == utf8.RuneError:
		return size, replaced
	}
	return size + more, text[:size+more]
}

// unit reads an escape such as \u00e9. It is -1 if the text begins with another one or with none; size is 0 if more must be known.
func unit(text []byte) (r rune, size int) {
	const escape = `\u`
	if n := min(len(text), len(escape)); string(text[:n]) != escape[:n] {
		return -1, 1
	}
	const whole = len(escape) + 4
	digits := text[min(len(escape), len(text)):min(whole, len(text))]
	n, err := strconv.ParseUint("0"+string(digits), 16, 32)
	switch {
	case err != nil:
		return -1, 1
	case len(text) < whole:
		return 0, 0
	}
	return rune(n), whole
}

// extend takes the next piece of a call's arguments, and returns the text that the client gets of it now. The text of an item is the input
// of a custom tool once its arguments have that form.
func (it *item) extend(piece []byte) (fresh []byte) {
	if it.kind != customCall {
		it.text = append(it.text, piece...)
		return piece
	}
	before := it.input.opened
	fresh = it.input.read(nil, piece)
	switch {
	case !it.input.opened:
		it.text = append(it.text, piece...)
		return nil
	case !before:
		it.text = it.text[:0]
	}
	it.text = append(it.text, fresh...)
	return fresh
}

// complete reads the input of a custom tool from the whole arguments, if it was not read before: it may follow other members. Arguments of
// another form stay as they are.
func (it *item) complete() {
	if it.kind != customCall || it.input.opened {
		return
	}
	called := conversation.Call{Arguments: it.text}
	if input := rawjson.Find(called.Input(), "input"); rawjson.IsString(input) {
		it.text = rawjson.Inside(input)
	}
}
