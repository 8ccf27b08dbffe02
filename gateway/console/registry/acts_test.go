package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/gateway/console/registry"
	"sluice/policy/directory"
	"sluice/policy/limit"
	"sluice/policy/teams"
)

// open gives a team an open hold, and returns what settles it.
func open(w *world, id string) (settle func()) {
	w.Helper()
	team := &teams.Team{ID: id}
	v, err := w.accounts.Admit(w.Context(), &limit.Hold{ID: "one", Team: team, Lease: time.Hour})
	w.must(err)
	return func() {
		w.Helper()
		_, err := w.accounts.Settle(w.Context(), &limit.Charge{Held: v.Held, Team: team})
		w.must(err)
	}
}

func TestCorrectionsHaveEntries(t *testing.T) {
	worlds(t, func(w *world) {
		ctx := w.Context()
		w.create("maps", "")
		a := operator
		a.Reason = "counted twice"
		done, err := w.Adjust(ctx, a, "maps", registry.Correction{Unit: teams.UnitSpend, Delta: "1.5"})
		if err != nil || done.Month != 1.5*teams.Nano {
			w.Errorf("%+v, %v", done, err)
		}
		_, err = w.Adjust(ctx, a, "ads", registry.Correction{Unit: teams.UnitTokens, Delta: "-1"})
		w.refused(err, registry.Conflict, "delta")
		for _, tt := range []struct {
			unit          teams.Unit
			delta, reason string
			field         string
		}{
			{"token", "1", "test", "unit"}, {"tokens", "0", "test", "delta"}, {"tokens", "1.5", "test", "delta"}, {"tokens", "1e3", "test", "delta"},
			{"tokens", "1", " ", "reason"}, {"tokens", "1", strings.Repeat("x", 201), "reason"}, {"tokens", "1", "a\nb", "reason"},
		} {
			a.Reason = tt.reason
			_, err := w.Adjust(ctx, a, "maps", registry.Correction{Unit: tt.unit, Delta: tt.delta})
			w.refused(err, registry.Invalid, tt.field)
		}
		var got []string
		for _, e := range w.entries() {
			var after map[string]string
			_ = json.Unmarshal(e.After, &after)
			got = append(got, strings.Join([]string{e.What, e.Team, e.Reason, after["unit"], after["delta"]}, " "))
		}
		want := []string{"usage.adjust.refused ads counted twice tokens -1", "usage.adjust ads counted twice tokens -1", "usage.adjust.posted maps counted twice spend 1.5", "usage.adjust maps counted twice spend 1.5", "team.create maps   "}
		if diff := cmp.Diff(want, got); diff != "" {
			w.Error(diff)
		}
	})
}

// TestACorrectionWhoseOutcomeIsOpen: the audit says that it was ordered, not that it was posted, and the id leads to it.
func TestACorrectionWhoseOutcomeIsOpen(t *testing.T) {
	worlds(t, func(w *world) {
		w.create("maps", "")
		w.Registry.Accounts = lostAccounts{w.accounts}
		a := operator
		a.Reason = "counted twice"
		_, err := w.Adjust(w.Context(), a, "maps", registry.Correction{Unit: teams.UnitTokens, Delta: "5"})
		w.refused(err, registry.Away, "")
		var after map[string]string
		if e := w.entries(); len(e) != 2 || e[0].What != "usage.adjust" || json.Unmarshal(e[0].After, &after) != nil || !strings.Contains(err.Error(), after["id"]) {
			t.Errorf("%+v\n%v", e, err)
		}
	})
}

// TestAClientThatLeaves does not leave the outcome of its correction open.
func TestAClientThatLeaves(t *testing.T) {
	worlds(t, func(w *world) {
		w.create("maps", "")
		ctx, leave := context.WithCancel(w.Context())
		w.Registry.Accounts = leftAccounts{w.accounts, leave}
		a := operator
		a.Reason = "counted twice"
		if done, err := w.Adjust(ctx, a, "maps", registry.Correction{Unit: teams.UnitTokens, Delta: "5"}); err != nil || done.Day != 5 {
			t.Errorf("%+v, %v", done, err)
		}
		if e := w.entries(); e[0].What != "usage.adjust.posted" {
			t.Errorf("%+v", e[0])
		}
	})
}

// TestAClientThatLeavesACancel does not leave a cancel in the audit that the service refused.
func TestAClientThatLeavesACancel(t *testing.T) {
	worlds(t, func(w *world) {
		w.create("maps", "")
		ctx, leave := context.WithCancel(w.Context())
		w.Registry.Tasks = leftTasks{w.tasks, leave}
		w.refused(w.Cancel(ctx, member, "maps", "task-1"), registry.Conflict, "task")
		if e := w.entries(); e[0].What != "task.cancel.refused" {
			t.Errorf("%+v", e[0])
		}
	})
}

// leftTasks end the request when the service has refused.
type leftTasks struct {
	*someTasks
	leave context.CancelFunc
}

func (l leftTasks) Cancel(context.Context, string, string) error {
	l.leave()
	return &registry.Error{Kind: registry.Conflict, Field: "task", Text: "it runs"}
}

// lostAccounts are those of a Redis whose answers are lost.
type lostAccounts struct{ *limit.Memory }

func (lostAccounts) Adjust(context.Context, string, string, teams.Unit, int64, string) (limit.Adjustment, error) {
	return limit.Adjustment{}, errors.New("lost")
}

// leftAccounts end the request before they post.
type leftAccounts struct {
	*limit.Memory
	leave context.CancelFunc
}

func (l leftAccounts) Adjust(ctx context.Context, id, team string, unit teams.Unit, delta int64, why string) (limit.Adjustment, error) {
	l.leave()
	if err := ctx.Err(); err != nil {
		return limit.Adjustment{}, err
	}
	return l.Memory.Adjust(ctx, id, team, unit, delta, why)
}

func TestCancelsHaveEntries(t *testing.T) {
	worlds(t, func(w *world) {
		ctx := w.Context()
		w.create("maps", "")
		w.must(w.Cancel(ctx, member, "maps", "task-1"))
		w.must(w.Cancel(ctx, operator, "ads", "task-2"))
		for _, task := range []string{"task-2", "task-9", "", "a/b", "x\r\ny", strings.Repeat("t", 129)} { // another team's, unknown, no ids
			w.refused(w.Cancel(ctx, member, "maps", task), registry.Missing, "task")
		}
		w.tasks.err = errors.New("away")
		w.refused(w.Cancel(ctx, member, "maps", "task-1"), registry.Away, "")
		if diff := cmp.Diff([]string{"task-1", "task-2"}, w.tasks.cancelled); diff != "" {
			w.Error(diff)
		}
		if e := w.entries(); len(e) != 3 || e[1].What != "task.cancel" || e[1].Who != "oidc:mia" || string(e[1].After) != `{"task":"task-1"}` {
			w.Errorf("%+v", e)
		}
	})
}

// TestCancelsThatAreNotTaken: the audit does not leave it at a cancel that did not happen.
func TestCancelsThatAreNotTaken(t *testing.T) {
	worlds(t, func(w *world) {
		w.create("maps", "")
		w.tasks.cancel = &registry.Error{Kind: registry.Conflict, Field: "task", Text: "it runs"}
		w.refused(w.Cancel(w.Context(), member, "maps", "task-1"), registry.Conflict, "task")
		w.tasks.cancel = errors.New("away")
		w.refused(w.Cancel(w.Context(), member, "maps", "task-1"), registry.Away, "")
		var got []string
		for _, e := range w.entries() {
			got = append(got, e.What+string(e.After))
		}
		want := []string{`task.cancel{"task":"task-1"}`, `task.cancel.refused{"task":"task-1"}`, `task.cancel{"task":"task-1"}`}
		if diff := cmp.Diff(want, got[:len(got)-1]); diff != "" {
			w.Error(diff)
		}
	})
}

func TestAuditInPages(t *testing.T) {
	worlds(t, func(w *world) {
		for _, id := range []string{"a", "b", "c"} {
			w.create(id, "")
		}
		for _, who := range []registry.Actor{member, stranger} {
			_, _, err := w.Audit(w.Context(), who.Person, registry.AuditQuery{Most: 10})
			w.refused(err, registry.Forbidden, "")
		}
		var seqs []int64
		for q, more := (registry.AuditQuery{Most: 2}), true; more; {
			var list []directory.Entry
			var err error
			list, more, err = w.Audit(w.Context(), viewer.Person, q)
			w.must(err)
			for _, e := range list {
				seqs = append(seqs, e.Seq)
				q.Before = e.Seq
			}
		}
		if diff := cmp.Diff([]int64{3, 2, 1}, seqs); diff != "" {
			w.Error(diff)
		}
		if list, more, err := w.Audit(w.Context(), viewer.Person, registry.AuditQuery{Team: "b", Most: 1}); err != nil || more || len(list) != 1 || list[0].Team != "b" {
			w.Errorf("%+v, %v, %v", list, more, err)
		}
	})
}

// TestAnEntryThatCannotBeRead hides no other one.
func TestAnEntryThatCannotBeRead(t *testing.T) {
	worlds(t, func(w *world) {
		for _, id := range []string{"a", "b", "c"} {
			w.create(id, "")
		}
		w.Registry.Trail = spoiled{w.store}
		if e := w.entries(); len(e) != 2 || e[0].Team != "c" || e[1].Team != "a" {
			t.Errorf("%+v", e)
		}
	})
}

// spoiled has no JSON in place of the second entry from the end.
type spoiled struct{ kept }

func (s spoiled) Latest(ctx context.Context, visit func([]byte) bool) error {
	n := 0
	return s.kept.Latest(ctx, func(text []byte) bool {
		if n++; n == 2 {
			text = text[1:]
		}
		return visit(text)
	})
}

// No answer but that of Mint has a key, and none has a hash.
func TestNoKeyIsShownAgain(t *testing.T) {
	worlds(t, func(w *world) {
		ctx := w.Context()
		w.create("maps", "")
		key, err := w.Mint(ctx, operator, "maps", registry.KeyOrder{})
		w.must(err)
		list, _, err := w.List(ctx, operator.Person, "", 10)
		w.must(err)
		text, err := json.Marshal([]any{list, w.entries()})
		w.must(err)
		s, err := w.store.Read(ctx)
		w.must(err)
		d, err := s.Open()
		w.must(err)
		team, _ := d.Team("maps")
		for _, secret := range []string{canary, key.Key, team.Keys[0].SHA256} {
			if strings.Contains(string(text), secret) {
				w.Errorf("shown: %s", text)
			}
		}
	})
}

func TestADirectoryThatIsAway(t *testing.T) {
	worlds(t, func(w *world) {
		w.Registry.Directory = away{w.store}
		_, err := w.Show(w.Context(), operator.Person, "ads")
		w.refused(err, registry.Away, "")
		if strings.Contains(err.Error(), "secret") {
			w.Errorf("shows the cause: %v", err)
		}
	})
}
