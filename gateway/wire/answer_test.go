package wire

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestErrorBodyBeginsWithTheCode(t *testing.T) {
	got := string(ErrorBody("InvalidParameter", "a <b> \"c\"\n\xff", "id"))
	if want := `{"code":"InvalidParameter","message":"a <b> \"c\"\n\ufffd","request_id":"id"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Two clients that are refused at the same moment need not return at the same moment, however short the wait is.
func TestRetryAfterIsSpread(t *testing.T) {
	for after, want := range map[time.Duration][2]int{0: {0, 1}, time.Second: {1, 2}, 3 * time.Second: {3, 4}, 20 * time.Second: {20, 24},
		time.Hour: {3600, 3660}} {
		if got := [2]int{RetryAfter(after, 0), RetryAfter(after, 0.999999)}; got != want {
			t.Errorf("after %v: %v, want %v", after, got, want)
		}
	}
}

func TestRetryAfterIsNeverEarly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		after := time.Duration(rapid.Int64Range(0, int64(48*time.Hour)).Draw(t, "after"))
		luck := rapid.Float64Range(0, 0.999999).Draw(t, "luck")
		got := time.Duration(RetryAfter(after, luck)) * time.Second
		spread := min(max(after/5, time.Second), time.Minute)
		if got < after || got > after+spread+time.Second {
			t.Fatalf("after %v with luck %v: %v", after, luck, got)
		}
	})
}
