package upstream

import (
	"net/http"
	"strconv"
	"time"
)

// RetryAfter is how long an answer asks to wait, in seconds or until a time; 0: it does not say.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	text := h.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}
