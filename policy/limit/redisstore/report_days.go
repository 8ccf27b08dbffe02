package redisstore

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/limit"
)

const (
	mostDays  = 5                // how many days of all teams are kept in memory of each ledger
	mostKept  = 100_000          // rows of them: each takes about 250 bytes
	overAfter = time.Minute      // after its end a day is over by the clocks of all nodes
	overKept  = 10 * time.Minute // then a day that is over is read again, because replicas of the version before do not count its changes
)

// keptDays is the ledger of all teams on the days that were read last. A team's day is read again when the version of its accounts has
// changed, which each change of its ledger raises; a day that is over, when the team's days that are over have changed.
type keptDays struct {
	mu    sync.Mutex // held while days are read
	days  map[int]*keptDay
	state uint64 // the last one of a day
}

type keptDay struct {
	limit.DayRows
	teams map[string]keptPart
}

// keptPart is the rows of one team, and its accounts before they were read.
type keptPart struct {
	rows []limit.Row
	of   stage
}

// stage shows whether the ledger of a team is still as it was read.
type stage struct {
	version
	past int64     // changes of days that are over
	at   time.Time // when it was read, by Redis's clock
}

// Days returns the ledger of all teams, or of their tags or keys, on each of a few days. It usually makes two round trips: the versions
// and the sizes of what is not kept, and what has changed; one more if there is a team that this process did not know, or Redis lost
// some.
func (l Ledgers) Days(ctx context.Context, by limit.ScopeKind, days []int) (map[int]limit.DayRows, error) {
	r := l.of
	k := &r.days[by]
	k.mu.Lock()
	defer k.mu.Unlock()
	all, now := newReading(r, by, tripStep), map[string]stage{}
	var scans, known []*dayScan
	err := eachTeam(ctx, r, func(pipe redis.Pipeliner, teams []*team) func() {
		clock, versions := pipe.Time(ctx), make([]*redis.SliceCmd, len(teams))
		for i, t := range teams {
			versions[i] = pipe.HMGet(ctx, t.quota, "epoch", "seq", "past")
		}
		others := slices.DeleteFunc(scansOf(teams, days), func(s *dayScan) bool {
			if s.size = k.size(s); s.size > 0 {
				known = append(known, s)
			}
			return s.size > 0
		})
		sizes := all.sizes(ctx, pipe, others)
		return func() {
			at := clock.Val()
			if given := r.Clock(); given > 0 {
				at = time.UnixMicro(given)
			}
			for i, t := range teams {
				now[t.id] = readStage(versions[i].Val(), at)
			}
			scans = append(scans, sizes()...)
		}
	})
	if err != nil {
		return nil, err
	}
	lost := func(s *dayScan) bool { return k.days[s.day].teams[s.team.id].of.epoch != now[s.team.id].epoch }
	again, err := all.begin(ctx, slices.DeleteFunc(slices.Clone(known), func(s *dayScan) bool { return !lost(s) }))
	if err != nil {
		return nil, err
	}
	scans = slices.Concat(scans, slices.DeleteFunc(known, lost), again)
	fresh := slices.DeleteFunc(slices.Clone(scans), func(s *dayScan) bool { return k.has(s, now[s.team.id]) })
	if err := all.readScans(ctx, fresh); err != nil {
		return nil, err
	}
	for _, s := range fresh {
		s.rows = innerRows(s.rows, by)
	}
	return k.update(days, scans, now), nil
}

func readStage(fields []any, at time.Time) stage {
	s := stage{at: at}
	for i, n := range []*int64{&s.epoch, &s.seq, &s.past} {
		if text, found := fields[i].(string); found {
			*n, _ = strconv.ParseInt(text, 10, 64) // Redis wrote it
		}
	}
	return s
}

// size is the approximate number of fields of a kept day of a team; 0: it is not kept.
func (k *keptDays) size(s *dayScan) (fields int) {
	if of := k.days[s.day]; of != nil {
		fields = 4 * len(of.teams[s.team.id].rows)
	}
	return fields
}

// has reports whether a day of a team is kept.
func (k *keptDays) has(s *dayScan, now stage) bool {
	of := k.days[s.day]
	if of == nil || now.seq == 0 {
		return false
	}
	was := of.teams[s.team.id].of
	over := was.at.Sub(limit.DayEnds(s.day)) > overAfter && now.at.Sub(was.at) < overKept
	return was.version == now.version || over && was.epoch == now.epoch && was.seq < now.seq && was.past == now.past
}

// update keeps the days that were read, and returns them. Scans cover all days of teams that have rows; those that are still kept were
// not read.
func (k *keptDays) update(days []int, scans []*dayScan, now map[string]stage) map[int]limit.DayRows {
	fresh, list := map[int]*keptDay{}, map[int]limit.DayRows{}
	for _, day := range days {
		fresh[day] = &keptDay{teams: map[string]keptPart{}}
	}
	changed := map[int]bool{}
	for _, s := range scans {
		part := keptPart{s.rows, now[s.team.id]}
		if was := k.days[s.day]; was == nil {
			changed[s.day] = true
		} else if old, kept := was.teams[s.team.id]; kept && !s.ended {
			part = old
		} else if kept && slices.Equal(old.rows, s.rows) {
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

// keep adds days to the kept ones, and drops the earliest ones beyond the bounds.
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
