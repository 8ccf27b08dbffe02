package cache

import (
	"context"
	"slices"
	"time"
)

// redisReader reads tasks of a team from Redis.
type redisReader struct{ *store }

// filtered is how many tasks are filtered in one round trip.
const filtered = 500

// List returns one page of a team's tasks, newest first, and how many there are on all pages. It reads the page's tasks in
// full; of the others it reads what the filter needs, if there is a filter.
func (r *redisReader) List(ctx context.Context, team string, f Filter) (page []Claim, total int, err error) {
	if f.Open {
		return r.ListOpen(ctx, []string{team}, f)
	}
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), max(r.Timeout, time.Second))
	defer cancel()
	ids, err := r.runLong(call, knownScript, []string{tasksKey(team)}, r.TTL.Microseconds()).StringSlice()
	if err != nil {
		return nil, 0, err
	}
	slices.Reverse(ids)
	if ids, err = r.choose(call, team, ids, &f); err != nil {
		return nil, 0, err
	}
	size := PageSize(f.Size)
	from := min((max(f.Page, 1)-1)*size, len(ids))
	claims, err := r.readAll(call, team, ids[from:min(from+size, len(ids))])
	for _, claim := range claims {
		if claim != nil { // it may have expired since
			page = append(page, *claim)
		}
	}
	return page, len(ids), err
}

// choose returns the tasks that the filter admits.
func (r *redisReader) choose(ctx context.Context, team string, ids []string, f *Filter) ([]string, error) {
	if f.admitsAll() {
		return ids, nil
	}
	var chosen []string
	for chunk := range slices.Chunk(ids, filtered) {
		claims, err := r.readForFilter(ctx, team, chunk)
		if err != nil {
			return nil, err
		}
		for _, claim := range claims {
			if claim != nil && f.admits(claim) {
				chosen = append(chosen, claim.Task)
			}
		}
	}
	return chosen, nil
}

// readForFilter reads what a filter needs of tasks, in one round trip.
func (r *redisReader) readForFilter(ctx context.Context, team string, ids []string) ([]*Claim, error) {
	list, err := r.runLong(ctx, listScript, taskKeys(team, ids)).Slice()
	if err != nil {
		return nil, err
	}
	return r.readEach(team, ids, lists(list))
}

// readAll reads tasks of a team in one round trip.
func (r *redisReader) readAll(ctx context.Context, team string, ids []string) ([]*Claim, error) {
	replies, err := r.runEach(ctx, readScript, taskKeys(team, ids), memoryKey(team))
	if err != nil {
		return nil, err
	}
	return r.readEach(team, ids, replies)
}

// readEach reads one task from each reply.
func (r *redisReader) readEach(team string, ids []string, replies [][]any) (claims []*Claim, err error) {
	if len(replies) != len(ids) {
		return nil, errMixed
	}
	claims = make([]*Claim, len(ids))
	for i, id := range ids {
		if claims[i], err = readClaim(team, id, replies[i], r.Now()); err != nil {
			return nil, err
		}
	}
	return claims, nil
}
