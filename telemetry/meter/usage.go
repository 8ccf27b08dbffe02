package meter

import (
	"bytes"
	"iter"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Field is one of the usage numbers that the service is known to report.
type Field uint8

// The known fields, in the order of the log line. A number that the service reports both flat and in a details object (cached_tokens
// and prompt_tokens_details.cached_tokens) is one field here.
const (
	InputTokens         Field = iota // input_tokens
	OutputTokens                     // output_tokens
	TotalTokens                      // total_tokens; absent on some models
	ImageCount                       // image_count: pictures made, without those that failed
	ImageTokens                      // image_tokens, also in input_tokens_details
	VideoTokens                      // video_tokens, also in input_tokens_details
	AudioTokens                      // audio_tokens, also in input_tokens_details
	CachedTokens                     // cached_tokens, also in the input's details: input read from a cache
	CacheCreationTokens              // cache_creation_input_tokens, also in the input's details
	ReasoningTokens                  // reasoning_tokens in the output's details: tokens of the thinking chain
	Width                            // width of each picture, in pixels
	Height                           // height, likewise
	fieldCount
)

var fieldNames = [fieldCount]string{
	InputTokens:         "input_tokens",
	OutputTokens:        "output_tokens",
	TotalTokens:         "total_tokens",
	ImageCount:          "image_count",
	ImageTokens:         "image_tokens",
	VideoTokens:         "video_tokens",
	AudioTokens:         "audio_tokens",
	CachedTokens:        "cached_tokens",
	CacheCreationTokens: "cache_creation_input_tokens",
	ReasoningTokens:     "reasoning_tokens",
	Width:               "width",
	Height:              "height",
}

// String returns the field's name as the service and the log line write it.
func (f Field) String() string { return fieldNames[f] }

// fieldAt returns the field at a path below usage; fieldCount if the path is unknown.
func fieldAt(path []byte) Field {
	first, last := InputTokens, fieldCount-1
	details, name, nested := bytes.Cut(path, []byte("."))
	switch string(details) {
	case "input_tokens_details", "prompt_tokens_details":
		first, last = ImageTokens, CacheCreationTokens
	case "output_tokens_details", "completion_tokens_details":
		first, last = ReasoningTokens, ReasoningTokens
	default:
		if name = details; nested {
			return fieldCount
		}
	}
	for f := first; f <= last; f++ {
		if string(name) == fieldNames[f] {
			return f
		}
	}
	return fieldCount
}

const (
	// maxNumber bounds every usage number. Larger ones are not exact in the accounts, whose scripts count in doubles.
	maxNumber = 1<<53 - 1
	// maxOthers bounds the unknown fields of an answer, and maxPath the bytes of their names, so that an answer cannot make a Usage
	// grow.
	maxOthers = 16
	maxPath   = 96
	// maxSize bounds the bytes of a size.
	maxSize = 32
)

// Usage is the usage in an answer: an open set of numbers. Zero and absent differ; the zero value has no number. It is an
// array and a bit set instead of a map, because every frame of a stream fills one. A copy shares the unknown fields with the
// original; only the Meter adds to them.
type Usage struct {
	present  uint16 // bit f: values[f] was reported
	values   [fieldCount]int64
	others   []other
	size     string // the text of the size with the most pixels
	pixels   int64  // of that size
	explicit bool   // the answer names an explicit cache
}

// other is a number under an unknown name.
type other struct {
	name  string // its path below usage, joined by dots
	value float64
}

// Get returns the field's number; false if the answer does not report it.
func (u *Usage) Get(f Field) (int64, bool) { return u.values[f], u.present&(1<<f) != 0 }

// Raise sets the field to n unless its number is greater. Usage is cumulative, so the larger of two reports counts, not their sum.
func (u *Usage) Raise(f Field, n int64) {
	if u.present&(1<<f) == 0 || n > u.values[f] {
		u.values[f] = n
	}
	u.present |= 1 << f
}

// Known reports whether the answer reports any number.
func (u *Usage) Known() bool { return u.present != 0 || len(u.others) > 0 }

// Tokens returns the tokens to charge: the total, or input plus output if that is more. Absent numbers count as 0; false if all
// three are absent.
func (u *Usage) Tokens() (int64, bool) {
	const any = 1<<InputTokens | 1<<OutputTokens | 1<<TotalTokens
	return max(u.values[TotalTokens], u.values[InputTokens]+u.values[OutputTokens]), u.present&any != 0
}

// addCached adds the tokens read from and written to a cache to the input: Messages counts them separately.
func (u *Usage) addCached() {
	if u.present&(1<<InputTokens) != 0 {
		u.values[InputTokens] = min(u.values[InputTokens]+u.values[CachedTokens]+u.values[CacheCreationTokens], maxNumber)
	}
}

// Size returns the size of the pictures: width × height, 0 if the answer does not report it, and the answer's text for it; for a width
// and a height without a text it is such as 1024*768. Of a stream it is the largest.
func (u *Usage) Size() (pixels int64, word string) {
	const maxSide = 1 << 26 // the product is exact
	width, height := min(u.values[Width], maxSide), min(u.values[Height], maxSide)
	if word = u.size; word == "" && width*height > 0 {
		word = strconv.FormatInt(width, 10) + "*" + strconv.FormatInt(height, 10)
	}
	return max(u.pixels, width*height), word
}

// HitsExplicitCache reports whether the cache that was hit is one that requests create explicitly; false also if the answer does not say.
func (u *Usage) HitsExplicitCache() bool { return u.explicit }

// takeText takes a text at a path below usage; false: a number belongs there.
func (u *Usage) takeText(path, text []byte) bool {
	switch string(path) {
	case "size":
		n, isSize := pixelsOf(text)
		if n > u.pixels || u.size == "" && !isSize && len(text) <= maxSize { // a stream reports 0*0 before its first picture
			u.size, u.pixels = string(text), n
		}
	case "cache_type", "prompt_tokens_details.cache_type", "input_tokens_details.cache_type":
		u.explicit = u.explicit || string(text) == "ephemeral"
	default:
		return fieldAt(path) == fieldCount
	}
	return true
}

// pixelsOf returns the product of a size such as 1024*768; false for any other text.
func pixelsOf(size []byte) (n int64, isSize bool) {
	if len(size) > maxSize {
		return 0, false
	}
	a, b, _ := bytes.Cut(size, []byte("*"))
	width, err := strconv.ParseUint(string(a), 10, 26)
	height, bad := strconv.ParseUint(string(b), 10, 26)
	if err != nil || bad != nil {
		return 0, false
	}
	return int64(width * height), true
}

// All yields the reported numbers by name: the known fields in order, then the unknown ones in the order of their arrival, under their
// path below usage ("output_tokens_details.text_tokens").
func (u *Usage) All() iter.Seq2[string, float64] {
	return func(yield func(string, float64) bool) {
		for f := range fieldCount {
			if n, ok := u.Get(f); ok && !yield(f.String(), float64(n)) {
				return
			}
		}
		for _, o := range u.others {
			if !yield(o.name, o.value) {
				return
			}
		}
	}
}

// Cover covers secrets in the names of unknown fields, which the answer chose. Copies of the Usage keep their names.
func (u *Usage) Cover(cover func(text string) string) {
	u.others = slices.Clone(u.others)
	for i := range u.others {
		u.others[i].name = cover(u.others[i].name)
	}
}

// raiseOther is Raise for an unknown field; false: there are maxOthers names already.
func (u *Usage) raiseOther(name []byte, value float64) bool {
	if !utf8.Valid(name) {
		name = bytes.ToValidUTF8(name, []byte("\uFFFD"))
	}
	for i := range u.others {
		if u.others[i].name == string(name) {
			u.others[i].value = max(u.others[i].value, value)
			return true
		}
	}
	if len(u.others) == maxOthers {
		return false
	}
	u.others = append(u.others, other{string(name), value})
	return true
}

// parseNumber reads a JSON number.
func parseNumber(token []byte) (float64, bool) {
	if len(token) > 15 {
		return parseFloat(token)
	}
	n := 0
	for _, c := range token {
		if c < '0' || c > '9' {
			return parseFloat(token)
		}
		n = n*10 + int(c-'0')
	}
	return float64(n), len(token) > 0
}

// parseFloat reads only decimal numbers: ParseFloat also accepts NaN, Inf, hexadecimal digits and underscores.
func parseFloat(token []byte) (float64, bool) {
	for _, c := range token {
		if (c < '0' || c > '9') && c != '-' && c != '+' && c != '.' && c != 'e' && c != 'E' {
			return 0, false
		}
	}
	n, err := strconv.ParseFloat(string(token), 64)
	return n, err == nil
}
