package registry_test

import (
	"context"
	"crypto/rand"
	"testing"

	"sluice/gateway/console/registry"
	"sluice/policy/directory"
	"sluice/policy/teams"
)

// TestNoChangeOfALostDirectory: the store has lost it, and this replica writes it back within a second, over any change.
func TestNoChangeOfALostDirectory(t *testing.T) {
	worlds(t, func(w *world) {
		w.create("maps", "")
		w.create("ads2", "")
		known, err := w.store.Read(w.Context())
		w.must(err)
		file := w.File()
		again := func(kept kept) *registry.Registry {
			return registry.New(registry.Deps{
				Directory: kept, Trail: kept, File: func() *teams.File { return file }, Accounts: w.accounts, Now: w.Now, Random: rand.Reader,
				InForce: func() directory.State { return known },
			})
		}
		lost := &lostStore{kept: w.store}
		r := again(lost)
		if _, err := r.Show(w.Context(), operator.Person, "maps"); err != nil {
			t.Error("before:", err)
		}
		lost.lost = true
		_, err = r.Create(w.Context(), operator, draft("new", ""))
		w.refused(err, registry.Away, "")
		_, err = r.Mint(w.Context(), operator, "maps", registry.KeyOrder{})
		w.refused(err, registry.Away, "")
		_, err = r.Show(w.Context(), operator.Person, "maps")
		w.refused(err, registry.Away, "")
		_, _, err = r.List(w.Context(), operator.Person, "", 10)
		w.refused(err, registry.Away, "")
		lost.lost = false
		if _, err := r.Create(w.Context(), operator, draft("new", "")); err != nil {
			t.Error("when it is back:", err)
		}
		w.must(directory.Note(w.Context(), w.store, directory.Order{Who: "test", Now: w.now}, directory.Entry{What: "usage.adjust"}))
		known, err = w.store.Read(w.Context())
		w.must(err)
		lost.cut = 1 // of the audit alone
		_, err = r.Create(w.Context(), operator, draft("newer", ""))
		w.refused(err, registry.Away, "")
	})
}

// lostStore is a store whose memory may be gone, or may lack its last entry.
type lostStore struct {
	kept
	lost bool
	cut  int64 // entries
}

func (l *lostStore) Head(ctx context.Context) (string, error) {
	s, err := l.Read(ctx)
	return s.Head(), err
}

func (l *lostStore) Read(ctx context.Context) (directory.State, error) {
	s, err := l.kept.Read(ctx)
	switch {
	case l.lost:
		return directory.State{}, nil
	case l.cut > 0:
		last, err := directory.ReadEntry(s.Last)
		last.Seq -= l.cut
		s.Last = last.Text()
		return s, err
	}
	return s, err
}

// TestTheFileChangesWhileItIsListed: its team is listed or not, and hides no other.
func TestTheFileChangesWhileItIsListed(t *testing.T) {
	worlds(t, func(w *world) {
		w.create("maps", "")
		before := w.File()
		after, err := teams.Parse([]byte("teams: [{id: search}]"))
		w.must(err)
		for look := range 4 {
			looks := 0
			w.Deps.File = func() *teams.File {
				if looks++; looks <= look {
					return before
				}
				return after
			}
			list, _, err := w.List(w.Context(), operator.Person, "", 10)
			if err != nil || len(list) < 2 {
				t.Errorf("replaced after look %d: %d teams, %v", look, len(list), err)
			}
		}
	})
}
