package figures

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"sluice/gateway/console/access"
	"sluice/telemetry/recent"
)

// held are requests whose reading blocks until it is released.
type held struct {
	Recent
	reading atomic.Int64
	let     chan struct{}
}

func (h *held) Requests(context.Context, recent.Filter) (recent.Page, error) {
	h.reading.Add(1)
	defer h.reading.Add(-1)
	<-h.let
	return recent.Page{}, nil
}

// TestTwoReadRecentRequestsAtOnce: others wait for their turn, unless they leave.
func TestTwoReadRecentRequestsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, queued := &held{let: make(chan struct{})}, atomic.Int64{}
		f := New(Deps{Recent: h, Queued: func() { queued.Add(1) }})
		operator, done := access.Person{Role: access.Operator}, atomic.Int64{}
		for i := range 5 {
			go func() {
				var err error
				if i%2 == 0 {
					_, err = f.RequestList(t.Context(), operator, recent.Filter{})
				} else if _, err = f.Request(t.Context(), operator, "x"); errors.Is(err, ErrAbsent) {
					err = nil
				}
				if err != nil {
					t.Error(err)
				}
				done.Add(1)
			}()
		}
		synctest.Wait()
		ctx, leave := context.WithCancel(t.Context())
		left := make(chan error)
		go func() {
			_, err := f.RequestList(ctx, operator, recent.Filter{})
			left <- err
		}()
		synctest.Wait()
		if n := h.reading.Load(); n != 2 || queued.Load() != 4 {
			t.Errorf("%d read at once, %d were told to wait; want 2 and 4", n, queued.Load())
		}
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("who left while waiting: %v", err)
		}
		for range 5 {
			h.let <- struct{}{}
			synctest.Wait()
			if n := h.reading.Load(); n > 2 {
				t.Errorf("%d read at once", n)
			}
		}
		synctest.Wait()
		if n := done.Load(); n != 5 {
			t.Errorf("%d of 5 have read", n)
		}
	})
}
