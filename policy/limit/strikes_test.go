package limit

import (
	"sluice/policy/limit/limittest"
	"testing"
	"time"
)

// F-X2: a clock that goes back adds no units.
func TestFX2StrikesAndClock(t *testing.T) {
	c := limittest.NewClock()
	s := NewStrikes(50, 200, c.Now)
	for range 200 {
		if s.Out("key") != 0 {
			t.Fatal("out within the burst")
		}
		s.Add("key")
	}
	if wait := s.Out("key"); wait != 20*time.Millisecond {
		t.Errorf("out for %v", wait)
	}
	if s.Out("other") != 0 {
		t.Error("another key is out too")
	}
	for range 100 {
		c.Move(-time.Hour)
		s.Out("key")
		c.Move(time.Hour)
	}
	if wait := s.Out("key"); wait != 20*time.Millisecond {
		t.Errorf("with a clock that goes back, out for %v", wait)
	}
}
