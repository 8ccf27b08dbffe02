package upstream

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// longestRetryAfter bounds what an answer may ask for: the service's quotas reset each day.
const longestRetryAfter = 24 * time.Hour

// RetryAfter is how long an answer asks to wait, in seconds or until a time, at most a day; 0: it does not say. Parts of a second, which
// no standard has, are rounded up.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	text := h.Get("Retry-After")
	if text == "" {
		return 0
	}
	if seconds, ok := roundedUp(text); ok {
		return time.Duration(min(seconds, uint64(longestRetryAfter/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(at.Sub(now), 0), longestRetryAfter)
	}
	return 0
}

// roundedUp reads a decimal number without sign, at most 2^31.
func roundedUp(text string) (n uint64, ok bool) {
	whole, part, _ := strings.Cut(text, ".")
	if whole == "" || strings.Trim(whole+part, "0123456789") != "" {
		return 0, false
	}
	n, _ = strconv.ParseUint(whole, 10, 31) // the largest, if it is larger
	if strings.Trim(part, "0") != "" {
		n++
	}
	return n, true
}
