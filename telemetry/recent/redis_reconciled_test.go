package recent

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/policy/limit/limittest"
	"sluice/telemetry"
)

// What one process reports, every other one shows, until Redis has lost it; an outage changes nothing.
func TestAReconciliationIsShownByEveryProcess(t *testing.T) {
	client, ctx := limittest.RealRedis(t), t.Context()
	shown := NewReconciled(client)
	shown.read(ctx)
	if last, known := shown.Last(); known {
		t.Fatalf("nothing was reported: %+v", last)
	}
	at := time.Date(2026, 11, 26, 6, 0, 0, 0, time.UTC)
	for _, r := range []telemetry.Reconciled{
		{At: at, Due: at.Add(36 * time.Hour), Outcome: telemetry.ReconciledBeyond, Ratio: 0.0374},
		{At: at.Add(time.Hour), Due: at.Add(37 * time.Hour), Outcome: telemetry.ReconciledWithin},
	} {
		if err := NoteReconciled(ctx, client, r); err != nil {
			t.Fatal(err)
		}
		shown.read(ctx)
		last, known := shown.Last()
		if diff := cmp.Diff(r, last); diff != "" || !known {
			t.Error(diff)
		}
	}
	client.Set(ctx, reconciledKey, "a later version's text", 0)
	shown.read(ctx)
	if last, known := shown.Last(); !known || last.Outcome != telemetry.ReconciledWithin {
		t.Errorf("%+v", last)
	}
	client.Del(ctx, reconciledKey)
	shown.read(ctx)
	if _, known := shown.Last(); known {
		t.Error("it is still shown")
	}
}

func TestWithoutRedisNothingIsReconciled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewReconciled(nil)
		r.Run(t.Context()) // it ends at once
		if _, known := r.Last(); known {
			t.Error("something is known")
		}
	})
}
