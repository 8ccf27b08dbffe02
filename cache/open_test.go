package cache_test

import (
	"fmt"
	"testing"

	"sluice/cache"
)

// Tasks that have not ended are listed over teams, newest first, whichever replica made them or heard of their end.
func TestOpenTasksOfTeamsAreListed(t *testing.T) {
	forms(t, func(t *testing.T, replica func() claims) {
		ctx, views := t.Context(), []claims{replica(), replica()}
		for n := range 12 {
			claim := aClaim([]string{"search", "shop", "ads"}[n%3], fmt.Sprint("t", n))
			if n%2 == 1 {
				claim.Model = "other"
			}
			views[n%2].Put(ctx, claim)
		}
		for n, status := range map[int]cache.Status{3: cache.Succeeded, 4: cache.Running, 7: cache.Failed} {
			claim, _, _ := views[0].Get(ctx, []string{"search", "shop", "ads"}[n%3], fmt.Sprint("t", n))
			_, _ = views[1].Hear(ctx, &claim, heard(claim.Task, status), []byte("r"), 0)
		}
		all := []string{"search", "shop", "ads"}
		for _, tt := range []struct {
			name   string
			teams  []string
			filter cache.Filter
			want   string
			total  int
		}{
			{"all", all, cache.Filter{Size: 100}, "[t11 t10 t9 t8 t6 t5 t4 t2 t1 t0]", 10},
			{"a page", all, cache.Filter{Size: 3, Page: 2}, "[t8 t6 t5]", 10},
			{"behind the last page", all, cache.Filter{Size: 3, Page: 5}, "[]", 10},
			{"one team", []string{"shop"}, cache.Filter{}, "[t10 t4 t1]", 3},
			{"no team", nil, cache.Filter{}, "[]", 0},
			{"a team without tasks", []string{"none"}, cache.Filter{Model: "m"}, "[]", 0},
			{"a model", all, cache.Filter{Model: "other"}, "[t11 t9 t5 t1]", 4},
			{"a state", all, cache.Filter{Status: cache.Running}, "[t4]", 1},
			{"a state that ends", all, cache.Filter{Status: cache.Failed}, "[]", 0},
		} {
			tt.filter.Open = true
			page, total, err := views[0].List(ctx, tt.teams, tt.filter)
			got := make([]string, len(page))
			for i := range page {
				got[i] = page[i].Task
			}
			if fmt.Sprint(got) != tt.want || total != tt.total || err != nil {
				t.Errorf("%s: %v of %d, %v; want %s of %d", tt.name, got, total, err, tt.want, tt.total)
			}
		}
		if page, _, _ := views[1].List(ctx, []string{"shop"}, cache.Filter{Open: true, Status: cache.Running}); string(page[0].Body) != "r" || page[0].Hold.ID != "h-t4" {
			t.Errorf("the running task is %+v", page[0])
		}
	})
}
