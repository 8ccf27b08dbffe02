package console

import (
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/gateway/console/access"
)

func TestEndedSessionsHaveEntries(t *testing.T) {
	worlds(t, func(w *world) {
		w.create("maps", "")
		s := &access.Session{
			ID: strings.Repeat("5e", 32), Person: access.Person{Name: "key:7f3k9q2m4x1c", Role: access.Member, Teams: []string{"maps"}},
			Began: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC), Client: "192.0.2.9", Agent: "a browser",
			Proof: access.Proof{Digest: strings.Repeat("d1", 32), Grant: []byte("sealed")},
		}
		w.must(w.NoteEnded(w.Context(), operator, s))
		all := w.entries() // the newest first
		last := all[0]
		const want = `{"who":"key:7f3k9q2m4x1c","role":"member","teams":["maps"],"address":"192.0.2.9","began":"2026-11-21T09:00:00Z"}`
		if last.What != "session.end" || last.Who != operator.Name || last.Address != operator.Address || string(last.Before) != want ||
			last.After != nil {
			w.Errorf("%s", last.Text())
		}
		if len(all) != 2 || last.Version != all[1].Version {
			w.Errorf("%d entries, or the directory has changed", len(all))
		}
	})
}

// TestManySessionsEndedAtOnce: an operator who ends all sessions of a person sends many concurrent requests, and each has its entry.
func TestManySessionsEndedAtOnce(t *testing.T) {
	worlds(t, func(w *world) {
		const many = 60
		s := &access.Session{Person: access.Person{Name: "oidc:mia", Role: access.Member}}
		errs := make(chan error, many)
		var all sync.WaitGroup
		for range many {
			all.Go(func() { errs <- w.NoteEnded(w.Context(), operator, s) })
		}
		all.Wait()
		close(errs)
		if failed := failures(t, errs); failed > 0 || len(w.entries()) != many {
			t.Errorf("%d of %d failed, %d entries", failed, many, len(w.entries()))
		}
	})
}
