package store_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/policy/teams"
)

func TestTheLatestEntriesComeFirst(t *testing.T) {
	forms(t, func(t *testing.T, k kept) {
		read := func(most int) (seqs []int64) {
			for text, err := range k.Entries(t.Context(), true) {
				must(t, err)
				e, err := teams.ReadEntry(text)
				must(t, err)
				if seqs = append(seqs, e.Seq); len(seqs) == most {
					break
				}
			}
			return seqs
		}
		if seqs := read(1); seqs != nil {
			t.Errorf("an empty store has %v", seqs)
		}
		const entries = 3
		for i := range entries {
			must(t, create(k, fmt.Sprintf("team-%d", i)))
		}
		if diff := cmp.Diff([][]int64{{3, 2, 1}, {3, 2}}, [][]int64{read(10), read(2)}); diff != "" {
			t.Error(diff)
		}
	})
}

// An entry about a change elsewhere leaves the directory as it is, and is part of the chain, also before the first document.
func TestNotesAreInTheTrail(t *testing.T) {
	forms(t, func(t *testing.T, k kept) {
		note := func() error {
			return teams.Note(t.Context(), k, teams.Order{Who: "test", Now: k.clock()}, teams.Entry{What: "usage.adjust", Team: "a"})
		}
		must(t, note())
		must(t, create(k, "a"))
		must(t, note())
		if diff := cmp.Diff([]string{"a"}, teamsOf(t, k)); diff != "" {
			t.Error(diff)
		}
		s, err := k.Read(t.Context())
		must(t, err)
		if last, err := teams.ReadEntry(s.Last); err != nil || last.Seq != 3 || last.What != "usage.adjust" || last.Version != 1 {
			t.Errorf("%+v, %v", last, err)
		}
		if faults := faultsOf(t, k); faults != nil {
			t.Error(faults)
		}
	})
}

// An entry needs no document that this version of Sluice can read, nor the time to read it; a change does.
func TestNotesDoNotReadTheDocument(t *testing.T) {
	forms(t, func(t *testing.T, k kept) {
		document := []byte("{\"version\":1,\n\"teams\":[{\"id\":\"a\",\"of_the_future\":1}]}\n")
		sum := sha256.Sum256(document)
		first := teams.Entry{Seq: 1, Time: k.clock(), Who: "test", What: "team.create", Version: 1, Digest: hex.EncodeToString(sum[:])}
		must(t, k.Write(t.Context(), teams.State{}, teams.State{Document: document, Last: first.Text(), First: 1}))
		must(t, teams.Note(t.Context(), k, teams.Order{Who: "test", Now: k.clock()}, teams.Entry{What: "usage.adjust"}))
		if err := create(k, "b"); err == nil {
			t.Error("a change is built on a document that cannot be read")
		}
		k.tamper("future", "past")
		if err := teams.Note(t.Context(), k, teams.Order{Who: "test", Now: k.clock()}, teams.Entry{What: "usage.adjust"}); err == nil {
			t.Error("an entry follows a document that was changed without one")
		}
	})
}

func TestHoursAreForgotten(t *testing.T) {
	forms(t, func(t *testing.T, k kept) {
		at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
		must(t, k.NoteUsed(t.Context(), map[string]time.Time{"a": at, "b": at}))
		must(t, k.NoteUsed(t.Context(), map[string]time.Time{"a": {}, "c": {}}))
		used, err := k.Used(t.Context())
		must(t, err)
		if diff := cmp.Diff(map[string]time.Time{"b": at}, used); diff != "" {
			t.Error(diff)
		}
	})
}

// A store that has the same document with an older end of its trail has lost entries.
func TestLostEntriesAreNoticed(t *testing.T) {
	forms(t, func(t *testing.T, k kept) {
		note := func() {
			must(t, teams.Note(t.Context(), k, teams.Order{Who: "test", Now: k.clock()}, teams.Entry{What: "usage.adjust"}))
		}
		state := func() teams.State {
			s, err := k.Read(t.Context())
			must(t, err)
			return s
		}
		note()
		noted := state()
		if teams.Lost(noted, teams.State{}) || teams.Lost(noted, noted) || !teams.Lost(teams.State{}, noted) {
			t.Error("an entry without a document")
		}
		must(t, create(k, "a"))
		first := state()
		note()
		second := state()
		must(t, create(k, "b"))
		third := state()
		for about, lost := range map[string]bool{
			"older entries":  teams.Lost(first, second),
			"older document": teams.Lost(second, third),
			"nothing":        teams.Lost(teams.State{}, first),
		} {
			if !lost {
				t.Errorf("%s: not noticed", about)
			}
		}
		if teams.Lost(second, first) || teams.Lost(third, second) {
			t.Error("what follows is taken for a loss")
		}
		next, err := teams.Restored(first, second, teams.Order{Who: "replica"})
		must(t, err)
		if e, err := teams.ReadEntry(next.Last); err != nil || e.Seq != 4 || string(next.Document) != string(second.Document) {
			t.Errorf("restored as entry %d, %v", e.Seq, err)
		}
	})
}
