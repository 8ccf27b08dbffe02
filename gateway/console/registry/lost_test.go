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
		version := int64(2)
		file := w.File()
		again := func(kept kept) *registry.Registry {
			return registry.New(registry.Deps{
				Directory: kept, Trail: kept, File: func() *teams.File { return file }, Accounts: w.accounts, Now: w.Now, Random: rand.Reader,
				Version: func() int64 { return version },
			})
		}
		lost := &lostStore{kept: w.store}
		r := again(lost)
		if _, err := r.Show(w.Context(), operator.Person, "maps"); err != nil {
			t.Error("before:", err)
		}
		lost.lost = true
		_, err := r.Create(w.Context(), operator, draft("new", ""))
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
		version = 1 // a change that this replica has not put in force yet
		if _, err := r.Show(w.Context(), operator.Person, "new"); err != nil {
			t.Error("a newer one:", err)
		}
	})
}

// lostStore is a store whose memory may be gone.
type lostStore struct {
	kept
	lost bool
}

func (l *lostStore) Head(ctx context.Context) (string, error) {
	if l.lost {
		return "", nil
	}
	return l.kept.Head(ctx)
}

func (l *lostStore) Read(ctx context.Context) (directory.State, error) {
	if l.lost {
		return directory.State{}, nil
	}
	return l.kept.Read(ctx)
}
