package gateway

import (
	"net/http"
	"strconv"
	"time"

	"sluice/policy/limit"
)

// rateLimitHeaders writes RateLimit-Policy and RateLimit for every limit that the request is charged in: the limit and its
// window, what is left after this hold, and the seconds until it is full or resets. The syntax is that of an IETF draft; only
// this file knows it.
func rateLimitHeaders(h http.Header, room *values, v *limit.Verdict) {
	if len(v.Limits) == 0 {
		return
	}
	b := make([]byte, 0, 512) // room for both, on the stack: every request of a limited team has them
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
	h["Ratelimit-Policy"], h["Ratelimit"] = room.one(text[:half]), room.one(text[half:])
}

// largestField is the largest integer of a structured field. Amounts of money are in 10⁻⁹ of the currency, and may be larger.
const largestField = 999_999_999_999_999

func appendName(b []byte, i int, s *limit.Standing) []byte {
	if i > 0 {
		b = append(b, ", "...)
	}
	b = append(append(b, '"'), s.Unit...)
	if s.Period != "" {
		b = append(append(b, '-'), s.Period...)
	}
	if s.Tag != "" {
		b = append(b, "-tag"...)
	}
	return append(b, '"')
}
