package console

import (
	"fmt"
	"sync"
	"testing"
)

// TestManyChangesAtOnce at one replica wait for each other; none loses all its races.
func TestManyChangesAtOnce(t *testing.T) {
	worlds(t, func(w *world) {
		w.create("maps", "")
		const changes = 60
		errs := make(chan error, 2*changes)
		var all sync.WaitGroup
		for i := range changes {
			all.Go(func() {
				errs <- w.Cancel(w.Context(), member, "maps", "task-1")
			})
			all.Go(func() {
				_, err := w.Create(w.Context(), operator, draft(fmt.Sprintf("team-%d", i), ""))
				errs <- err
			})
		}
		all.Wait()
		close(errs)
		if failed := failures(t, errs); failed > 0 || len(w.entries()) != 1+2*changes {
			t.Errorf("%d of %d failed, %d entries", failed, 2*changes, len(w.entries()))
		}
	})
}

// failures logs those errors that are not nil, and counts them.
func failures(t *testing.T, errs <-chan error) (n int) {
	for err := range errs {
		if err != nil {
			n++
			t.Log(err)
		}
	}
	return n
}
