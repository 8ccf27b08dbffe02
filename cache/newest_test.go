package cache_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sluice/cache"
)

// newest lists the newest tasks of teams.
type newest interface {
	ListNewest(ctx context.Context, teams []string, f cache.Filter, before int64) ([]cache.Claim, int64, error)
}

// allNewest follows the pages to the last.
func allNewest(t testing.TB, store newest, teams []string, f cache.Filter) (ids []string, pages int) {
	t.Helper()
	for before := int64(0); ; {
		page, next, err := store.ListNewest(t.Context(), teams, f, before)
		if err != nil {
			t.Fatal(err)
		}
		for i := range page {
			ids = append(ids, page[i].Task)
		}
		if pages++; next == 0 {
			return ids, pages
		}
		if before > 0 && next >= before {
			t.Fatalf("the page behind %d begins at %d", before, next)
		}
		before = next
	}
}

// putLater stores a claim at a later microsecond than any before, so that the order is known.
func putLater(t testing.TB, store claims, claim cache.Claim) {
	for now := time.Now().UnixMicro(); time.Now().UnixMicro() == now; {
		continue
	}
	store.Put(t.Context(), claim)
}

// Tasks are listed over teams, newest first, whichever replica made them and whether or not they have ended.
func TestListNewestOverTeams(t *testing.T) {
	forms(t, func(t *testing.T, replica func() claims) {
		ctx, views := t.Context(), []claims{replica(), replica()}
		for n := range 12 {
			claim := aClaim([]string{"search", "shop", "ads"}[n%3], fmt.Sprint("t", n))
			if n%2 == 1 {
				claim.Model = "other"
			}
			putLater(t, views[n%2], claim)
		}
		claim, _, _ := views[0].Get(ctx, "search", "t3")
		_, _ = views[1].Hear(ctx, &claim, heard("t3", cache.Succeeded), []byte("r"), 0)
		all := []string{"search", "shop", "ads"}
		for _, tt := range []struct {
			name   string
			teams  []string
			filter cache.Filter
			want   string
			pages  int
		}{
			{"all", all, cache.Filter{Size: 100}, "[t11 t10 t9 t8 t7 t6 t5 t4 t3 t2 t1 t0]", 1},
			{"in pages", all, cache.Filter{Size: 5}, "[t11 t10 t9 t8 t7 t6 t5 t4 t3 t2 t1 t0]", 3},
			{"in full pages", all, cache.Filter{Size: 4}, "[t11 t10 t9 t8 t7 t6 t5 t4 t3 t2 t1 t0]", 3},
			{"two teams", all[1:], cache.Filter{Size: 3}, "[t11 t10 t8 t7 t5 t4 t2 t1]", 3},
			{"no team", nil, cache.Filter{}, "[]", 1},
			{"a team without tasks", []string{"none"}, cache.Filter{Model: "m"}, "[]", 1},
			{"a model in pages", all, cache.Filter{Model: "other", Size: 4}, "[t11 t9 t7 t5 t3 t1]", 2},
			{"a state", all, cache.Filter{Status: cache.Succeeded}, "[t3]", 1},
			{"a state of none", all, cache.Filter{Status: cache.Failed}, "[]", 1},
		} {
			got, pages := allNewest(t, views[0].(newest), tt.teams, tt.filter)
			if fmt.Sprint(got) != tt.want || pages != tt.pages {
				t.Errorf("%s: %v on %d pages, want %s on %d", tt.name, got, pages, tt.want, tt.pages)
			}
		}
	})
}

// A page has bounds. However the tasks of many teams are spread, the pages together have each once, in order.
func TestListNewestLosesNone(t *testing.T) {
	forms(t, func(t *testing.T, replica func() claims) {
		store := replica()
		const teams, tasks = 60, 2400 // a page names 333 tasks of each team, and filters 2,000
		var all, odd, ids []string
		for i := range teams {
			all = append(all, fmt.Sprint("team-", i))
		}
		for n := range tasks {
			team := rapid.Custom(func(r *rapid.T) int { return rapid.SampledFrom([]int{0, 0, 0, 0, 1, 2 + n%(teams-2)}).Draw(r, "team") }).Example(n)
			claim := aClaim(all[team], fmt.Sprint("t", n))
			if n%7 == 0 {
				claim.Model, odd = "other", append(odd, claim.Task)
			}
			putLater(t, store, claim)
			ids = append(ids, claim.Task)
		}
		slices.Reverse(ids)
		slices.Reverse(odd)
		if got, pages := allNewest(t, store.(newest), all, cache.Filter{Size: 100}); !slices.Equal(got, ids) {
			t.Errorf("%d tasks on %d pages, want %d", len(got), pages, len(ids))
		}
		if got, pages := allNewest(t, store.(newest), all, cache.Filter{Size: 100, Model: "other"}); !slices.Equal(got, odd) {
			t.Errorf("%d tasks of a model on %d pages, want %d", len(got), pages, len(odd))
		}
	})
}
