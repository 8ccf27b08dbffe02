package conversation

import (
	"strconv"

	"sluice/gateway/rawjson"
)

// Usage is the service's count of tokens, each number raw; nil means absent. An unreadable number counts as absent: an answer
// that is paid for must not fail for it.
type Usage struct {
	Cached, Created []byte // of the input: read from a cache, and written to one; nil: unknown
	Thinking        []byte // of the output; nil: unknown

	in, out, sum []byte
}

// ReadUsage reads a usage of the service.
func ReadUsage(value []byte) (u Usage) {
	var flat []byte
	for r := rawjson.Object(value); r.Member(); {
		switch string(r.Name) {
		case "input_tokens":
			u.in = r.Value()
		case "output_tokens":
			u.out = r.Value()
		case "total_tokens":
			u.sum = r.Value()
		case "cached_tokens":
			flat = r.Value()
		case "prompt_tokens_details":
			for r.Open('{'); r.Member(); {
				switch string(r.Name) {
				case "cached_tokens":
					u.Cached = r.Value()
				case "cache_creation_input_tokens":
					u.Created = r.Value()
				}
			}
		case "output_tokens_details":
			u.Thinking = rawjson.Member(&r, "reasoning_tokens")
		}
	}
	for _, count := range [...]*[]byte{&u.in, &u.out, &u.sum, &u.Cached, &u.Created, &u.Thinking, &flat} {
		if !isCount(*count) {
			*count = nil
		}
	}
	if u.Cached == nil {
		u.Cached = flat
	}
	return u
}

// isCount reports whether a value is a number of tokens: at most 15 digits, which a client's float64 holds exactly.
func isCount(value []byte) bool {
	for _, c := range value {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(value) <= 15
}

// Known reports whether the service counted anything.
func (u *Usage) Known() bool { return u.in != nil || u.out != nil || u.sum != nil }

// Input is the tokens of the input, raw.
func (u *Usage) Input() []byte { return orZero(u.in) }

// Output is the tokens of the output, raw.
func (u *Usage) Output() []byte { return orZero(u.out) }

// Total is the service's total, or the sum of the parts.
func (u *Usage) Total() []byte {
	if u.sum != nil {
		return u.sum
	}
	in, _ := strconv.ParseInt(string(u.in), 10, 64)
	out, _ := strconv.ParseInt(string(u.out), 10, 64)
	return strconv.AppendInt(nil, in+out, 10)
}

// AppendTo appends the usage in the form of OpenAI's interfaces, which name the input and the output in and out. It has the details that
// the service counts; all: it has all details.
func (u *Usage) AppendTo(dst []byte, in, out string, all bool) []byte {
	dst = rawjson.AppendValue(append(dst, '{'), in, u.Input())
	dst = rawjson.AppendValue(dst, out, u.Output())
	dst = rawjson.AppendValue(dst, "total_tokens", u.Total())
	if all || u.Cached != nil {
		dst = append(append(append(dst, `,"`...), in...), `_details":{"cached_tokens":`...)
		dst = append(append(dst, orZero(u.Cached)...), '}')
	}
	if all || u.Thinking != nil {
		dst = append(append(append(dst, `,"`...), out...), `_details":{"reasoning_tokens":`...)
		dst = append(append(dst, orZero(u.Thinking)...), '}')
	}
	return append(dst, '}')
}

// orZero is a count, or 0 for none.
func orZero(count []byte) []byte {
	if count == nil {
		return []byte("0")
	}
	return count
}
