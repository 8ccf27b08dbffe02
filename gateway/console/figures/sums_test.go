package figures

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/policy/limit"
)

// TestTheLastMonthIsReadAhead: soon after the start a reader waits for no past day of it.
func TestTheLastMonthIsReadAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		read := map[int]int{}
		s := &sums{now: time.Now, late: lateDefault, days: map[int]*daySum{}, names: map[string]string{}, ledger: func(_ context.Context, _ string, days []int) ([]limit.Row, error) {
			mu.Lock()
			defer mu.Unlock()
			for _, day := range days {
				read[day]++
			}
			return nil, nil
		}}
		f := &Figures{sums: s}
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { f.Run(ctx) })
		time.Sleep(20 * time.Second)
		stop()
		running.Wait()
		open := 0
		for _, day := range lastDays(time.Now(), warmDays) {
			if s.over(day, time.Now()) && read[day] != 1 {
				t.Errorf("%d was read %d times, want once", day, read[day])
			} else if !s.over(day, time.Now()) {
				open++
			}
		}
		if len(read) != warmDays-open || open < 3 || open > 4 {
			t.Errorf("%d days were read and %d may change, want %d in all", len(read), open, warmDays)
		}
	})
}
