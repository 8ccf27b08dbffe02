// Package account decides which account at the service does a piece of work, and what an answer of the service says about an account.
//
// Its functions are pure: they decide from a snapshot, and the caller keeps the state. It knows neither HTTP connections, nor
// clocks, nor stores.
package account

import (
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
	Cooling  time.Duration // until it may be asked for the model again; 0: now
	Out      bool
	Probe    bool // it is cooling or out, and this request may be the one that asks whether it still is
}

// Standing is what operators are shown of an account.
type Standing struct {
	ID        string
	Region    string
	Address   string // of the service, without user and password
	Key       string // masked
	State     State
	Why       string    // what upstream answered, in the words of the log; empty if State is ok
	Since     time.Time // of the state; zero if it is ok from the start
	Cooling   []Rest    // the models that are cooling, in the order of their names
	Weight    int
	InFlight  int
	Failovers map[string]int64 // away from it, by reason
	Limits    []teams.AccountLimit
	Quotas    *teams.Team // the account that holds its quotas; nil: it has none
}

// Rest is how long an account is not asked for a model.
type Rest struct {
	Model string
	Until time.Time
}
