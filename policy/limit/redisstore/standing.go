package redisstore

import (
	"time"

	"sluice/policy/limit"
)

// standing is how a team stands in Redis, and of which state of its accounts that is.
type standing struct {
	limit.State
	epoch  int64       // names the accounts
	seq    int64       // numbers their changes
	tells  uint        // the quotas whose used is told, 1 for number 0, 2 for 1, 4 for 2, added up
	counts *[]count    // what was used in other days and months; nil: that was not told
	took   limit.Stock // of the caller's allowance, at a limit
}

// Outcomes that only accounts in Redis have.
const (
	lost      limit.Outcome = 2 // the accounts that the caller knows are gone
	restoring limit.Outcome = 4 // replicas are putting the accounts back: nothing was taken
)

// failed is a standing of which nothing but the outcome is told.
func failed(of limit.Outcome) standing { return standing{State: limit.State{Outcome: of}} }

// count is what a day or month used of a unit, or holds, as a settlement was told.
type count struct {
	period, unit int
	held         bool
	n            int64
}

// readStanding reads a reply that tells how a team stands, so many numbers more, and what it posted to. Where nothing was done the
// outcome says so.
func readStanding(number int64, reply []int64, err error, more int) (s standing, rest []int64, _ error) {
	if of, not := notDone(number, reply, err); not {
		return failed(of), nil, nil
	}
	length := 5 + 2*limit.QuotaCount + more
	if posted := len(reply) - 1 - length; posted > 0 && posted%3 == 0 {
		length += posted
	}
	in, err := said(number, reply, err, length)
	if err != nil {
		return s, nil, err
	}
	if posted := in[5+2*limit.QuotaCount+more:]; len(posted) > 0 {
		s.counts = new([]count)
		for ; len(posted) > 0; posted = posted[3:] {
			*s.counts = append(*s.counts, count{period: int(posted[0]), unit: int(posted[1]), n: posted[2]})
		}
	}
	s.Outcome, s.epoch, s.seq, s.At, s.Tasks, s.Fault = limit.Outcome(in[0]), in[1], in[2], time.UnixMicro(in[3]).UTC(), in[4], limit.LimitNone
	s.Date = limit.CalendarOf(s.At)
	copy(s.Used[:], in[5:])
	copy(s.Held[:], in[5+limit.QuotaCount:])
	s.tells = 1<<limit.QuotaCount - 1
	return s, in[5+2*limit.QuotaCount:][:more], nil
}
