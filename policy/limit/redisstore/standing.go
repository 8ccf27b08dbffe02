package redisstore

import (
	"time"

	"sluice/policy/limit"
)

// standing is a team's state in Redis, and the version of its accounts.
type standing struct {
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

// standing reads a reply that has a team's state, so many numbers more, and the use that it posted to.
func (w *wire) standing(c *call, more int) (s standing, rest []int64, _ error) {
	length := 5 + 2*limit.QuotaCount + more
	if posted := len(c.reply.Val()) - 1 - length; posted > 0 && posted%3 == 0 {
		length += posted
	}
	in, err := w.said(c, length)
	if err != nil {
		return s, nil, err
	}
	s.Outcome, s.version, s.At, s.Tasks, s.Fault = limit.Outcome(in[0]), version{in[1], in[2]}, time.UnixMicro(in[3]).UTC(), in[4], limit.LimitNone
	s.Date = limit.CalendarOf(s.At)
	copy(s.Used[:], in[5:])
	copy(s.Held[:], in[5+limit.QuotaCount:])
	s.hasUsed = 1<<limit.QuotaCount - 1
	in = in[5+2*limit.QuotaCount:]
	if posted := in[more:]; len(posted) > 0 {
		s.counts = new([]count)
		for ; len(posted) > 0; posted = posted[3:] {
			*s.counts = append(*s.counts, count{period: int(posted[0]), unit: int(posted[1]), n: posted[2]})
		}
	}
	return s, in[:more], nil
}
