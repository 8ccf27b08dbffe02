package console

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/gateway/console/access"
	"sluice/policy/account"
	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

func TestCorrectionsHaveEntries(t *testing.T) {
	worlds(t, func(w *world) {
		ctx := w.Context()
		w.create("maps", "")
		a := operator
		a.Reason = "counted twice"
		done, err := w.Adjust(ctx, a, "maps", Correction{Unit: unit.NameSpend, Delta: "1.5"})
		if err != nil || done.Month != 1.5*teams.Nano {
			w.Errorf("%+v, %v", done, err)
		}
		_, err = w.Adjust(ctx, a, "ads", Correction{Unit: unit.NameTokens, Delta: "-1"})
		w.refused(err, teams.CodeConflict, "delta")
		for _, tt := range []struct {
			unit          unit.Name
			delta, reason string
			field         string
		}{
			{"token", "1", "test", "unit"}, {"tokens", "0", "test", "delta"}, {"tokens", "1.5", "test", "delta"}, {"tokens", "1e3", "test", "delta"},
			{"tokens", "1", " ", "reason"}, {"tokens", "1", strings.Repeat("x", 201), "reason"}, {"tokens", "1", "a\nb", "reason"},
		} {
			a.Reason = tt.reason
			_, err := w.Adjust(ctx, a, "maps", Correction{Unit: tt.unit, Delta: tt.delta})
			w.refused(err, teams.CodeInvalid, tt.field)
		}
		var got []string
		for _, e := range w.entries() {
			var after map[string]string
			_ = json.Unmarshal(e.After, &after)
			got = append(got, strings.Join([]string{e.What, e.Team, e.Reason, after["unit"], after["delta"]}, " "))
		}
		want := []string{"usage.adjust.refused ads counted twice tokens -1", "usage.adjust ads counted twice tokens -1",
			"usage.adjust.posted maps counted twice spend 1.5", "usage.adjust maps counted twice spend 1.5", "team.create maps   "}
		if diff := cmp.Diff(want, got); diff != "" {
			w.Error(diff)
		}
	})
}

// A correction is for an account at the service that the accounts file or the team's ledger has.
func TestCorrectionsAreForKnownAccounts(t *testing.T) {
	worlds(t, func(w *world) {
		w.create("maps", "")
		a := operator
		a.Reason = "counted twice"
		w.Standings = func() []account.Standing { return []account.Standing{{ID: "eu"}} }
		for id, known := range map[string]bool{"": true, "main": true, "eu": true, "ue": false} {
			_, err := w.Adjust(w.Context(), a, "maps", Correction{Unit: unit.NameTokens, Delta: "5", Account: id})
			switch {
			case known && err != nil:
				w.Errorf("%q: %v", id, err)
			case !known:
				w.refused(err, teams.CodeInvalid, "account")
			}
		}
		w.Standings = nil // the ledger has it by now
		if _, err := w.Adjust(w.Context(), a, "maps", Correction{Unit: unit.NameTokens, Delta: "5", Account: "eu"}); err != nil {
			w.Error(err)
		}
	})
}

// TestACorrectionWhoseOutcomeIsOpen: the audit shows that it was ordered, not that it was posted, and the id identifies it.
func TestACorrectionWhoseOutcomeIsOpen(t *testing.T) {
	worlds(t, func(w *world) {
		w.create("maps", "")
		w.Registry.Balances = lostAccounts{w.balances}
		a := operator
		a.Reason = "counted twice"
		_, err := w.Adjust(w.Context(), a, "maps", Correction{Unit: unit.NameTokens, Delta: "5"})
		w.refused(err, teams.CodeAway, "")
		var after map[string]string
		if e := w.entries(); len(e) != 2 || e[0].What != "usage.adjust" || json.Unmarshal(e[0].After, &after) != nil ||
			!strings.Contains(err.Error(), after["id"]) {
			t.Errorf("%+v\n%v", e, err)
		}
	})
}

// TestAClientThatLeaves does not leave the outcome of its correction open.
func TestAClientThatLeaves(t *testing.T) {
	worlds(t, func(w *world) {
		w.create("maps", "")
		ctx, leave := context.WithCancel(w.Context())
		w.Registry.Balances = leftAccounts{w.balances, leave}
		a := operator
		a.Reason = "counted twice"
		if done, err := w.Adjust(ctx, a, "maps", Correction{Unit: unit.NameTokens, Delta: "5"}); err != nil || done.Day != 5 {
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
		w.Registry.Tasks = leftTasks{w.traffic, leave}
		w.refused(w.Cancel(ctx, member, "maps", "task-1"), teams.CodeConflict, "task")
		if e := w.entries(); e[0].What != "task.cancel.refused" {
			t.Errorf("%+v", e[0])
		}
	})
}

// leftTasks end the request when the service has refused.
type leftTasks struct {
	*someTraffic
	leave context.CancelFunc
}

func (l leftTasks) Cancel(context.Context, string, string) error {
	l.leave()
	return &teams.Problem{Code: teams.CodeConflict, Field: "task", Text: "it runs"}
}

// lostAccounts are accounts in a Redis whose replies are lost.
type lostAccounts struct{ *limit.Memory }

func (lostAccounts) Adjust(context.Context, limit.Correction) (limit.Adjustment, error) {
	return limit.Adjustment{}, errors.New("lost")
}

// leftAccounts end the request before they post.
type leftAccounts struct {
	*limit.Memory
	leave context.CancelFunc
}

func (l leftAccounts) Adjust(ctx context.Context, c limit.Correction) (limit.Adjustment, error) {
	l.leave()
	if err := ctx.Err(); err != nil {
		return limit.Adjustment{}, err
	}
	return l.Memory.Adjust(ctx, c)
}

// TestAnyTaskIDIsCancelled that the gateway claims.
func TestAnyTaskIDIsCancelled(t *testing.T) {
	worlds(t, func(w *world) {
		w.create("maps", "")
		for _, task := range []string{longTask, "~", "...", "..a"} {
			w.traffic.of[task] = "maps"
			w.must(w.Cancel(w.Context(), member, "maps", task))
		}
		if diff := cmp.Diff([]string{longTask, "~", "...", "..a"}, w.traffic.cancelled); diff != "" {
			w.Error(diff)
		}
	})
}

func TestCancelsHaveEntries(t *testing.T) {
	worlds(t, func(w *world) {
		ctx := w.Context()
		w.create("maps", "")
		w.must(w.Cancel(ctx, member, "maps", "task-1"))
		w.must(w.Cancel(ctx, operator, "ads", "task-2"))
		for _, task := range []string{"", "a/b", "x\r\ny", ".", "..", longTask + "t"} { // no ids
			w.traffic.of[task] = "maps"
			w.refused(w.Cancel(ctx, member, "maps", task), teams.CodeMissing, "task")
		}
		for _, task := range []string{"task-2", "task-9"} { // another team's, unknown
			w.refused(w.Cancel(ctx, member, "maps", task), teams.CodeMissing, "task")
		}
		w.traffic.err = errors.New("away")
		w.refused(w.Cancel(ctx, member, "maps", "task-1"), teams.CodeAway, "")
		if diff := cmp.Diff([]string{"task-1", "task-2"}, w.traffic.cancelled); diff != "" {
			w.Error(diff)
		}
		if e := w.entries(); len(e) != 3 || e[1].What != "task.cancel" || e[1].Who != "oidc:mia" || string(e[1].After) != `{"task":"task-1"}` {
			w.Errorf("%+v", e)
		}
	})
}

// TestCancelsThatAreNotTaken: the audit records that the cancel did not happen.
func TestCancelsThatAreNotTaken(t *testing.T) {
	worlds(t, func(w *world) {
		w.create("maps", "")
		w.traffic.cancel = &teams.Problem{Code: teams.CodeConflict, Field: "task", Text: "it runs"}
		w.refused(w.Cancel(w.Context(), member, "maps", "task-1"), teams.CodeConflict, "task")
		w.traffic.cancel = errors.New("away")
		w.refused(w.Cancel(w.Context(), member, "maps", "task-1"), teams.CodeAway, "")
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
		for _, who := range []access.Actor{member, stranger} {
			_, _, err := w.Audit(w.Context(), who.Person, AuditFilter{Most: 10}, 0)
			w.refused(err, teams.CodeForbidden, "")
		}
		var seqs []int64
		for before, more := int64(0), true; more; {
			var list []teams.Entry
			var err error
			list, more, err = w.Audit(w.Context(), viewer.Person, AuditFilter{Most: 2}, before)
			w.must(err)
			for _, e := range list {
				seqs = append(seqs, e.Seq)
				before = e.Seq
			}
		}
		if diff := cmp.Diff([]int64{3, 2, 1}, seqs); diff != "" {
			w.Error(diff)
		}
		if list, more, err := w.Audit(w.Context(), viewer.Person, AuditFilter{Team: "b", Most: 1}, 0); err != nil || more || len(list) != 1 ||
			list[0].Team != "b" {
			w.Errorf("%+v, %v, %v", list, more, err)
		}
	})
}

// TestAPageOfTheAuditIsBounded: 1 MiB of JSON, also with old entries that have whole teams; and every entry is on a page.
func TestAPageOfTheAuditIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("an audit of megabytes")
	}
	worlds(t, func(w *world) {
		const entries = 16
		for i := range entries {
			w.fills("maps", map[bool]int{true: 1_200_000, false: 150_000}[i == 9])
		}
		var seqs []int64
		pages := 0
		for before, more := int64(0), true; more; pages++ {
			var list []teams.Entry
			var err error
			list, more, err = w.Audit(w.Context(), viewer.Person, AuditFilter{Most: 1000}, before)
			w.must(err)
			text, err := json.Marshal(map[string]any{"data": list, "next": "…"})
			w.must(err)
			if len(text) > 1<<20 || len(list) == 0 {
				t.Fatalf("a page of %d entries has %d bytes", len(list), len(text))
			}
			for _, e := range list {
				seqs = append(seqs, e.Seq)
				before = e.Seq
			}
		}
		if len(seqs) != entries || seqs[0] != entries || seqs[entries-1] != 1 || pages > 4 {
			t.Errorf("%d pages with %v", pages, seqs)
		}
		if p, s, err := teams.Prove(w.Context(), w.store); err != nil || p.Verify(s) != nil {
			t.Errorf("%v, %v", p.Verify(s), err)
		}
	})
}

// TestAnEntryThatCannotBeRead hides no other one.
func TestAnEntryThatCannotBeRead(t *testing.T) {
	worlds(t, func(w *world) {
		for _, id := range []string{"a", "b", "c"} {
			w.create(id, "")
		}
		w.Registry.Directory = spoiled{w.store}
		if e := w.entries(); len(e) != 2 || e[0].Team != "c" || e[1].Team != "a" {
			t.Errorf("%+v", e)
		}
	})
}

// spoiled has no JSON in place of the second entry from the end.
type spoiled struct{ teams.Store }

func (s spoiled) Entries(ctx context.Context, backwards bool) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		n := 0
		for text, err := range s.Store.Entries(ctx, backwards) {
			if n++; n == 2 {
				text = text[1:]
			}
			if !yield(text, err) {
				return
			}
		}
	}
}

// TestNoEntryHasAKey: no answer but that of Mint has the key, and no entry has the hash of one.
func TestNoEntryHasAKey(t *testing.T) {
	worlds(t, func(w *world) {
		ctx := w.Context()
		w.create("maps", "")
		key, err := w.Mint(ctx, operator, "maps", "*", teams.KeyOrder{})
		w.must(err)
		list, _, err := w.Page(ctx, operator.Person, "", 10)
		w.must(err)
		teamsText, err := json.Marshal(list)
		w.must(err)
		text, err := json.Marshal(w.entries())
		w.must(err)
		s, err := w.store.Read(ctx)
		w.must(err)
		d, err := s.Open()
		w.must(err)
		team, _ := d.Team("maps")
		for _, secret := range []string{canary, key.Key, hex.EncodeToString(team.Keys[0].SHA256[:])} {
			if strings.Contains(string(text), secret) || strings.Contains(string(teamsText), key.Key) {
				w.Errorf("shown: %s", text)
			}
		}
	})
}

func TestADirectoryThatIsAway(t *testing.T) {
	worlds(t, func(w *world) {
		w.Registry.Directory = away{w.store}
		_, err := w.Show(w.Context(), operator.Person, "ads")
		w.refused(err, teams.CodeAway, "")
		if strings.Contains(err.Error(), "secret") {
			w.Errorf("shows the cause: %v", err)
		}
	})
}

// TestARotationTellsWhenTheOldKeyEnds: not later than before, whatever was asked for.
func TestARotationTellsWhenTheOldKeyEnds(t *testing.T) {
	worlds(t, func(w *world) {
		w.create("maps", "")
		soon, later := noon.AddDate(0, 0, 2), noon.AddDate(0, 0, 7)
		old, err := w.Mint(w.Context(), operator, "maps", "", teams.KeyOrder{Expires: &soon})
		w.must(err)
		made, err := w.Mint(w.Context(), operator, "maps", "", teams.KeyOrder{Replaces: old.ID, OldEnds: &later})
		if err != nil || !made.OldEnds.Equal(soon) || !old.OldEnds.IsZero() {
			w.Errorf("the old key ends %s, %v, want %s", made.OldEnds, err, soon)
		}
	})
}
