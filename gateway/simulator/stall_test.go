package simulator

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

func TestStallsRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s stalls
		s.release() // nobody there: no harm
		done := make(chan error, 3)
		for range 3 {
			go func() { done <- s.wait(t.Context()) }()
		}
		if err := s.await(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
		s.release()
		for range 3 {
			if err := <-done; err != nil {
				t.Errorf("a released one got %v", err)
			}
		}
		if s.waiting != 0 {
			t.Errorf("%d are left waiting", s.waiting)
		}
	})
}

func TestStallsLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s stalls
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.wait(ctx) }()
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) || s.waiting != 0 {
			t.Errorf("left with %v, %d waiting", err, s.waiting)
		}
	})
}

func TestStallsAwaitGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s stalls
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.await(ctx, 1) }()
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("awaiting ended with %v", err)
		}
	})
}

// Whoever comes after a release waits for the next one.
func TestStallsTwoRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s stalls
		done := make(chan error, 1)
		for range 2 {
			go func() { done <- s.wait(t.Context()) }()
			if err := s.await(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			select {
			case <-done:
				t.Fatal("went on unreleased")
			default:
			}
			s.release()
			<-done
		}
	})
}
