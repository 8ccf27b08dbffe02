package limit

import "time"

// state is what one form of the store says of a team at one moment, with its decision about a hold.
type state struct {
	outcome outcome
	at      time.Time // by the store's clock
	date    calendar  // of at
	fault   int       // the limit that refuses, or would in shadow mode; limitNone: none
	wait    time.Duration
	tasks   int64             // open tasks, this one counted
	used    [quotaCount]int64 // by quota number
	held    [quotaCount]int64 // by quota number, this request's included; allowances are not
	rates   [rateCount]fill
	placed  *Held // the hold, where it is in memory: it never changes there
}

// fill is how full a bucket is.
type fill struct {
	left int64         // whole units that would fit now; negative in debt
	full time.Duration // until it is full
}

// outcome is what came of a hold. The scripts have the same numbers, and some more.
type outcome int

const (
	refused  outcome = 0 // nothing was taken
	admitted outcome = 1 // held, and taken from the buckets
	shadowed outcome = 3 // would be refused: held, but not taken from the buckets
)

// takes names the rates that a hold is taken from.
func (s *state) takes(t *terms) rateSet {
	if s.outcome == admitted {
		return t.rateSet()
	}
	return 0
}
