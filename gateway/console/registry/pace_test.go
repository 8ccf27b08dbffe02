package registry_test

import (
	"testing"
	"time"

	"sluice/gateway/console/registry"
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
			_, err := w.Mint(ctx, member, "maps", registry.KeyOrder{})
			w.must(err)
		}
		before := len(w.entries())
		w.refused(w.Cancel(ctx, member, "maps", "task-1"), registry.Often, "")
		_, err := w.Mint(ctx, member, "maps", registry.KeyOrder{})
		w.refused(err, registry.Often, "")
		w.refused(w.EndKey(ctx, member, "maps", "aaaaaaaaaaaa"), registry.Often, "")
		w.refused(w.Cancel(ctx, member, "ads", "task-2"), registry.Missing, "id")
		if after := len(w.entries()); after != before {
			t.Errorf("%d more entries", after-before)
		}
		w.must(w.Cancel(ctx, operator, "maps", "task-1"))
		w.now = w.now.Add(10 * time.Minute)
		w.must(w.Cancel(ctx, member, "maps", "task-1"))
	})
}
