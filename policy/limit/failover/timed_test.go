package failover

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

type valueKey struct{}

// A timed context has a deadline immediately, and ends then, whether or not something has waited for it. Its parent does not end
// it.
func TestTimedEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, cancel := context.WithCancel(context.WithValue(t.Context(), valueKey{}, "kept"))
		waited, never := timedFrom(parent, time.Second), timedFrom(parent, time.Second)
		defer waited.end()
		defer never.end()
		if until, bounded := never.Deadline(); !bounded || time.Until(until) != time.Second || never.Value(valueKey{}) != "kept" {
			t.Errorf("ends in %v, bounded %v", time.Until(until), bounded)
		}
		done := waited.Done()
		cancel()
		synctest.Wait()
		if waited.Err() != nil || never.Err() != nil {
			t.Errorf("their parent ended them: %v, %v", waited.Err(), never.Err())
		}
		<-done
		for _, c := range []*timed{waited, never} {
			if !errors.Is(c.Err(), context.DeadlineExceeded) {
				t.Errorf("after a second: %v", c.Err())
			}
		}
	})
}

// end ends the waits, and a context derived from it.
func TestTimedIsEnded(t *testing.T) {
	c := timedFrom(t.Context(), time.Hour)
	child, cancel := context.WithCancel(c)
	defer cancel()
	c.end()
	<-child.Done()
	if !errors.Is(c.Err(), context.Canceled) {
		t.Error(c.Err())
	}
}
