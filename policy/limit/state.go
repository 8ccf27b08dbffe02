package limit

import "time"

// state is what one form of the store says of a team at one moment, with its decision about a hold.
type state struct {
	outcome outcome
	epoch   int64     // names the accounts that decided; 0 in memory
	seq     int64     // numbers their changes; 0 in memory
	at      time.Time // by the store's clock
	date    calendar  // of at
	fault   int       // the limit that refuses, or would in shadow mode; limitNone: none
	wait    time.Duration
	tasks   int64             // open tasks, this one counted
	used    [quotaCount]int64 // by quota number
	held    [quotaCount]int64 // by quota number, this request's included; allowances are not
	tells   uint              // the quotas whose used is told, 1 for number 0, 2 for 1, 4 for 2, added up
	counts  *[]count          // what was used in other days and months; nil: that was not told
	took    stock             // of the caller's allowance, at a limit
	rates   [rateCount]fill
	placed  *Held // the hold, where it is in memory: it never changes there
}

// fill is how full a bucket is.
type fill struct {
	left int64         // whole units that would fit now; negative in debt
	full time.Duration // until it is full
}

type outcome int

const (
	refused   outcome = iota // nothing was taken
	admitted                 // held, and taken from the buckets
	lost                     // the accounts that the caller knows are gone
	shadowed                 // would be refused: held, but not taken from the buckets
	restoring                // replicas are putting the accounts back: nothing was taken
)

// takes names the rates that a hold is taken from.
func (s *state) takes(t *terms) rateSet {
	if s.outcome == admitted {
		return t.rateSet()
	}
	return 0
}
