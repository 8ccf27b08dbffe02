package mirror

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"sluice/gateway/mirror/store"
	"sluice/policy/event"
	"sluice/policy/unit"
)

// Verification compares a day's successes with a store.
type Verification struct {
	Store     store.Store
	Teams     []string
	Succeeded func(ctx context.Context, team, day string) (event.Successes, error) // as in [Works]
	// for how long teams keep pictures; absent: longer than any day is verified
	Keep map[string]time.Duration
	Now  time.Time
}

// Run writes a line for each picture that is missing, and one with the sums, of the teams that still keep the day. day is as in
// "2026/11/26".
func (v *Verification) Run(ctx context.Context, out io.Writer, day string) (missing int, err error) {
	tasks, pictures := 0, 0
	for _, team := range v.Teams {
		if keep, ends := v.Keep[team]; ends && below(team, day, "") < firstKept(team, keep, v.Now) {
			continue // its pictures of the day were deleted
		}
		succeeded, err := v.Succeeded(ctx, team, day)
		if err != nil {
			return missing, fmt.Errorf("the successes of team %s cannot be read: %w", team, err)
		}
		kept, err := v.kept(ctx, team, day, succeeded)
		if err != nil {
			return missing, fmt.Errorf("the pictures of team %s cannot be listed: %w", team, err)
		}
		for _, task := range slices.Sorted(maps.Keys(succeeded)) {
			tasks, pictures = tasks+1, pictures+succeeded[task]
			for n := 1; n <= succeeded[task]; n++ {
				if !kept[picture{task, n}] {
					missing++
					if _, err := fmt.Fprintf(out, "missing %s %s %d\n", team, task, n); err != nil {
						return missing, err
					}
				}
			}
		}
	}
	are := "are"
	if missing == 1 {
		are = "is"
	}
	_, err = fmt.Fprintf(out, "%s: %d %s succeeded with %d %s, %d of them %s missing\n", day,
		tasks, unit.Noun(int64(tasks), "tasks"), pictures, unit.Noun(int64(pictures), "pictures"), missing, are)
	return missing, err
}

// picture names one of a team's tasks, counted from 1.
type picture struct {
	task string
	n    int
}

// kept are the pictures of a team's day that are in the store.
func (v *Verification) kept(ctx context.Context, team, of string, succeeded event.Successes) (map[picture]bool, error) {
	kept := map[picture]bool{}
	if len(succeeded) == 0 {
		return kept, nil
	}
	for after := ""; ; {
		list, err := v.Store.List(ctx, team+"/"+of+"/", after, batch)
		if err != nil {
			return nil, err
		}
		for _, key := range list {
			after = key
			if _, task, n, ok := pictureOf(key); ok {
				kept[picture{task, n}] = true
			}
		}
		if len(list) < batch {
			return kept, nil
		}
	}
}
