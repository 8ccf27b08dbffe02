package gateway

import (
	"net/http"
	"strconv"
	"time"

	"sluice/policy/limit"
)

// limitHeaders writes RateLimit-Policy and RateLimit, for every limit that the request is charged in: the limit and its
// window, what is left after this hold, and the seconds until it is full or resets. It is the one place that knows the
// syntax, which is a draft's.
func limitHeaders(h http.Header, v *limit.Verdict) {
	if len(v.Limits) == 0 {
		return
	}
	b := make([]byte, 0, 512) // on the stack, room for both: every request of a limited team has them
	for i := range v.Limits {
		s := &v.Limits[i]
		b = strconv.AppendInt(append(appendName(b, i, s), ";q="...), min(s.Limit, largestField), 10)
		b = strconv.AppendInt(append(b, ";w="...), int64(s.Window/time.Second), 10)
	}
	half := len(b)
	for i := range v.Limits {
		s := &v.Limits[i]
		b = strconv.AppendInt(append(appendName(b, i, s), ";r="...), min(s.Left, largestField), 10)
		b = strconv.AppendInt(append(b, ";t="...), int64((s.Reset+time.Second-1)/time.Second), 10)
	}
	text := string(b)
	values := []string{text[:half], text[half:]}
	h["Ratelimit-Policy"], h["Ratelimit"] = values[:1:1], values[1:]
}

// largestField is the largest integer of a structured field. Money is told in 10⁻⁹ of the currency.
const largestField = 999_999_999_999_999

func appendName(b []byte, i int, s *limit.Standing) []byte {
	if i > 0 {
		b = append(b, ", "...)
	}
	b = append(append(b, '"'), s.Unit...)
	if s.Period != "" {
		b = append(append(b, '-'), s.Period...)
	}
	return append(b, '"')
}
