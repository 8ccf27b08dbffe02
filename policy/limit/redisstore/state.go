package redisstore

import (
	"time"

	"sluice/policy/limit"
)

// versionedState is a team's state in Redis, and the version of its accounts.
type versionedState struct {
	limit.State
	version
	hasUsed uint        // a bit for each quota whose use the reply has
	counts  *[]count    // use of other days and months; nil: the reply has none
	took    limit.Stock // from the caller's allowance
}

// version is a version of a team's accounts: the epoch names them, seq numbers their changes. By it a script notices that Redis lost
// them or has an older copy. The zero version knows none.
type version struct{ epoch, seq int64 }

// count is the use of a unit in a day or month, or its holds.
type count struct {
	period, unit int
	held         bool
	n            int64
}

// readState reads a reply: a team's state, what more reads, and the use of days and months that the call changed.
func (w *wire) readState(c *call, more func(s *versionedState, in *reply)) (s versionedState, err error) {
	in, err := w.replyTo(c)
	if err != nil {
		return s, err
	}
	s.Outcome, s.epoch, s.seq, s.At, s.Tasks, s.Fault = limit.Outcome(in.next()), in.next(), in.next(), time.UnixMicro(in.next()).UTC(),
		in.next(), limit.LimitNone
	s.Date = limit.CalendarOf(s.At)
	in.into(s.Used[:])
	in.into(s.Held[:])
	s.hasUsed = 1<<limit.QuotaCount - 1
	if more != nil {
		more(&s, in)
	}
	if len(in.rest) > 0 {
		s.counts = new([]count)
	}
	for len(in.rest) > 0 {
		*s.counts = append(*s.counts, count{period: int(in.next()), unit: int(in.next()), n: in.next()})
	}
	return s, in.end()
}
