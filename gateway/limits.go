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
	terms, left := make([]byte, 0, 96), make([]byte, 0, 96)
	for i := range v.Limits {
		s := &v.Limits[i]
		if i > 0 {
			terms, left = append(terms, ", "...), append(left, ", "...)
		}
		terms, left = appendName(terms, s), appendName(left, s)
		terms = strconv.AppendInt(append(terms, ";q="...), min(s.Limit, largestField), 10)
		terms = strconv.AppendInt(append(terms, ";w="...), int64(s.Window/time.Second), 10)
		left = strconv.AppendInt(append(left, ";r="...), min(s.Left, largestField), 10)
		left = strconv.AppendInt(append(left, ";t="...), int64((s.Reset+time.Second-1)/time.Second), 10)
	}
	h["Ratelimit-Policy"], h["Ratelimit"] = []string{string(terms)}, []string{string(left)}
}

// largestField is the largest integer of a structured field. Money is told in 10⁻⁹ of the currency.
const largestField = 999_999_999_999_999

func appendName(b []byte, s *limit.Standing) []byte {
	b = append(append(b, '"'), s.Unit...)
	if s.Period != "" {
		b = append(append(b, '-'), s.Period...)
	}
	return append(b, '"')
}
