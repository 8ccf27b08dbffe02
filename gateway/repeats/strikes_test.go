package repeats

import (
	"strconv"
	"testing"
	"time"

	"sluice/policy/limit/limittest"
)

// A clock that goes back adds no units.
func TestStrikesAndClock(t *testing.T) {
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

// An endless stream of keys leaves nothing behind, and a key that is out stays out.
func TestStrikesForgetKeys(t *testing.T) {
	c := limittest.NewClock()
	s := NewStrikes(50, 200, c.Now)
	for n := range 10 * leastKeys {
		s.Add(strconv.Itoa(n))
		for s.Out("out") == 0 {
			s.Add("out")
		}
		if len(s.keys) > 2*leastKeys || s.Out("out") == 0 {
			t.Fatalf("after %d keys %d are remembered; the busy one is out for %v", n, len(s.keys), s.Out("out"))
		}
		c.Move(time.Millisecond)
	}
}
