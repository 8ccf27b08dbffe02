package redisstore

import (
	"time"

	"sluice/policy/limit"
)

// standing is how a team stands in Redis, and of which state of its accounts that is.
type standing struct {
	limit.State
	witness
	tells  uint        // the quotas whose used is told, 1 for number 0, 2 for 1, 4 for 2, added up
	counts *[]count    // what was used in other days and months; nil: that was not told
	took   limit.Stock // of the caller's allowance, at a limit
}

// witness names accounts and a state of theirs, so that a script notices where they are gone or older: their epoch, and the number
// of their last change. The zero witness knows none.
type witness struct{ epoch, seq int64 }

// count is what a day or month used of a unit, or holds, as a settlement was told.
type count struct {
	period, unit int
	held         bool
	n            int64
}

// standing reads the reply to a call that tells how a team stands, so many numbers more, and what it posted to.
func (w *wire) standing(c *call, more int) (s standing, rest []int64, _ error) {
	length := 5 + 2*limit.QuotaCount + more
	if posted := len(c.reply.Val()) - 1 - length; posted > 0 && posted%3 == 0 {
		length += posted
	}
	in, err := w.said(c, length)
	if err != nil {
		return s, nil, err
	}
	s.Outcome, s.witness, s.At, s.Tasks, s.Fault = limit.Outcome(in[0]), witness{in[1], in[2]}, time.UnixMicro(in[3]).UTC(), in[4], limit.LimitNone
	s.Date = limit.CalendarOf(s.At)
	copy(s.Used[:], in[5:])
	copy(s.Held[:], in[5+limit.QuotaCount:])
	s.tells = 1<<limit.QuotaCount - 1
	in = in[5+2*limit.QuotaCount:]
	if posted := in[more:]; len(posted) > 0 {
		s.counts = new([]count)
		for ; len(posted) > 0; posted = posted[3:] {
			*s.counts = append(*s.counts, count{period: int(posted[0]), unit: int(posted[1]), n: posted[2]})
		}
	}
	return s, in[:more], nil
}
