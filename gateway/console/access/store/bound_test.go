package store_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/gateway/console/access"
)

func TestTheOldestGoFirst(t *testing.T) {
	forms(t, func(t *testing.T, s access.Store, _ func(time.Duration)) {
		if strings.HasSuffix(t.Name(), "fake_Redis") {
			t.Skip("it takes half a minute for this many values")
		}
		const most = 10_000
		var all sync.WaitGroup
		put(t, s, "a", "oldest", "oldest")
		for part := range 10 {
			all.Go(func() {
				for i := range most / 10 {
					if err := s.Put(t.Context(), "a", fmt.Sprint(part, "-", i), []byte("x"), life); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
		want(t, "the oldest", get(t, s, "a", "oldest", 0), "none")
		if values, err := s.List(t.Context(), "a"); len(values) != most || err != nil {
			t.Errorf("%d values are kept, %v", len(values), err)
		}
	})
}

// TestWhatHasEndedTakesNoPlace of what lives: people who stay logged in are not logged out because others come and go.
func TestWhatHasEndedTakesNoPlace(t *testing.T) {
	forms(t, func(t *testing.T, s access.Store, _ func(time.Duration)) {
		if strings.HasSuffix(t.Name(), "fake_Redis") {
			t.Skip("it takes half a minute for this many values")
		}
		const most, staying = 10_000, 20
		for i := range staying {
			put(t, s, "a", fmt.Sprint("stays-", i), "stays")
		}
		var all sync.WaitGroup
		for part := range 10 {
			all.Go(func() {
				for i := range most / 10 {
					name := fmt.Sprint(part, "-", i)
					if err := s.Put(t.Context(), "a", name, []byte("x"), life); err != nil {
						t.Error(err)
						return
					}
					if _, err := s.Take(t.Context(), "a", name); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
		if values, err := s.List(t.Context(), "a"); len(values) != staying || err != nil {
			t.Errorf("%d of %d are left, %v", len(values), staying, err)
		}
	})
}
