package openai

import "strconv"

// usage is the service's count of tokens, each number raw; nil means absent. An unreadable number counts as absent: an answer
// that is paid for must not fail for it.
type usage struct {
	in, out, sum      []byte
	cached, reasoning []byte
}

func readUsage(object []byte) (u usage) {
	var flat []byte
	for w := walkObject(object); w.member(); {
		switch string(w.name) {
		case "input_tokens":
			u.in = count(w.value)
		case "output_tokens":
			u.out = count(w.value)
		case "total_tokens":
			u.sum = count(w.value)
		case "cached_tokens":
			flat = count(w.value)
		case "prompt_tokens_details":
			u.cached = count(find(w.value, "cached_tokens"))
		case "output_tokens_details":
			u.reasoning = count(find(w.value, "reasoning_tokens"))
		}
	}
	if u.cached == nil {
		u.cached = flat
	}
	return u
}

// count returns the value if it is a number of tokens: at most 15 digits, which a client's float64 holds exactly.
func count(value []byte) []byte {
	if len(value) > 15 {
		return nil
	}
	for _, c := range value {
		if c < '0' || c > '9' {
			return nil
		}
	}
	return value
}

func (u *usage) known() bool { return u.in != nil || u.out != nil || u.sum != nil }

func (u *usage) input() []byte  { return orZero(u.in) }
func (u *usage) output() []byte { return orZero(u.out) }

// total is the service's total, or the sum of the parts.
func (u *usage) total() []byte {
	if u.sum != nil {
		return u.sum
	}
	in, _ := strconv.ParseInt(string(u.in), 10, 64)
	out, _ := strconv.ParseInt(string(u.out), 10, 64)
	return strconv.AppendInt(nil, in+out, 10)
}

func orZero(count []byte) []byte {
	if count == nil {
		return []byte("0")
	}
	return count
}

// appendTo appends the usage in the form of chats.
func (u *usage) appendTo(dst []byte) []byte {
	dst = append(append(dst, `{"prompt_tokens":`...), u.input()...)
	dst = append(append(dst, `,"completion_tokens":`...), u.output()...)
	dst = append(append(dst, `,"total_tokens":`...), u.total()...)
	if u.cached != nil {
		dst = append(append(append(dst, `,"prompt_tokens_details":{"cached_tokens":`...), u.cached...), '}')
	}
	if u.reasoning != nil {
		dst = append(append(append(dst, `,"completion_tokens_details":{"reasoning_tokens":`...), u.reasoning...), '}')
	}
	return append(dst, '}')
}
