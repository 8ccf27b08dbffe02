package cache

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
)

// openTask names a task that has not ended.
type openTask struct {
	team, id string
	created  int64 // by Redis's clock, in microseconds
}

// ListOpen returns one page of the tasks of teams that have not ended, newest first, and how many there are on all pages. It reads
// the agenda of the finisher, which has these tasks alone, and makes three round trips, or two without a filter.
func (r *redisReader) ListOpen(ctx context.Context, teams []string, f Filter) (page []Claim, total int, err error) {
	call, cancel := r.long(context.WithoutCancel(ctx))
	defer cancel()
	open, err := r.openOf(call, teams)
	if f.Open = false; err == nil && !f.admitsAll() {
		open, err = r.chooseOpen(call, open, &f)
	}
	if err != nil {
		return nil, 0, err
	}
	size := PageSize(f.Size)
	from := min((max(f.Page, 1)-1)*size, len(open))
	some := open[from:min(from+size, len(open))]
	calls := make([][]string, len(some))
	for i, t := range some {
		calls[i] = []string{taskKey(t.team, t.id), memoryKey(t.team)}
	}
	replies, err := r.runAll(call, readScript, calls)
	if err != nil {
		return nil, 0, err
	}
	for i, t := range some {
		claim, err := readClaim(t.team, t.id, replies[i], r.Now())
		if err != nil {
			return nil, 0, err
		}
		if claim != nil { // it may have expired since
			page = append(page, *claim)
		}
	}
	return page, len(open), nil
}

// openOf lists the teams' tasks that have not ended, newest first.
func (r *redisReader) openOf(ctx context.Context, teams []string) (open []openTask, err error) {
	calls := make([][]string, len(teams))
	for i, team := range teams {
		calls[i] = []string{tasksKey(team), dueKey(team)}
	}
	replies, err := r.runAll(ctx, openScript, calls, r.TTL.Microseconds())
	if err != nil {
		return nil, err
	}
	for i, reply := range replies {
		for j := 0; j+1 < len(reply); j += 2 {
			id, _ := reply[j].(string)
			text, _ := reply[j+1].(string)
			created, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return nil, errMixed
			}
			open = append(open, openTask{teams[i], id, created})
		}
	}
	slices.SortFunc(open, func(a, b openTask) int {
		return cmp.Or(cmp.Compare(b.created, a.created), strings.Compare(b.id, a.id))
	})
	return open, nil
}

// chooseOpen returns the tasks that the filter admits, after one round trip.
func (r *redisReader) chooseOpen(ctx context.Context, open []openTask, f *Filter) (chosen []openTask, err error) {
	byTeam := map[string][]string{}
	for _, t := range open {
		byTeam[t.team] = append(byTeam[t.team], t.id)
	}
	var calls, asked [][]string
	var of []string
	for team, ids := range byTeam {
		for chunk := range slices.Chunk(ids, filtered) {
			calls, asked, of = append(calls, taskKeys(team, chunk)), append(asked, chunk), append(of, team)
		}
	}
	replies, err := r.runAll(ctx, listScript, calls)
	if err != nil {
		return nil, err
	}
	admitted := map[owned]bool{}
	for i, reply := range replies {
		claims, err := r.readEach(of[i], asked[i], lists(reply))
		if err != nil {
			return nil, err
		}
		for _, claim := range claims {
			if claim != nil && f.admits(claim) {
				admitted[owned{claim.Team, claim.Task}] = true
			}
		}
	}
	for _, t := range open {
		if admitted[owned{t.team, t.id}] {
			chosen = append(chosen, t)
		}
	}
	return chosen, nil
}

// lists returns the members of a reply as lists; readClaim refuses one that is none.
func lists(reply []any) [][]any {
	all := make([][]any, len(reply))
	for i := range reply {
		all[i], _ = reply[i].([]any)
	}
	return all
}
