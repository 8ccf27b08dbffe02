package feed

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"sluice/policy/event"
)

// marks has the teams that this process knows to be followed, here or by another replica, or to have been within an event's life.
type marks struct {
	now    atomic.Pointer[followed]
	noting sync.Mutex // held while it is replaced
}

// followed is the list at one moment. It never changes.
type followed struct {
	version int64
	teams   map[string]time.Time // by team, when this process learned of it
	read    time.Time            // when the outbox was asked
}

// last is the last list that was read; empty if none was.
func (m *marks) last() *followed {
	if now := m.now.Load(); now != nil {
		return now
	}
	return new(followed)
}

// known reports whether no team is missing: a list that was read too long ago may lack one.
func (m *marks) known(now time.Time) bool { return now.Sub(m.last().read) < spread }

// has reports whether a team is followed. While the list is too old, it reports true for every team.
func (m *marks) has(team string, now time.Time) bool {
	_, has := m.last().teams[team]
	return has || !m.known(now)
}

// Known reports whether it is known which teams have a stream open on any replica. While it is not, [Feed.Routes] acts as if all had one,
// and events that are announced only once must wait, because they would count as announced.
func (f *Feed) Known() bool { return f == nil || f.marks.known(f.now()) }

// Routes adds streams to the routes of hooks: an event that only streams want has no targets, but is written. It reads only memory, because
// requests wait for it.
func (f *Feed) Routes(hooks event.Routes) event.Routes {
	return func(owner string, t event.Type, callback string) []event.Target {
		to := hooks(owner, t, callback)
		if to == nil && owner != event.Operators && event.Pattern("*").Matches(t) && f.marks.has(owner, f.now()) {
			to = []event.Target{}
		}
		return to
	}
}

// follow notes the teams with streams here, and reads those of all replicas. If the outbox has forgotten a note, it may also have lost
// events: every topic is in doubt.
func (f *Feed) follow(ctx context.Context) {
	teams, fresh := []string(nil), 0
	f.mu.Lock()
	for team, t := range f.topics {
		if teams = append(teams, team); !t.noted {
			fresh++
		}
	}
	f.mu.Unlock()
	added, err := f.note(ctx, teams)
	if err != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, team := range teams {
		if t := f.topics[team]; t != nil {
			t.noted, t.doubt = true, t.doubt || added > fresh
		}
	}
}

// note notes teams in the outbox, and keeps the list that it returns.
func (f *Feed) note(ctx context.Context, teams []string) (added int, err error) {
	f.marks.noting.Lock()
	defer f.marks.noting.Unlock()
	known, began := f.marks.last(), f.now()
	got, err := f.outbox.Follow(ctx, teams, known.version)
	if err != nil {
		return 0, err
	}
	next := &followed{got.Version, known.teams, began}
	if got.Owners != nil {
		next.teams = make(map[string]time.Time, len(got.Owners))
	}
	for _, team := range got.Owners {
		since, has := known.teams[team]
		if !has {
			since = f.now()
		}
		next.teams[team] = since
	}
	f.marks.now.Store(next)
	return got.Added, nil
}

// announce notes a team, unless it is noted, and returns how long it takes until every replica knows.
func (f *Feed) announce(ctx context.Context, team string) (time.Duration, error) {
	since, has := f.marks.last().teams[team]
	if !has {
		if _, err := f.note(ctx, []string{team}); err != nil {
			return 0, err
		}
		since = f.now()
	}
	return max(spread-f.now().Sub(since), 0), nil
}
