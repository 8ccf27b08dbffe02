package store_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
	"sluice/policy/teams/store"
	"sluice/policy/unit"
)

// noon is a moment of a day whose quotas are raised.
var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

const quotasOfTwo = "teams:\n  - {id: search, quotas: {images: {day: 500, month: 9000}, spend: {day: 2.5}}}\n  - {id: ads, quotas: " +
	"{images: {day: 7}}}\n"

func fileOf(t *testing.T, text string) *teams.File {
	t.Helper()
	file, err := teams.Parse([]byte(text))
	must(t, err)
	return file
}

// raise raises images a day of search.
func raise(t *testing.T, s teams.Store, id, amount string, now time.Time, until ...time.Time) teams.Raise {
	t.Helper()
	order := teams.RaiseOrder{Unit: unit.NameImages, Period: teams.PeriodDay, Amount: amount, Reason: "launch <b>"}
	for _, at := range until {
		order.Until = &at
	}
	made, err := order.Raise(id, fileOf(t, quotasOfTwo).Team("search"), now)
	must(t, err)
	must(t, teams.CommitRaise(t.Context(), s, teams.Order{Who: "test", Now: now, Reason: "launch"}, teams.AddRaise{Raise: made}))
	return made
}

// raisesOf are the raises that a store has.
func raisesOf(t *testing.T, s teams.Store) (ids string) {
	t.Helper()
	state, err := s.Read(t.Context())
	must(t, err)
	must(t, state.Check())
	list, err := teams.ReadRaises(state.Raises)
	must(t, err)
	for _, r := range list {
		ids += r.ID + " "
	}
	return strings.TrimSpace(ids)
}

// A raise is written with its entry, which proves it, and stays whatever else changes. Ended ones are forgotten with the next change.
func TestRaisesAreKeptWithTheirEntries(t *testing.T) {
	forms(t, func(t *testing.T, k kept) {
		now := k.clock()
		must(t, create(k, "maps"))
		made := raise(t, k, "first", "500", now, now.Add(time.Second))
		raise(t, k.another(), "second", "20", now)
		must(t, create(k, "tiles"))
		if got := raisesOf(t, k.another()); got != "first second" {
			t.Errorf("the raises are %q", got)
		}
		state, err := k.Read(t.Context())
		must(t, err)
		list, err := teams.ReadRaises(state.Raises)
		must(t, err)
		if diff := cmp.Diff(made, list[0]); diff != "" {
			t.Errorf("a raise changes in the store:\n%s", diff)
		}
		raise(t, k, "third", "1", now.Add(time.Minute))
		if got := raisesOf(t, k); got != "second third" {
			t.Errorf("the raises are %q, and the first has ended", got)
		}
		must(t, teams.CommitRaise(t.Context(), k, teams.Order{Who: "test", Now: now}, teams.EndRaise{Team: "search", ID: "second"}))
		for _, gone := range []teams.EndRaise{{Team: "search", ID: "second"}, {Team: "ads", ID: "third"}} {
			if err := teams.CommitRaise(t.Context(), k, teams.Order{Who: "test", Now: now}, gone); err == nil {
				t.Errorf("%v is ended twice, or over another team", gone)
			}
		}
		var whats []string
		for text, err := range k.Entries(t.Context(), false) {
			must(t, err)
			e, err := teams.ReadEntry(text)
			must(t, err)
			whats = append(whats, e.What)
		}
		if diff := cmp.Diff("team.create raise.add raise.add team.create raise.add raise.end", strings.Join(whats, " ")); diff != "" {
			t.Error(diff)
		}
		if faults := faultsOf(t, k); faults != nil {
			t.Error(faults)
		}
	})
}

// TestAnEndedRaiseIsNotMadeAgain until its time is over. A version that knows no ended raises reads one that is in force at no moment.
func TestAnEndedRaiseIsNotMadeAgain(t *testing.T) {
	forms(t, func(t *testing.T, k kept) {
		made := raise(t, k, "first", "500", noon, noon.Add(time.Hour))
		must(t, end(t, k, "first"))
		order := teams.Order{Who: "test", Now: noon.Add(59 * time.Minute)}
		if err := teams.CommitRaise(t.Context(), k, order, teams.AddRaise{Raise: made}); !errors.Is(err, teams.ErrMade) {
			t.Errorf("it is made again: %v", err)
		}
		state, err := k.Read(t.Context())
		must(t, err)
		var plain []struct{ From, Until time.Time }
		must(t, json.Unmarshal(state.Raises, &plain))
		if len(plain) != 1 || plain[0].Until.After(plain[0].From) {
			t.Errorf("the version before reads %v", plain)
		}
		raise(t, k, "last", "1", noon.Add(time.Hour))
		if got := raisesOf(t, k); got != "last" {
			t.Errorf("after its time %q are known", got)
		}
	})
}

// end ends a raise of search at noon.
func end(t *testing.T, s teams.Store, id string) error {
	t.Helper()
	return teams.CommitRaise(t.Context(), s, teams.Order{Who: "test", Now: noon}, teams.EndRaise{Team: "search", ID: id})
}

// TestTheOldestEndedRaisesAreForgotten: how many are known is bounded, and they take no room of those in force.
func TestTheOldestEndedRaisesAreForgotten(t *testing.T) {
	k := store.NewRedis(limittest.RealRedis(t))
	for i := range 103 {
		raise(t, k, fmt.Sprint(i), "1", noon.Add(time.Duration(i)*time.Millisecond))
		must(t, end(t, k, fmt.Sprint(i)))
	}
	if got := strings.Fields(raisesOf(t, k)); len(got) != 100 || got[0] != "3" || got[99] != "102" {
		t.Errorf("%d raises are known: %q", len(got), got)
	}
	raise(t, k, "more", "1", noon)
}

// TestRaisesOfARemovedTeamAreForgotten: another team may get its name.
func TestRaisesOfARemovedTeamAreForgotten(t *testing.T) {
	forms(t, func(t *testing.T, k kept) {
		must(t, create(k, "search"))
		must(t, create(k, "maps"))
		raise(t, k, "first", "500", k.clock())
		change := func(c teams.Change) {
			_, err := teams.Commit(t.Context(), k, teams.Order{Who: "test", Now: k.clock()},
				func(teams.Document) (teams.Change, error) { return c, nil })
			must(t, err)
		}
		change(teams.EndTeam{ID: "search", IfMatch: "*", Now: k.clock()})
		if got := raisesOf(t, k); got != "first" {
			t.Errorf("the raises are %q while the team ends", got)
		}
		change(teams.RemoveTeam{ID: "search"})
		if got := raisesOf(t, k); got != "" || faultsOf(t, k) != nil {
			t.Errorf("the raises are %q, %v", got, faultsOf(t, k))
		}
	})
}

// A raise that was changed without an entry is found, at once or by the proof.
func TestTamperingWithRaisesIsFound(t *testing.T) {
	forms(t, func(t *testing.T, k kept) {
		now := k.clock()
		raise(t, k, "first", "500", now)
		state, err := k.Read(t.Context())
		must(t, err)
		state.Raises = bytes.Replace(state.Raises, []byte("500"), []byte("900"), 1)
		if state.Check() == nil {
			t.Error("a changed raise is believed")
		}
		must(t, create(k, "maps"))
		state, err = k.Read(t.Context())
		must(t, err)
		state.Raises = bytes.Replace(state.Raises, []byte("500"), []byte("900"), 1)
		var p teams.Proof
		for text, err := range k.Entries(t.Context(), false) {
			must(t, err)
			p.Add(text)
		}
		if faults := p.Verify(state); len(faults) != 1 || !strings.Contains(faults[0], "raises") {
			t.Errorf("the proof finds %v", faults)
		}
	})
}

// TestLostRaisesAreRestored with the directory, also if a process of a version that does not know them was faster.
func TestLostRaisesAreRestored(t *testing.T) {
	forms(t, func(t *testing.T, k kept) {
		must(t, create(k, "maps"))
		raise(t, k, "first", "500", k.clock())
		known, err := k.Read(t.Context())
		must(t, err)
		older := known
		older.Raises = nil
		for about, by := range map[string]teams.State{"this version": known, "the version before": older} {
			k.lose()
			has, err := k.Read(t.Context())
			must(t, err)
			next, err := teams.Restored(has, by, teams.Order{Who: "replica", Now: k.clock()})
			must(t, err)
			must(t, k.Write(t.Context(), has, next))
			must(t, create(k, "tiles"))
			if has, err = k.Read(t.Context()); err != nil || teams.Lost(has, known) != (by.Raises == nil) {
				t.Fatalf("restored by %s: lost %v, %v", about, teams.Lost(has, known), err)
			}
			if by.Raises == nil {
				next, err := teams.Restored(has, known, teams.Order{Who: "replica", Now: k.clock()})
				must(t, err)
				must(t, k.Write(t.Context(), has, next))
			}
			if diff := cmp.Diff([]string{"maps", "tiles"}, teamsOf(t, k)); diff != "" || raisesOf(t, k) != "first" {
				t.Errorf("restored by %s: %q\n%s", about, raisesOf(t, k), diff)
			}
		}
	})
}

// TestVersionsWithoutRaisesReadTheDirectory: its file and its document are as they were, and what they write keeps the raises.
func TestVersionsWithoutRaisesReadTheDirectory(t *testing.T) {
	f, path := someFile(t)
	raise(t, f, "first", "500", time.Now())
	var members map[string]any
	must(t, json.Unmarshal(read(t, path), &members))
	trail, _ := members["audit"].(map[string]any)
	if diff := cmp.Diff([]string{"audit", "teams", "version", "first", "last"},
		slices.Concat(slices.Sorted(maps.Keys(members)), slices.Sorted(maps.Keys(trail)))); diff != "" {
		t.Errorf("the members of the file, which is read strictly:\n%s", diff)
	}
	var beside []map[string]any
	must(t, json.Unmarshal(read(t, path+".raises"), &beside))
	if info, err := os.Stat(path + ".raises"); err != nil || info.Mode().Perm() != 0o600 || len(beside) != 1 {
		t.Errorf("%v, %v: %v", info, err, beside)
	}
	raise(t, f, "second", "5", time.Now())
	before := read(t, path)
	raise(t, f, "third", "5", time.Now())
	write(t, path, before) // the process ended between its two files
	if got := raisesOf(t, f); got != "first second" {
		t.Errorf("after a crash the raises are %q", got)
	}
	must(t, create(f, "c"))
	if got := raisesOf(t, f); got != "first second" {
		t.Errorf("after a crash and a change the raises are %q", got)
	}
	must(t, os.Remove(path))
	must(t, create(f, "c"))
	if got := raisesOf(t, f); got != "" {
		t.Errorf("another directory has the raises %q", got)
	}
}

// A raise is in force from when it is read until its time, on teams of both owners, and then ends by itself.
func TestARaiseEndsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(noon)) // simulated
		f := store.NewFile(t.TempDir()+"/directory.json", time.Now)
		var mu sync.Mutex // a timer applies, too
		var limits []int64
		look := func(file *teams.File) {
			mu.Lock()
			defer mu.Unlock()
			limits = append(limits, file.Team("search").Quotas[0].Limit)
		}
		compare := func(when string, want ...int64) {
			t.Helper()
			mu.Lock()
			defer mu.Unlock()
			if diff := cmp.Diff(want, limits); diff != "" {
				t.Errorf("%s the limits are, one after the other:\n%s", when, diff)
			}
		}
		live := store.NewLive(fileOf(t, quotasOfTwo), nil, time.Now, look)
		follow := func() {
			t.Helper()
			s, err := f.Read(t.Context())
			must(t, err)
			must(t, live.SetDirectory(s))
		}
		raise(t, f, "first", "500", time.Now(), noon.Add(time.Hour))
		raise(t, f, "second", "20", time.Now())
		follow()
		follow() // nothing has changed
		must(t, create(f, "maps"))
		follow()
		live.SetFile(fileOf(t, strings.Replace(quotasOfTwo, "500", "100", 1)), nil, look)
		time.Sleep(time.Hour)
		synctest.Wait()
		time.Sleep(11*time.Hour - time.Nanosecond)
		synctest.Wait()
		compare("before midnight", 1020, 1020, 620, 120)
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		time.Sleep(40 * 24 * time.Hour)
		synctest.Wait()
		compare("in the end", 1020, 1020, 620, 120, 100)
	})
}
