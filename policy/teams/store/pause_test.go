package store_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"sluice/policy/teams"
	"sluice/policy/teams/store"
)

// busy is a store in which others' changes are faster for a while.
type busy struct {
	*store.Redis
	until time.Time
	has   teams.State
}

func (b *busy) Read(context.Context) (teams.State, error) { return b.has, nil }

func (b *busy) Write(_ context.Context, _, next teams.State) error {
	if time.Now().Before(b.until) {
		return teams.ErrLost
	}
	b.has = next
	return nil
}

// TestAChangeWaitsOutABurst of other replicas' changes: what it is about may have happened already, and needs its entry.
func TestAChangeWaitsOutABurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &busy{until: time.Now().Add(100 * time.Millisecond)}
		if err := teams.Note(t.Context(), b, teams.Order{Who: "test"}, teams.Entry{What: "session.end"}); err != nil || b.has.Last == nil {
			t.Errorf("%v, %s", err, b.has.Last)
		}
	})
}

// TestAChangeThatLosesEveryRace ends, sooner if its client leaves.
func TestAChangeThatLosesEveryRace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, begun := &busy{until: time.Now().Add(time.Hour)}, time.Now()
		if err := teams.Note(t.Context(), b, teams.Order{Who: "test"}, teams.Entry{What: "session.end"}); err == nil {
			t.Error("it has an entry")
		}
		if took := time.Since(begun); took > time.Second {
			t.Errorf("it took %v", took)
		}
		ctx, leave := context.WithTimeout(t.Context(), time.Millisecond)
		defer leave()
		begun = time.Now()
		if err := teams.Note(ctx, b, teams.Order{Who: "test"}, teams.Entry{What: "session.end"}); err == nil ||
			time.Since(begun) > time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	})
}
