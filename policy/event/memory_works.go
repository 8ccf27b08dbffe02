package event

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// MemoryWorks are the works of a [Memory]. They are safe for concurrent use.
type MemoryWorks struct {
	outbox *Memory

	mu        sync.Mutex
	waiting   map[workName]*keptWork
	succeeded map[successDay]Successes
}

func newWorks(of *Memory) *MemoryWorks {
	return &MemoryWorks{outbox: of, waiting: map[workName]*keptWork{}, succeeded: map[successDay]Successes{}}
}

type workName struct{ team, task string }

type successDay struct{ team, day string }

type keptWork struct {
	Work
	due  time.Time // when some caller of TakeWork gets it
	late time.Time // when some caller of LateWork gets it; zero: it was released
	told int       // pictures that the released success said are stored
}

// keep keeps a work from its draft.
func (ws *MemoryWorks) keep(d *Draft, now time.Time) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w := &keptWork{Work: *d.Work}
	w.Team, w.due, w.late = d.Team, now, now.Add(HeldBack)
	w.Pictures = slices.Clone(w.Pictures)
	ws.waiting[workName{w.Team, w.Task}] = w
	day := successDay{w.Team, w.Day}
	if ws.succeeded[day] == nil {
		ws.succeeded[day] = Successes{}
	}
	ws.succeeded[day][w.Task] = len(w.Pictures)
	oldest := now.Add(-SuccessesKept).UTC().Format("2006/01/02")
	maps.DeleteFunc(ws.succeeded, func(d successDay, _ Successes) bool { return d.day < oldest })
}

// TakeWork takes works that are due, at most so many: for [Lease] no other caller gets them. It never fails.
func (ws *MemoryWorks) TakeWork(_ context.Context, most int) ([]Work, error) {
	return ws.take(most, func(w *keptWork) *time.Time { return &w.due }), nil
}

// LateWork takes, in the same way, works whose success has waited for longer than it may.
func (ws *MemoryWorks) LateWork(_ context.Context, most int) ([]Work, error) {
	return ws.take(most, func(w *keptWork) *time.Time { return &w.late }), nil
}

// take takes works that are due by one of their times.
func (ws *MemoryWorks) take(most int, of func(*keptWork) *time.Time) (list []Work) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	now, due := ws.outbox.now(), []*keptWork(nil)
	for _, w := range ws.waiting {
		if at := of(w); !at.IsZero() && !at.After(now) {
			due = append(due, w)
		}
	}
	slices.SortFunc(due, func(a, b *keptWork) int { return cmp.Or(of(a).Compare(*of(b)), cmp.Compare(a.Task, b.Task)) })
	for _, w := range due[:min(most, len(due))] {
		*of(w) = now.Add(Lease)
		taken := w.Work
		taken.Pictures = slices.Clone(w.Pictures)
		list = append(list, taken)
	}
	return list
}

// Worked records the outcome of a try, and reports whether the work was still kept. It never fails.
func (ws *MemoryWorks) Worked(ctx context.Context, w *Work, p Progress) (bool, error) {
	draft, known := ws.worked(w, p)
	if draft != nil {
		_, _ = ws.outbox.Append(ctx, draft)
	}
	return known, nil
}

// worked returns the event that is to be written.
func (ws *MemoryWorks) worked(w *Work, p Progress) (draft *Draft, known bool) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	name := workName{w.Team, w.Task}
	kept := ws.waiting[name]
	if kept == nil {
		return nil, false
	}
	switch held := !kept.late.IsZero(); {
	case p.Released && held:
		if draft, kept.late = p.Tell, (time.Time{}); draft != nil {
			kept.told = p.Stored
		}
	case p.Stored > kept.told:
		draft = p.Beside
	}
	if p.Keep {
		kept.Work = *w
		kept.Pictures = slices.Clone(w.Pictures)
	}
	if p.Next > 0 {
		kept.due = ws.outbox.now().Add(p.Next)
	}
	if p.Done {
		delete(ws.waiting, name)
	}
	return draft, true
}

// Succeeded returns the tasks of a team that succeeded on a day, written as in "2026/11/26".
func (ws *MemoryWorks) Succeeded(_ context.Context, team, day string) (Successes, error) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return maps.Clone(ws.succeeded[successDay{team, day}]), nil
}
