package cache

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
)

// namedTask is a task's name, without what it is.
type namedTask struct {
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
		open, err = r.chooseOf(call, open, &f)
	}
	if err != nil {
		return nil, 0, err
	}
	size := PageSize(f.Size)
	from := min((max(f.Page, 1)-1)*size, len(open))
	page, err = r.readNamed(call, open[from:min(from+size, len(open))])
	return page, len(open), err
}

// readNamed reads tasks in one round trip. Those that have expired since are left out.
func (r *redisReader) readNamed(ctx context.Context, names []namedTask) (page []Claim, err error) {
	calls := make([][]string, len(names))
	for i, t := range names {
		calls[i] = []string{taskKey(t.team, t.id), memoryKey(t.team)}
	}
	replies, err := r.runAll(ctx, readScript, calls)
	if err != nil {
		return nil, err
	}
	for i, t := range names {
		claim, err := readClaim(t.team, t.id, replies[i], r.Now())
		if err != nil {
			return nil, err
		}
		if claim != nil {
			page = append(page, *claim)
		}
	}
	return page, nil
}

// openOf lists the teams' tasks that have not ended, newest first.
func (r *redisReader) openOf(ctx context.Context, teams []string) (open []namedTask, err error) {
	calls := make([][]string, len(teams))
	for i, team := range teams {
		calls[i] = []string{tasksKey(team), dueKey(team)}
	}
	replies, err := r.runAll(ctx, openScript, calls, r.TTL.Microseconds())
	if err != nil {
		return nil, err
	}
	for i, reply := range replies {
		names, err := namesOf(teams[i], reply)
		if err != nil {
			return nil, err
		}
		open = append(open, names...)
	}
	slices.SortFunc(open, newestFirst)
	return open, nil
}

// namesOf reads a reply that has the id of each task and when it was made, in turn.
func namesOf(team string, reply []any) (names []namedTask, err error) {
	for i := 0; i+1 < len(reply); i += 2 {
		id, _ := reply[i].(string)
		text, _ := reply[i+1].(string)
		created, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, errMixed
		}
		names = append(names, namedTask{team, id, created})
	}
	return names, nil
}

func newestFirst(a, b namedTask) int {
	return cmp.Or(cmp.Compare(b.created, a.created), strings.Compare(b.id, a.id))
}

// chooseOf returns the tasks that the filter admits, after one round trip.
func (r *redisReader) chooseOf(ctx context.Context, names []namedTask, f *Filter) (chosen []namedTask, err error) {
	byTeam := map[string][]string{}
	for _, t := range names {
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
	for _, t := range names {
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
