package fault

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

func TestStallsRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Stalls
		s.Release() // without requests it does nothing
		done := make(chan error, 3)
		for range 3 {
			go func() { done <- s.Wait(t.Context()) }()
		}
		if err := s.Await(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
		s.Release()
		for range 3 {
			if err := <-done; err != nil {
				t.Errorf("a released request got %v", err)
			}
		}
		if s.waiting != 0 {
			t.Errorf("%d are left waiting", s.waiting)
		}
	})
}

func TestStallsLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Stalls
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Wait(ctx) }()
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) || s.waiting != 0 {
			t.Errorf("left with %v, %d waiting", err, s.waiting)
		}
	})
}

func TestStallsAwaitGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Stalls
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Await(ctx, 1) }()
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("awaiting ended with %v", err)
		}
	})
}

// A request that stalls after a release waits for the next one.
func TestStallsTwoRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Stalls
		done := make(chan error, 1)
		for range 2 {
			go func() { done <- s.Wait(t.Context()) }()
			if err := s.Await(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			select {
			case <-done:
				t.Fatal("went on unreleased")
			default:
			}
			s.Release()
			<-done
		}
	})
}
