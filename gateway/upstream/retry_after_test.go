package upstream

import (
	"net/http"
	"testing"
	"time"
)

// What an answer asks for is read as seconds or as a time, rounded up, and bounded.
func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 26, 8, 0, 0, 0, time.UTC)
	at := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	const day = 24 * time.Hour
	for _, c := range []struct {
		text string
		want time.Duration
	}{
		{"", 0}, {"0", 0}, {"7", 7 * time.Second}, {"007", 7 * time.Second}, {"86399", day - time.Second},
		{"86401", day}, {"2147483647", day}, {"2147483648", day}, {"4294967296", day}, {"99999999999999999999999", day},
		{"1.5", 2 * time.Second}, {"0.001", time.Second}, {"3.", 3 * time.Second}, {"3.000", 3 * time.Second}, {"86400.1", day},
		{"2147483647.9", day},
		{"-1", 0}, {"+1", 0}, {"1e3", 0}, {"0x10", 0}, {"1_0", 0}, {"1,5", 0}, {".5", 0}, {".", 0}, {"1.2.3", 0}, {"soon", 0}, {"inf", 0},
		{"７", 0}, {at(90 * time.Second), 90 * time.Second}, {at(-time.Hour), 0}, {at(0), 0}, {at(48 * time.Hour), day},
		{now.Add(time.Minute).Format("Monday, 02-Jan-06 15:04:05 GMT"), time.Minute}, {now.Add(time.Minute).Format(time.ANSIC), time.Minute},
	} {
		if got := RetryAfter(http.Header{"Retry-After": {c.text}}, now); got != c.want {
			t.Errorf("%q asks for %s, want %s", c.text, got, c.want)
		}
	}
	if got := RetryAfter(http.Header{}, now); got != 0 {
		t.Errorf("no header asks for %s", got)
	}
}
