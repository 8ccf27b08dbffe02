package cache

import (
	"strconv"
	"time"
)

// memory names what Redis remembers of a team's tasks, as its claims' key tells.
type memory struct {
	epoch string // when it began; empty: there is none, or none is known here
	count int64  // claims that were written to it
}

// older reports whether Redis has lost something since another was seen: all of it, or the newest, as a replica of it may that
// takes over.
func (m memory) older(than memory) bool {
	return than.epoch != "" && (m.epoch != than.epoch || m.count < than.count)
}

// remembers is what was last seen of Redis's memory of a team. Whoever asks Redis takes it before.
func (r *Redis) remembers(team string) memory {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.memories[team]
}

// saw notes what Redis's memory is by an answer, and whether something of it is lost since before. Where another caller has
// noticed that, it is noticed already.
func (r *Redis) saw(team string, before, now memory) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.memories[team]
	switch {
	case now.older(before) && now.older(last):
		r.lost[team] = true
		r.away[team] = r.Now() // what others know of it they have not told yet
		r.memories[team] = now
	case now.epoch == last.epoch:
		r.memories[team] = memory{now.epoch, max(now.count, last.count)}
	case last.epoch == before.epoch:
		r.memories[team] = now
	}
}

// met notes teams whose memory is to be looked at.
func (r *Redis) met(teams []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, team := range teams {
		if _, known := r.memories[team]; !known {
			r.memories[team] = memory{}
		}
	}
}

// loses reports whether tasks of a team are known to be lost, and not to be put back yet.
func (r *Redis) loses(team string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lost[team]
}

// readMemory reads an epoch and a count as Redis has them.
func readMemory(epoch, count any) (m memory) {
	m.epoch, _ = epoch.(string)
	text, _ := count.(string)
	m.count, _ = strconv.ParseInt(text, 10, 64)
	return m
}

// tail takes what a script's reply tells of Redis's memory off its end: also how long ago a claim was put back there last;
// below 0 where none was.
func tail(reply []any) (rest []any, m memory, back time.Duration, err error) {
	n := len(reply) - 3
	if n < 0 {
		return nil, m, 0, errMixed
	}
	back = -1
	if text, ok := reply[n+2].(string); ok {
		micros, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, m, 0, errMixed
		}
		back = time.Duration(max(micros, 0)) * time.Microsecond
	}
	return reply[:n], readMemory(reply[n], reply[n+1]), back, nil
}
