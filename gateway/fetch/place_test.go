package fetch_test

import (
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"sluice/gateway/fetch"
)

// stalling is a reader that does not read until it is released.
type stalling struct {
	stalled *sync.WaitGroup // is told about the first write
	once    sync.Once
	release chan struct{}
}

func (s *stalling) Write(p []byte) (int, error) {
	s.once.Do(s.stalled.Done)
	<-s.release
	return len(p), nil
}

// TestSlowReadersHoldNoPlace: eight slow readers do not hold up a ninth, and get their pictures once they read.
func TestSlowReadersHoldNoPlace(t *testing.T) {
	s := newStore(t, serve(drawing(300<<10)))
	f := fetch.New(s.config("a.example.com"))
	f.LowerWaits(9, 10*time.Millisecond)
	var all, stalled sync.WaitGroup
	release := make(chan struct{})
	stalled.Add(8)
	for range 8 {
		all.Go(func() {
			if _, err := f.Copy(t.Context(), &stalling{stalled: &stalled, release: release}, s.address("a.example.com", "/")); err != nil {
				t.Error(err)
			}
		})
	}
	stalled.Wait()
	if _, err := f.Copy(t.Context(), io.Discard, s.address("a.example.com", "/")); err != nil {
		t.Error(err)
	}
	close(release)
	all.Wait()
}

// TestTooManyAreRefused: readers that do not read cannot pile up, and leave room once they have left.
func TestTooManyAreRefused(t *testing.T) {
	s := newStore(t, serve(drawing(0)))
	f := fetch.New(s.config("a.example.com"))
	f.LowerWaits(1, 10*time.Millisecond)
	var all, stalled sync.WaitGroup
	release := make(chan struct{})
	stalled.Add(1)
	get := func(to io.Writer) error {
		_, err := f.Copy(t.Context(), to, s.address("a.example.com", "/"))
		return err
	}
	all.Go(func() {
		if err := get(&stalling{stalled: &stalled, release: release}); err != nil {
			t.Error(err)
		}
	})
	stalled.Wait()
	if err := get(io.Discard); !errors.Is(err, fetch.ErrBusy) {
		t.Errorf("one too many gets %v", err)
	}
	close(release)
	all.Wait()
	if err := get(io.Discard); err != nil {
		t.Errorf("after the others: %v", err)
	}
}
