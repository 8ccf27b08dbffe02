package redisstore

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/redis/go-redis/v9"

	"sluice/policy/limit"
)

// How many days of all teams are kept in memory of each ledger, and how many rows of them: each takes about 250 bytes.
const (
	mostDays = 5
	mostKept = 100_000
)

// keptDays is the ledger of all teams on the days that were read last. A team is read again when the version of its accounts has changed,
// which each change of its ledger raises.
type keptDays struct {
	mu    sync.Mutex // held while days are read
	days  map[int]*keptDay
	state uint64 // the last one of a day
}

type keptDay struct {
	limit.DayRows
	teams map[string]keptPart
}

// keptPart is the rows of one team, and the version of its accounts before they were read.
type keptPart struct {
	rows []limit.Row
	of   version
}

// Days returns the ledger of all teams, or that of their tags or keys, on each of a few days. It usually makes two round trips, the versions and sizes, and what has changed;
// one more if there is a team that this process did not know.
func Days(ctx context.Context, r *Store, by limit.ScopeKind, days []int) (map[int]limit.DayRows, error) {
	k := &r.days[by]
	k.mu.Lock()
	defer k.mu.Unlock()
	all, now := newReading(r, by, tripStep), map[string]version{}
	var scans []*dayScan
	err := eachTeam(ctx, r, func(pipe redis.Pipeliner, teams []*team) func() {
		versions := make([]*redis.SliceCmd, len(teams))
		for i, t := range teams {
			versions[i] = pipe.HMGet(ctx, t.quota, "epoch", "seq")
		}
		sizes := all.sizes(ctx, pipe, scansOf(teams, days))
		return func() {
			for i, t := range teams {
				now[t.id] = readVersion(versions[i].Val())
			}
			scans = append(scans, sizes()...)
		}
	})
	if err != nil {
		return nil, err
	}
	fresh := slices.DeleteFunc(slices.Clone(scans), func(s *dayScan) bool { return k.has(s, now[s.team.id]) })
	if err := all.readScans(ctx, fresh); err != nil {
		return nil, err
	}
	for _, s := range fresh {
		s.rows = innerRows(s.rows, by)
	}
	return k.update(days, scans, now), nil
}

func readVersion(fields []any) (v version) {
	for i, at := range []*int64{&v.epoch, &v.seq} {
		if text, found := fields[i].(string); found {
			*at, _ = strconv.ParseInt(text, 10, 64) // Redis wrote it
		}
	}
	return v
}

// has reports whether a day of a team is kept.
func (k *keptDays) has(s *dayScan, now version) bool {
	of := k.days[s.day]
	return of != nil && now.seq != 0 && of.teams[s.team.id].of == now
}

// update keeps the days that were read, and returns them. Scans are of all days of teams that have rows; those that are kept were not read.
func (k *keptDays) update(days []int, scans []*dayScan, now map[string]version) map[int]limit.DayRows {
	fresh, list := map[int]*keptDay{}, map[int]limit.DayRows{}
	for _, day := range days {
		fresh[day] = &keptDay{teams: map[string]keptPart{}}
	}
	changed := map[int]bool{}
	for _, s := range scans {
		part := keptPart{s.rows, now[s.team.id]}
		if was := k.days[s.day]; was == nil {
			changed[s.day] = true
		} else if old, kept := was.teams[s.team.id]; kept && (!s.ended || slices.Equal(old.rows, s.rows)) {
			part.rows = old.rows
		} else {
			changed[s.day] = true
		}
		of := fresh[s.day]
		of.teams[s.team.id], of.Teams = part, append(of.Teams, part.rows)
	}
	for day, of := range fresh {
		if was := k.days[day]; was != nil && !changed[day] && len(was.teams) == len(of.teams) {
			of.State = was.State
		} else {
			k.state++
			of.State = k.state
		}
		list[day] = of.DayRows
	}
	k.keep(fresh)
	return list
}

// keep keeps days beside those of before, the last ones.
func (k *keptDays) keep(fresh map[int]*keptDay) {
	maps.DeleteFunc(k.days, func(day int, _ *keptDay) bool { return fresh[day] != nil })
	if k.days == nil {
		k.days = map[int]*keptDay{}
	}
	maps.Copy(k.days, fresh)
	rows, days := 0, slices.Sorted(maps.Keys(k.days))
	for i, day := range slices.Backward(days) {
		for _, team := range k.days[day].Teams {
			rows += len(team)
		}
		if len(days)-i > mostDays || rows > mostKept {
			delete(k.days, day)
		}
	}
}
