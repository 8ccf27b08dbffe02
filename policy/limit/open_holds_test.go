package limit

import (
	"fmt"
	"testing"
	"time"
)

func TestMadeAt(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 123_000_000, time.UTC)
	for id, want := range map[string]time.Time{
		idAt(at, 1):                            at,
		"019a5e2c-1f37-4000-8000-000000000000": {}, // of another version
		"zzza5e2c-1f37-7000-8000-000000000000": {},
		"019a5e2c1-f37-7000-8000-000000000000": {},
		"sum-PLQ2":                             {},
		"":                                     {},
	} {
		if got := MadeAt(id); !got.Equal(want) {
			t.Errorf("%q was made at %v, want %v", id, got, want)
		}
	}
}

// idAt returns a request's id of that moment.
func idAt(at time.Time, n int) string {
	ms := fmt.Sprintf("%012x", at.UnixMilli())
	return fmt.Sprintf("%s-%s-7000-8000-%012x", ms[:8], ms[8:], n)
}
