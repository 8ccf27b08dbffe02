package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/policy/teams"
	"sluice/policy/teams/store"
)

// follower is one process that follows the directory, looked at step by step.
type follower struct {
	*directoryWatch
	*removal
	open int // what the team has open there
}

func (f *follower) looks(t *testing.T) {
	t.Helper()
	f.directoryWatch.look(t.Context())
	f.removal.look(t.Context())
}

// removing is a directory with followers.
type removing struct {
	*testing.T
	store   teams.Store
	another func() teams.Store
	now     time.Time
	all     []*follower
}

// removals runs a test over both stores, with two followers of a directory with one team.
func removals(t *testing.T, test func(r *removing)) {
	path := filepath.Join(t.TempDir(), "directory.json")
	url := startRedis(t).url()
	for about, another := range map[string]func(r *removing) teams.Store{
		"file":  func(r *removing) teams.Store { return store.NewFile(path, func() time.Time { return r.now }) },
		"Redis": func(r *removing) teams.Store { return openDirectoryIn(r.T, url).store },
	} {
		t.Run(about, func(t *testing.T) {
			r := &removing{T: t, now: testTime}
			r.another = func() teams.Store { return another(r) }
			r.store = r.another()
			r.change(teams.CreateTeam{Team: teams.Spec{ID: "maps"}})
			r.all = []*follower{r.follower("a"), r.follower("b")}
			test(r)
		})
	}
}

// follower is one more process.
func (r *removing) follower(name string) *follower {
	r.Helper()
	file, err := teams.Parse([]byte(someTeams))
	must(r.T, err)
	f, kept, log, clock := &follower{}, r.another(), slog.New(slog.DiscardHandler), func() time.Time { return r.now }
	known := store.NewLive(file, []teams.Digest{sha256.Sum256([]byte("sk-upstream"))}, time.Now, func(*teams.File) {})
	f.directoryWatch = &directoryWatch{store: kept, joined: known, log: log, now: clock}
	f.removal = &removal{
		store: kept, joined: known, alive: func() int64 { return 2 },
		open:    func(context.Context, string) (int, error) { return f.open, nil },
		replica: name, who: teams.Order{Who: "replica"}, log: log, now: clock,
	}
	f.looks(r.T)
	return f
}

func (r *removing) change(change teams.Change) {
	r.Helper()
	decide := func(teams.Document) (teams.Change, error) { return change, nil }
	_, err := teams.Commit(r.Context(), r.store, teams.Order{Who: "test", Now: r.now}, decide)
	must(r.T, err)
}

// marks marks the team for removal, or unmarks it.
func (r *removing) marks(removed bool) {
	r.Helper()
	members := map[string]json.RawMessage{}
	if removed {
		members["disabled"], members["removing"] = json.RawMessage("true"), json.RawMessage("true")
	}
	r.change(teams.ReplaceTeam{Team: teams.Spec{ID: "maps", Members: members}, IfMatch: "*", Now: r.now})
}

// stays expects that the team still exists, however often these look.
func (r *removing) stays(why string, all ...*follower) {
	r.Helper()
	for range 4 {
		for _, f := range all {
			f.looks(r.T)
		}
	}
	if n := r.removed(); n != 0 {
		r.Errorf("%s: the team was removed %d times", why, n)
	}
}

// goes expects that the team is removed once, and that the audit proves it.
func (r *removing) goes(all ...*follower) {
	r.Helper()
	for range 4 {
		for _, f := range all {
			f.looks(r.T)
		}
	}
	if n := r.removed(); n != 1 {
		r.Errorf("the team was removed %d times", n)
	}
	proof, s, err := teams.Prove(r.Context(), r.store)
	must(r.T, err)
	d, err := s.Open()
	must(r.T, err)
	if faults := proof.Verify(s); faults != nil || len(d.Teams) != 0 {
		r.Errorf("%v; %s", faults, d.Text())
	}
}

// removed counts the audit's entries of the team's removal.
func (r *removing) removed() (n int) {
	r.Helper()
	for text, err := range r.store.Entries(r.Context(), false) {
		must(r.T, err)
		if e, err := teams.ReadEntry(text); err == nil && e.What == "team.remove" && e.Team == "maps" && e.Who == "replica" {
			n++
		}
	}
	return n
}

// TestATeamIsRemovedOnceByOneReplica: when no replica has open work of it, and each has seen that it ends.
func TestATeamIsRemovedOnceByOneReplica(t *testing.T) {
	removals(t, func(r *removing) {
		a, b := r.all[0], r.all[1]
		r.stays("it was not asked for", a, b)
		a.open, b.open = 1, 1
		r.marks(true)
		r.stays("something of it is open", a, b)
		a.open = 0
		r.stays("something of it is open at the other", a, b)
		b.open = 0
		r.goes(a, b)
	})
}

// TestAReplicaThatHasNotSeenIt serves the team's requests.
func TestAReplicaThatHasNotSeenIt(t *testing.T) {
	removals(t, func(r *removing) {
		a, b := r.all[0], r.all[1]
		r.marks(true)
		r.stays("the other has not looked", a)
		b.removal.look(r.Context()) // it reports, and has the version before in force
		r.stays("the other has the version before", a)
		b.looks(r.T)
		r.stays("requests may be on their way to their holds", a)
		r.goes(b, a)
	})
}

// TestATeamThatIsEnabledAgain stays, and is removed when it is deleted again.
func TestATeamThatIsEnabledAgain(t *testing.T) {
	removals(t, func(r *removing) {
		a, b := r.all[0], r.all[1]
		r.marks(true)
		b.looks(r.T)
		b.looks(r.T) // the other is through
		r.marks(false)
		r.stays("it is enabled", a)
		r.marks(true)
		r.stays("the other has said so of the version before", a)
		r.goes(b, a)
	})
}

// TestARemovalSurvivesItsProcesses: they end, and others remove the team.
func TestARemovalSurvivesItsProcesses(t *testing.T) {
	removals(t, func(r *removing) {
		a, b := r.all[0], r.all[1]
		a.open = 1
		r.marks(true)
		r.stays("something of it is open", a, b)
		ended, end := context.WithCancel(r.Context())
		end()
		a.removal.run(ended)
		b.removal.run(ended)
		c := r.follower("c")
		r.stays("another replica lives that has not said anything", c)
		r.goes(c, r.follower("d"))
	})
}

// TestAReplicaThatWasKilled is waited for no longer than its report is kept.
func TestAReplicaThatWasKilled(t *testing.T) {
	removals(t, func(r *removing) {
		a := r.all[0]
		a.removal.alive = func() int64 { return 1 }
		r.marks(true)
		r.stays("the other may still serve", a)
		if _, ok := a.removal.store.(*store.File); !ok {
			return // Redis has its own clock: see the store's tests
		}
		r.now = r.now.Add(teams.ReportKept + time.Second)
		r.goes(a)
	})
}

// TestTeamsThatGoTogether: one process's removal makes the others' reports stale.
func TestTeamsThatGoTogether(t *testing.T) {
	removals(t, func(r *removing) {
		gone := map[string]json.RawMessage{"disabled": json.RawMessage("true"), "removing": json.RawMessage("true")}
		for _, id := range []string{"ads", "mail", "news"} {
			r.change(teams.CreateTeam{Team: teams.Spec{ID: id, Members: gone}})
		}
		r.marks(true)
		r.goes(r.all...)
		slices.Reverse(r.all)
		r.goes(r.all...)
	})
}

// The hours of keys that no team has any more are removed after a month.
func TestHoursOfRemovedKeysAreForgotten(t *testing.T) {
	file, err := teams.Parse([]byte(someTeams))
	must(t, err)
	kept := store.NewFile(filepath.Join(t.TempDir(), "directory.json"), time.Now)
	var u teams.LastUse
	u.Follow(file)
	long := testTime.Add(-teams.ForgetAfter - time.Hour)
	must(t, kept.NoteUsed(t.Context(), map[string]time.Time{"7f3k9q2m4x1c": long, "removedlongg": long, "removedrecen": testTime}))
	must(t, u.Forget(t.Context(), testTime, kept))
	used, err := kept.Used(t.Context())
	must(t, err)
	if diff := cmp.Diff(map[string]time.Time{"7f3k9q2m4x1c": long, "removedrecen": testTime}, used); diff != "" {
		t.Error(diff)
	}
}
