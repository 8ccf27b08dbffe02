// Package account decides which account at the service does a piece of work, and what an answer of the service says
// about an account.
//
// [Choose] picks the account from a snapshot, [Judge] reads an answer, and [Health] keeps what the answers have shown.
// All of it is pure: it takes times from its caller, and knows no connections, clocks or stores. Nothing here is safe
// for concurrent use.
package account

import (
	"fmt"
	"strings"
	"time"

	"sluice/policy/teams"
)

// State is whether an account takes new work.
type State string

// The states.
const (
	OK       State = "ok"
	Cooling  State = "cooling"  // upstream throttled a model of it; for that model only
	Out      State = "out"      // upstream refuses its key, or it is in arrears
	Draining State = "draining" // its weight is 0
)

// View is what is known of an account at a moment, for one model.
type View struct {
	Account  *teams.Account
	InFlight int           // requests of this process
	Out      bool          // it is out
	Wait     time.Duration // until it may get a request, while it is out or cooling for the model; 0: now
	Probe    bool          // it may get one request now, which shows whether it is still out or cooling
}

// Standing is the state of an account as operators see it.
type Standing struct {
	ID        string
	Region    string
	Address   string // of the service, without user and password
	Key       string // masked
	State     State
	Why       string    // what upstream answered, in the words of the log; empty if State is ok
	Since     time.Time // of the state; zero if it is ok from the start
	Worked    time.Time // when the last request that worked began; zero: none worked
	Cooling   []Rest    // the models that are cooling, by name
	Weight    int
	InFlight  int
	Failovers map[string]int64 // away from it, by reason
	Limits    []teams.AccountLimit
	Quotas    *teams.Team // holds its quotas; nil: none
}

// Rest is a model for which an account gets no requests, and until when.
type Rest struct {
	Model string
	Until time.Time
}

// IsIll reports whether an operator should know of it: the account is out, or cooling. That one drains was asked for.
func (s *Standing) IsIll() bool { return s.State == Out || s.State == Cooling }

// Line says the standing in one line, such as "out since 2026-11-26T08:20:00Z: Arrearage; weight 3, 2 in flight, key …f00d".
func (s *Standing) Line() string {
	var b strings.Builder
	b.WriteString(string(s.State))
	if !s.Since.IsZero() {
		fmt.Fprintf(&b, " since %s", moment(s.Since))
	}
	if s.Why != "" {
		fmt.Fprintf(&b, ": %s", s.Why)
	}
	for _, r := range s.Cooling {
		fmt.Fprintf(&b, "; %q until %s", r.Model, moment(r.Until))
	}
	fmt.Fprintf(&b, "; weight %d, %d in flight, key %s", s.Weight, s.InFlight, s.Key)
	return b.String()
}

func moment(t time.Time) string { return t.UTC().Format(time.RFC3339) }
