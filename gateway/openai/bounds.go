package openai

import (
	"errors"
	"unicode/utf8"
)

// Bounds of the texts in a request. A text grows when it is written as JSON, up to six times, so it is bounded before that.
const (
	mostPrompt = 32_000  // characters of a prompt for images, as in OpenAI's interface
	mostWord   = 256     // bytes of a model's name, a size and other words; also of a member's name
	mostText   = 4 << 10 // bytes of a text whose meaning only the service knows
	mostEscape = 6       // bytes that a byte of text takes in JSON at most
)

// ErrNoRoom tells that there is no memory for the service's request.
var ErrNoRoom = errors.New("there is no memory for the request")

// room asks for memory for the service's request, before it is made.
func (m *Models) room(size int) error {
	if m.Room != nil && !m.Room(int64(size)) {
		return ErrNoRoom
	}
	return nil
}

// imageBound is how long a text of a request for images may be: in characters if it is a prompt, else in bytes.
func imageBound(name string) (most int, characters bool) {
	switch name {
	case "prompt", "negative_prompt":
		return mostPrompt, true
	case "model", "size", "user", "safety_identifier", "response_format", "quality", "style", "background", "moderation",
		"output_format", "output_compression", "input_fidelity", "partial_images", "stream":
		return mostWord, false
	}
	return mostText, false
}

// refuseLong refuses a text that is too long.
func refuseLong(name string, given, most int, characters bool) error {
	unit := "bytes"
	if characters {
		unit = "characters"
	}
	return badRequest(name, "%s: given %d %s, allowed at most %d; send a shorter text.", name, given, unit, most)
}

// boundPart refuses a field of a form that is too long.
func boundPart(p *Part) error {
	most, characters := imageBound(p.Name)
	given := len(p.Data)
	if characters && given > most {
		given = utf8.RuneCount(p.Data)
	}
	if given > most {
		return refuseLong(brief(p.Name), given, most, characters)
	}
	return nil
}

// boundMember refuses a string of a request for images that is too long.
func boundMember(name, value []byte) error {
	most, characters := imageBound(string(name))
	if !isString(value) || len(value)-2 <= most {
		return nil
	}
	if given := textSize(inside(value), characters); given > most {
		return refuseLong(string(name), given, most, characters)
	}
	return nil
}

// boundWord refuses a string that is longer than words are.
func boundWord(name string, value []byte) error {
	if given := textSize(inside(value), false); given > mostWord {
		return refuseLong(name, given, mostWord, false)
	}
	return nil
}

// textSize counts the bytes or characters of a raw text without decoding it.
func textSize(raw []byte, characters bool) (n int) {
	for i := 0; i < len(raw); {
		r, size := utf8.DecodeRune(raw[i:])
		if r == '\\' {
			size = max(escapeSize(raw[i:]), 1)
			r = rune(escapedUnit(raw[i:])) // -1: a short escape, of one byte; half of a pair counts as three bytes, and a pair as four
		}
		switch i += size; {
		case characters || r < 0:
			n++
		case size == 12:
			n += 4
		default:
			n += max(utf8.RuneLen(r), 1)
		}
	}
	return n
}
