package cache

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
)

// redisReader reads tasks of a team from Redis.
type redisReader struct{ *store }

// filtered is how many tasks of a team one script filters.
const filtered = 500

// List is as that of [Claims]. It names the tasks, reads what the filter needs of them, and then the page's tasks in full: two round trips,
// three with a filter. Tasks that have not ended are named by the agenda of the finisher, which has only these.
func (r *redisReader) List(ctx context.Context, teams []string, f Filter) (page []Claim, total int, err error) {
	call, cancel := r.long(context.WithoutCancel(ctx))
	defer cancel()
	var names []namedTask
	if f.Open {
		names, err = r.openOf(call, teams)
	} else {
		names, err = r.newest(call, teams, 0, -1)
	}
	if f.Open = false; err == nil && !f.admitsAll() {
		names, err = r.chooseOf(call, names, &f)
	}
	if err != nil {
		return nil, 0, err
	}
	size := PageSize(f.Size)
	from := min((max(f.Page, 1)-1)*size, len(names))
	page, err = r.readKnown(call, names[from:min(from+size, len(names))])
	return page, len(names), err
}

// ListNewest is as that of [Claims]. It makes two round trips, three with a filter.
func (r *redisReader) ListNewest(ctx context.Context, teams []string, f Filter, before int64) (page []Claim, next int64, err error) {
	call, cancel := r.long(context.WithoutCancel(ctx))
	defer cancel()
	names, more, err := r.newestOf(call, teams, before)
	if f.Page = 0; err != nil {
		return nil, 0, err
	}
	filters := !f.admitsAll()
	if filters && len(names) > mostFiltered {
		names, more = untilEqual(names, mostFiltered), true
	}
	if more {
		next = names[len(names)-1].created
	}
	if filters {
		if names, err = r.chooseOf(call, names, &f); err != nil {
			return nil, 0, err
		}
	}
	if size, all := PageSize(f.Size), len(names); all > size {
		if names = untilEqual(names, size); more || len(names) < all {
			next = names[len(names)-1].created
		}
	}
	page, err = r.readKnown(call, names)
	return page, next, err
}

// newestOf names the newest tasks of teams, newest first, up to a moment before which none is missing, and reports whether there
// may be older ones.
func (r *redisReader) newestOf(ctx context.Context, teams []string, before int64) (names []namedTask, more bool, err error) {
	each := namedOf(len(teams))
	if names, err = r.newest(ctx, teams, before, each); err != nil {
		return nil, false, err
	}
	of := map[string]int{}
	known := int64(0) // no task that was made after it is missing
	for _, t := range names {
		if of[t.team]++; of[t.team] == each {
			known, more = max(known, t.created), true
		}
	}
	return slices.DeleteFunc(names, func(t namedTask) bool { return t.created < known }), more, nil
}

// newest names the newest tasks of teams that were made before a moment, newest first: of each team as many at most; below 0: all.
func (r *redisReader) newest(ctx context.Context, teams []string, before int64, each int) ([]namedTask, error) {
	calls := make([][]string, len(teams))
	for i, team := range teams {
		calls[i] = []string{tasksKey(team)}
	}
	replies, err := r.runAll(ctx, newestScript, calls, r.TTL.Microseconds(), before, each)
	if err != nil {
		return nil, err
	}
	return namesOf(teams, replies)
}

// openOf names the teams' tasks that have not ended, newest first.
func (r *redisReader) openOf(ctx context.Context, teams []string) ([]namedTask, error) {
	calls := make([][]string, len(teams))
	for i, team := range teams {
		calls[i] = []string{tasksKey(team), dueKey(team)}
	}
	replies, err := r.runAll(ctx, openScript, calls, r.TTL.Microseconds())
	if err != nil {
		return nil, err
	}
	return namesOf(teams, replies)
}

// untilEqual returns the first n tasks, and those made at the same moment as the last of them.
func untilEqual(names []namedTask, n int) []namedTask {
	for n < len(names) && names[n].created == names[n-1].created {
		n++
	}
	return names[:n]
}

// namedTask is a task's name, without what it is.
type namedTask struct {
	team, id string
	created  int64 // by Redis's clock, in microseconds
}

// readNamed reads tasks in one round trip; nil: the task has expired since.
func (r *redisReader) readNamed(ctx context.Context, names []namedTask) ([]*Claim, error) {
	calls := make([][]string, len(names))
	for i, t := range names {
		calls[i] = []string{taskKey(t.team, t.id), memoryKey(t.team)}
	}
	replies, err := r.runAll(ctx, readScript, calls)
	if err != nil {
		return nil, err
	}
	claims := make([]*Claim, len(names))
	for i, t := range names {
		if claims[i], err = readClaim(t.team, t.id, replies[i], r.Now()); err != nil {
			return nil, err
		}
	}
	return claims, nil
}

// readKnown is readNamed without the tasks that have expired since.
func (r *redisReader) readKnown(ctx context.Context, names []namedTask) (page []Claim, err error) {
	claims, err := r.readNamed(ctx, names)
	for _, claim := range claims {
		if claim != nil {
			page = append(page, *claim)
		}
	}
	return page, err
}

// namesOf reads replies that have the id of each of a team's tasks and when it was made, in turn. The newest comes first.
func namesOf(teams []string, replies [][]any) (names []namedTask, err error) {
	for i, reply := range replies {
		for n := 0; n+1 < len(reply); n += 2 {
			id, _ := reply[n].(string)
			text, _ := reply[n+1].(string)
			created, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return nil, errMixed
			}
			names = append(names, namedTask{teams[i], id, created})
		}
	}
	slices.SortFunc(names, newestFirst)
	return names, nil
}

func newestFirst(a, b namedTask) int {
	return cmp.Or(cmp.Compare(b.created, a.created), strings.Compare(b.id, a.id))
}

// chooseOf returns the tasks that the filter admits, after one round trip.
func (r *redisReader) chooseOf(ctx context.Context, names []namedTask, f *Filter) (chosen []namedTask, err error) {
	byTeam := map[string][]namedTask{}
	for _, t := range names {
		byTeam[t.team] = append(byTeam[t.team], t)
	}
	var calls [][]string
	var asked [][]namedTask
	for team, of := range byTeam {
		for chunk := range slices.Chunk(of, filtered) {
			keys := make([]string, len(chunk))
			for i, t := range chunk {
				keys[i] = taskKey(team, t.id)
			}
			calls, asked = append(calls, keys), append(asked, chunk)
		}
	}
	replies, err := r.runAll(ctx, listScript, calls)
	if err != nil {
		return nil, err
	}
	for i, reply := range replies {
		if len(reply) != len(asked[i]) {
			return nil, errMixed
		}
		for n, t := range asked[i] {
			fields, _ := reply[n].([]any) // readClaim refuses anything else
			claim, err := readClaim(t.team, t.id, fields, r.Now())
			if err != nil {
				return nil, err
			}
			if claim != nil && f.admits(claim) {
				chosen = append(chosen, t)
			}
		}
	}
	slices.SortFunc(chosen, newestFirst)
	return chosen, nil
}
