package conversation

import (
	"math"
	"strconv"

	"sluice/gateway/rawjson"
	"sluice/policy/strictjson"
)

// Usage is the service's count of tokens. An unreadable number counts as absent: an answer that is paid for must not fail for it. It has
// the numbers that the ledger counts.
type Usage struct {
	Cached, Created Count // of the input: read from a cache, and written to one
	Thinking        Count // of the output

	in, out, sum Count
}

// Count is a number of tokens. The zero value is an unknown one, whose N is 0.
type Count struct {
	N     int64
	Known bool
}

// ReadUsage reads a usage of the service. Of a number that it has at several places, flat or among details, the largest counts.
func ReadUsage(value []byte) (u Usage) {
	u.Raise(value)
	return u
}

// Raise reads a usage of the same answer, such as that of a stream's next frame. Of each number the largest counts.
func (u *Usage) Raise(value []byte) {
	for r := rawjson.Object(value); r.Member(); {
		switch string(r.Name) {
		case "input_tokens":
			u.in.raise(r.Value())
		case "output_tokens":
			u.out.raise(r.Value())
		case "total_tokens":
			u.sum.raise(r.Value())
		case "reasoning_tokens":
			u.Thinking.raise(r.Value())
		case "input_tokens_details", "prompt_tokens_details":
			for r.Open('{'); r.Member(); {
				u.readCached(&r)
			}
		case "output_tokens_details", "completion_tokens_details":
			u.Thinking.raise(rawjson.Member(&r, "reasoning_tokens"))
		default:
			u.readCached(&r)
		}
	}
}

// readCached reads a member if it counts tokens of a cache.
func (u *Usage) readCached(r *strictjson.Reader) {
	switch string(r.Name) {
	case "cached_tokens":
		u.Cached.raise(r.Value())
	case "cache_creation_input_tokens":
		u.Created.raise(r.Value())
	}
}

// mostCount is the largest number of tokens: a client's float64 holds it exactly.
const mostCount = 1<<53 - 1

// raise sets a count to a raw value, unless that is no count or the count is greater.
func (c *Count) raise(value []byte) {
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil {
		f, err := strconv.ParseFloat(string(value), 64)
		if err != nil || f != math.Trunc(f) || f < 0 || f > mostCount {
			return
		}
		n = int64(f)
	}
	if n >= 0 && n <= mostCount {
		*c = Count{max(n, c.N), true}
	}
}

// Known reports whether the service counted anything.
func (u *Usage) Known() bool { return u.in.Known || u.out.Known || u.sum.Known }

// Input is the tokens of the input.
func (u *Usage) Input() int64 { return u.in.N }

// Output is the tokens of the output.
func (u *Usage) Output() int64 { return u.out.N }

// Total is the service's total, or the sum of the parts where that is more.
func (u *Usage) Total() int64 { return max(u.in.N+u.out.N, u.sum.N) }

// AppendTo appends the usage in the form of OpenAI's interfaces, which name the input and the output in and out. It has the details that
// the service counts; all: it has all details.
func (u *Usage) AppendTo(dst []byte, in, out string, all bool) []byte {
	dst = AppendCount(append(dst, '{'), in, u.Input())
	dst = AppendCount(dst, out, u.Output())
	dst = AppendCount(dst, "total_tokens", u.Total())
	if all || u.Cached.Known {
		dst = append(append(append(dst, `,"`...), in...), `_details":{`...)
		dst = append(AppendCount(dst, "cached_tokens", u.Cached.N), '}')
	}
	if all || u.Thinking.Known {
		dst = append(append(append(dst, `,"`...), out...), `_details":{`...)
		dst = append(AppendCount(dst, "reasoning_tokens", u.Thinking.N), '}')
	}
	return append(dst, '}')
}

// AppendCount appends a member with a number of tokens.
func AppendCount(dst []byte, name string, n int64) []byte {
	return strconv.AppendInt(rawjson.AppendValue(dst, name, nil), n, 10)
}
