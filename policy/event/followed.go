package event

import (
	"context"
	"maps"
	"slices"
	"time"
)

// Followed are the owners with a stream of events that is open, or was within an event's life.
type Followed struct {
	Version int64    // of the list; it changes with the list
	Added   int      // how many of the caller's owners were new in the list
	Owners  []string // nil: as in the version that the caller knows
}

// Last returns the id of an owner's newest event; the zero Millis: it has none.
func (m *Memory) Last(_ context.Context, owner string) (ID, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	id := m.of(owner).last
	id.Owner = owner
	return id, nil
}

// News returns the events after the given ones, of each owner the oldest first, at most so many.
func (m *Memory) News(ctx context.Context, after []ID, most int) ([][]Event, error) {
	all := make([][]Event, len(after))
	for i, id := range after {
		all[i], _, _ = m.After(ctx, id, most) // it never fails
	}
	return all, nil
}

// Follow notes that streams of owners' events are open, and returns all owners with such streams, unless the caller
// has the current version of the list.
func (m *Memory) Follow(_ context.Context, owners []string, known int64) (f Followed, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now, before := m.now(), len(m.followed)
	maps.DeleteFunc(m.followed, func(_ string, last time.Time) bool { return last.Before(now.Add(-m.bounds.Keep)) })
	ended := before - len(m.followed)
	for _, owner := range owners {
		if _, known := m.followed[owner]; !known {
			f.Added++
		}
		m.followed[owner] = now
	}
	if ended+f.Added > 0 {
		m.version++
	}
	if f.Version = m.version; f.Version != known {
		f.Owners = slices.AppendSeq([]string{}, maps.Keys(m.followed))
	}
	return f, nil
}
