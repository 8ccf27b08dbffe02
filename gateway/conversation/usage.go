package conversation

import (
	"math"
	"strconv"

	"sluice/gateway/rawjson"
	"sluice/policy/strictjson"
)

// Usage is the service's count of tokens, each number raw; nil means absent. An unreadable number counts as absent: an answer
// that is paid for must not fail for it. It has the numbers that the ledger counts.
type Usage struct {
	Cached, Created []byte // of the input: read from a cache, and written to one; nil: unknown
	Thinking        []byte // of the output; nil: unknown

	in, out, sum []byte
}

// ReadUsage reads a usage of the service. Of a number that it has at several places, flat or among details, the largest counts.
func ReadUsage(value []byte) (u Usage) {
	for r := rawjson.Object(value); r.Member(); {
		switch string(r.Name) {
		case "input_tokens":
			raise(&u.in, r.Value())
		case "output_tokens":
			raise(&u.out, r.Value())
		case "total_tokens":
			raise(&u.sum, r.Value())
		case "reasoning_tokens":
			raise(&u.Thinking, r.Value())
		case "input_tokens_details", "prompt_tokens_details":
			for r.Open('{'); r.Member(); {
				u.readCached(&r)
			}
		case "output_tokens_details", "completion_tokens_details":
			raise(&u.Thinking, rawjson.Member(&r, "reasoning_tokens"))
		default:
			u.readCached(&r)
		}
	}
	return u
}

// readCached reads a member if it counts tokens of a cache.
func (u *Usage) readCached(r *strictjson.Reader) {
	switch string(r.Name) {
	case "cached_tokens":
		raise(&u.Cached, r.Value())
	case "cache_creation_input_tokens":
		raise(&u.Created, r.Value())
	}
}

// mostCount is the largest number of tokens: a client's float64 holds it exactly.
const mostCount = 1<<53 - 1

// raise sets a count to a raw value, unless that is no count or the count is greater.
func raise(count *[]byte, value []byte) {
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil {
		f, err := strconv.ParseFloat(string(value), 64)
		if err != nil || f != math.Trunc(f) || f < 0 || f > mostCount {
			return
		}
		n = int64(f)
		value = strconv.AppendInt(nil, n, 10)
	}
	if n >= 0 && n <= mostCount && (*count == nil || n > number(*count)) {
		*count = value
	}
}

// number is a count, 0 for none.
func number(count []byte) int64 {
	n, _ := strconv.ParseInt(string(count), 10, 64)
	return n
}

// Known reports whether the service counted anything.
func (u *Usage) Known() bool { return u.in != nil || u.out != nil || u.sum != nil }

// Input is the tokens of the input, raw.
func (u *Usage) Input() []byte { return orZero(u.in) }

// Output is the tokens of the output, raw.
func (u *Usage) Output() []byte { return orZero(u.out) }

// Total is the service's total, or the sum of the parts where that is more.
func (u *Usage) Total() []byte {
	if sum := number(u.in) + number(u.out); u.sum == nil || sum > number(u.sum) {
		return strconv.AppendInt(nil, sum, 10)
	}
	return u.sum
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
