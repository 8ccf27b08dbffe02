package simulator

import (
	"testing"
	"time"
)

func TestClock(t *testing.T) {
	c := NewClock(start)
	if got := c.Now(); !got.Equal(start) {
		t.Errorf("a new clock shows %v, want %v", got, start)
	}
	if got, want := c.Advance(3*time.Second), start.Add(3*time.Second); !got.Equal(want) || !c.Now().Equal(want) {
		t.Errorf("advanced to %v, want %v", got, want)
	}
	if got, want := c.Advance(-5*time.Second), start.Add(-2*time.Second); !got.Equal(want) {
		t.Errorf("put back to %v, want %v", got, want)
	}
	c.Set(start)
	if got := c.Now(); !got.Equal(start) {
		t.Errorf("set to %v, want %v", got, start)
	}
	var zero Clock
	if !zero.Now().IsZero() {
		t.Error("the zero clock does not show the zero time")
	}
}
