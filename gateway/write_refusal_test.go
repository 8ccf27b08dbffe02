package gateway

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestErrorBodyBeginsWithTheCode(t *testing.T) {
	got := string(errorBody("InvalidParameter", "a <b> \"c\"\n\xff", "id"))
	if want := `{"code":"InvalidParameter","message":"a <b> \"c\"\n\ufffd","request_id":"id"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestRetryAfterIsNeverEarly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		after := time.Duration(rapid.Int64Range(0, int64(48*time.Hour)).Draw(t, "after"))
		luck := rapid.Float64Range(0, 0.999999).Draw(t, "luck")
		got := time.Duration(retryAfter(after, luck)) * time.Second
		spread := min(max(after/5, time.Second), time.Minute)
		if got < after || got > after+spread+time.Second {
			t.Fatalf("after %v with luck %v: %v", after, luck, got)
		}
	})
}
