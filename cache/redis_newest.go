package cache

import (
	"context"
	"slices"
)

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
	page, err = r.readNamed(call, names)
	return page, next, err
}

// newestOf names the newest tasks of teams, newest first, up to a moment before which none is missing, and reports whether there
// may be older ones.
func (r *redisReader) newestOf(ctx context.Context, teams []string, before int64) (names []namedTask, more bool, err error) {
	each := namedOf(len(teams))
	calls := make([][]string, len(teams))
	for i, team := range teams {
		calls[i] = []string{tasksKey(team)}
	}
	replies, err := r.runAll(ctx, newestScript, calls, r.TTL.Microseconds(), before, each)
	if err != nil {
		return nil, false, err
	}
	known := int64(0) // no task that was made after it is missing
	for i, reply := range replies {
		of, err := namesOf(teams[i], reply)
		if err != nil {
			return nil, false, err
		}
		if len(of) >= each {
			known, more = max(known, of[len(of)-1].created), true
		}
		names = append(names, of...)
	}
	slices.SortFunc(names, newestFirst)
	return slices.DeleteFunc(names, func(t namedTask) bool { return t.created < known }), more, nil
}

// untilEqual returns the first n tasks, and those made at the same moment as the last of them.
func untilEqual(names []namedTask, n int) []namedTask {
	for n < len(names) && names[n].created == names[n-1].created {
		n++
	}
	return names[:n]
}
