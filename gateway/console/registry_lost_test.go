package console

import (
	"context"
	"crypto/rand"
	"slices"
	"testing"

	"sluice/gateway/console/access"
	"sluice/policy/teams"
)

// TestNoChangeOfALostDirectory: the store has lost it, and this replica restores it within a second, overwriting any change.
func TestNoChangeOfALostDirectory(t *testing.T) {
	worlds(t, func(w *world) {
		w.create("maps", "")
		w.create("ads2", "")
		known, err := w.store.Read(w.Context())
		w.must(err)
		file := w.File()
		again := func(kept teams.Store) *Registry {
			return NewRegistry(RegistryDeps{
				Directory: kept, File: func() *teams.File { return file }, Balances: w.balances, Now: w.Now, Random: rand.Reader,
				InForce: func() teams.State { return known },
			})
		}
		lost := &lostStore{Store: w.store}
		r := again(lost)
		if _, err := r.Show(w.Context(), operator.Person, "maps"); err != nil {
			t.Error("before:", err)
		}
		lost.lost = true
		_, err = r.Create(w.Context(), operator, draft("new", ""))
		w.refused(err, teams.CodeAway, "")
		_, err = r.Mint(w.Context(), operator, "maps", "*", teams.KeyOrder{})
		w.refused(err, teams.CodeAway, "")
		_, err = r.Show(w.Context(), operator.Person, "maps")
		w.refused(err, teams.CodeAway, "")
		_, _, err = r.Page(w.Context(), operator.Person, "", 10)
		w.refused(err, teams.CodeAway, "")
		var ids []string
		for _, team := range r.Known(operator.Person) {
			ids = append(ids, team.ID)
		}
		if !slices.Contains(ids, "maps") || !slices.Contains(ids, file.List[0].ID) || !slices.IsSorted(ids) {
			t.Errorf("while it is away, %v are known", ids)
		}
		if own := r.Known(access.Person{Role: access.Member, Teams: []string{"maps"}}); len(own) != 1 || own[0].ID != "maps" {
			t.Errorf("a member sees %v", own)
		}
		lost.lost = false
		if _, err := r.Create(w.Context(), operator, draft("new", "")); err != nil {
			t.Error("when it is back:", err)
		}
		w.must(teams.Note(w.Context(), w.store, teams.Order{Who: "test", Now: w.now}, teams.Entry{What: "usage.adjust"}))
		known, err = w.store.Read(w.Context())
		w.must(err)
		lost.cut = 1 // only of the audit
		_, err = r.Create(w.Context(), operator, draft("newer", ""))
		w.refused(err, teams.CodeAway, "")
	})
}

// lostStore is a store whose memory may be gone, or may lack its last entry.
type lostStore struct {
	teams.Store
	lost bool
	cut  int64 // entries
}

func (l *lostStore) Head(ctx context.Context) (string, error) {
	s, err := l.Read(ctx)
	return s.Head(), err
}

func (l *lostStore) Read(ctx context.Context) (teams.State, error) {
	s, err := l.Store.Read(ctx)
	switch {
	case l.lost:
		return teams.State{}, nil
	case l.cut > 0:
		last, err := teams.ReadEntry(s.Last)
		last.Seq -= l.cut
		s.Last = last.Text()
		return s, err
	}
	return s, err
}

// TestTheFileChangesWhileItIsListed: its team may be listed or not, but hides no other.
func TestTheFileChangesWhileItIsListed(t *testing.T) {
	worlds(t, func(w *world) {
		w.create("maps", "")
		before := w.File()
		after, err := teams.Parse([]byte("teams: [{id: search}]"))
		w.must(err)
		for look := range 4 {
			looks := 0
			w.RegistryDeps.File = func() *teams.File {
				if looks++; looks <= look {
					return before
				}
				return after
			}
			list, _, err := w.Page(w.Context(), operator.Person, "", 10)
			if err != nil || len(list) < 2 {
				t.Errorf("replaced after look %d: %d teams, %v", look, len(list), err)
			}
		}
	})
}
