package console

import (
	"errors"
	"strings"
	"testing"
	"time"

	"sluice/gateway/console/access"
	"sluice/policy/teams"
)

// TestMembersDoNotFloodTheAudit: it keeps every change for 400 days, and a key of the team is enough to cancel and to make keys.
func TestMembersDoNotFloodTheAudit(t *testing.T) {
	worlds(t, func(w *world) {
		ctx := w.Context()
		w.create("maps", `"self_service":true`)
		for range 200 {
			w.must(w.Cancel(ctx, member, "maps", "task-1"))
		}
		for range 10 {
			_, err := w.Mint(ctx, member, "maps", "*", teams.KeyOrder{})
			w.must(err)
		}
		before := len(w.entries())
		told := 0
		w.PaceReached = func() { told++ }
		w.refused(w.Cancel(ctx, member, "maps", "task-1"), teams.CodeOften, "")
		_, err := w.Mint(ctx, member, "maps", "*", teams.KeyOrder{})
		w.refused(err, teams.CodeOften, "")
		w.refused(w.EndKey(ctx, member, "maps", "aaaaaaaaaaaa"), teams.CodeOften, "")
		w.refused(w.Cancel(ctx, member, "ads", "task-2"), teams.CodeMissing, "id")
		if after := len(w.entries()); after != before {
			t.Errorf("%d more entries", after-before)
		}
		if told != 3 {
			t.Errorf("told of %d refusals", told)
		}
		w.must(w.Cancel(ctx, operator, "maps", "task-1"))
	})
}

// TestMembersMayChangeMoreLater: one change when the refusal says, and the full burst after ten minutes.
func TestMembersMayChangeMoreLater(t *testing.T) {
	if testing.Short() {
		t.Skip("many changes, one after the other")
	}
	worlds(t, func(w *world) {
		ctx := w.Context()
		w.create("maps", `"self_service":true`)
		// makes makes keys until it is refused, and returns the number of keys and the wait.
		makes := func() (made int, wait time.Duration) {
			for ; ; made++ {
				_, err := w.Mint(ctx, member, "maps", "*", teams.KeyOrder{})
				var often *teams.Problem
				if errors.As(err, &often) && often.Code == teams.CodeOften {
					return made, often.Wait
				}
				w.must(err)
			}
		}
		if made, wait := makes(); made != 30 || wait != 20*time.Second {
			t.Errorf("%d keys, and then %v", made, wait)
		}
		w.now = w.now.Add(2 * time.Second)
		w.must(w.Cancel(ctx, member, "maps", "task-1"))
		w.refused(w.Cancel(ctx, member, "maps", "task-1"), teams.CodeOften, "")
		w.now = w.now.Add(20 * time.Second)
		if made, wait := makes(); made != 1 || wait != 20*time.Second {
			t.Errorf("%d keys 20 s later, and then %v", made, wait)
		}
		w.now = w.now.Add(10 * time.Minute)
		if made, _ := makes(); made != 30 {
			t.Errorf("%d keys 10 min later", made)
		}
	})
}

// fills writes an entry of size bytes about a team.
func (w *world) fills(team string, size int) {
	w.Helper()
	s, err := w.store.Read(w.Context())
	w.must(err)
	order := teams.Order{Who: "test", Now: w.now}
	next, err := s.Next(nil, teams.Entry{What: "test", Team: team}, order)
	w.must(err)
	e, err := teams.ReadEntry(next.Last)
	w.must(err)
	e.Before = []byte(`"` + strings.Repeat("x", size-len(next.Last)-len(`"before":"",`)) + `"`)
	next.Last = e.Text()
	w.must(w.store.Write(w.Context(), s, next))
}

// TestMembersDoNotFillTheAudit of a day; operators and other teams' members can still make changes, and a day later all can.
func TestMembersDoNotFillTheAudit(t *testing.T) {
	if testing.Short() {
		t.Skip("many changes, one after the other")
	}
	worlds(t, func(w *world) {
		ctx, told := w.Context(), 0
		w.AuditReached = func() { told++ }
		w.create("maps", `"self_service":true`)
		w.create("gone", `"self_service":true`)
		created, err := w.store.Written(ctx, "maps", w.now)
		w.must(err)
		w.fills("maps", int(4_000_000-created-500))
		w.traffic.cancel = &teams.Problem{Code: teams.CodeConflict, Field: "task", Text: "it runs"}
		w.refused(w.Cancel(ctx, member, "maps", "task-1"), teams.CodeConflict, "task") // its outcome is written, too
		before, err := w.store.Written(ctx, "maps", w.now)
		w.must(err)
		for _, err := range []error{w.Cancel(ctx, member, "maps", "task-1"), mints(w, member, "maps")} {
			var full *teams.Problem
			if !errors.As(err, &full) || full.Code != teams.CodeFull || full.Wait != 12*time.Hour ||
				full.Advice != "wait until 2026-11-23T00:00:00Z, or ask an operator" {
				t.Errorf("%+v", err)
			}
		}
		after, err := w.store.Written(ctx, "maps", w.now)
		if e := w.entries(); err != nil || after != before || before <= 4_000_000 || e[0].What != "task.cancel.refused" || told != 2 {
			t.Errorf("%d bytes and %d, %v; %d told; the last entry is %+v", before, after, err, told, e[0])
		}
		w.must(mints(w, member, "gone"))
		w.must(mints(w, operator, "maps"))
		if more, err := w.store.Written(ctx, "maps", w.now); err != nil || more <= after {
			t.Errorf("an operator's change is not counted: %d, %v", more, err)
		}
		w.now = w.now.Add(12 * time.Hour)
		w.must(mints(w, member, "maps"))
	})
}

// mints makes a key of a team.
func mints(w *world, a access.Actor, team string) error {
	_, err := w.Mint(w.Context(), a, team, "*", teams.KeyOrder{})
	return err
}
