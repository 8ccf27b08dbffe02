package limit

import "time"

// State is a team's state in one form of the store at one moment, with the decision about a hold.
type State struct {
	Outcome Outcome
	At      time.Time // by the store's clock
	Date    Calendar  // of At
	Fault   int       // the limit that refuses, or would in shadow mode; LimitNone: none
	Wait    time.Duration
	Tasks   int64             // open tasks, this one counted
	Used    [QuotaCount]int64 // by quota number
	Held    [QuotaCount]int64 // by quota number, this request's included; allowances are not
	Rates   [RateCount]Fill

	TagUsed, TagHeld [QuotaCount]int64 // the same of the hold's value of the tag, where a quota of each value is set
	TagOther         bool              // that value is counted as one of the others

	placed *Held // the hold in memory, which never changes there
}

// Fill is how full a bucket is.
type Fill struct {
	Left int64         // whole units that would fit now; negative in debt
	Full time.Duration // until it is full
}

// Outcome is the outcome of a call about a hold. The scripts have the same numbers, and some more.
type Outcome int

// The outcomes.
const (
	Refused  Outcome = 0 // nothing was taken
	Admitted Outcome = 1 // held, and taken from the buckets
	Shadowed Outcome = 3 // would be refused: held, but not taken from the buckets
)

// takes names the rates that a hold is taken from.
func (s *State) takes(t *Terms) RateSet {
	if s.Outcome == Admitted {
		return t.RateSet()
	}
	return 0
}
