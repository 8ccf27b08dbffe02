package limit

import (
	"time"

	"sluice/policy"
	"sluice/policy/teams"
)

// Hold is what a request asks to reserve until its cost is known.
type Hold struct {
	ID       string               // unlike that of any other request; admitting the same one twice holds once
	Team     *teams.Team          // its rates, quotas, open_tasks and shadow count as they are now
	Account  []teams.AccountLimit // of the upstream account, those that apply to the model; nil: none
	Model    string               // for the ledger
	Endpoint policy.Endpoint      // for the ledger
	Amounts  Amounts              // what the request may cost, exact or estimated
	Task     bool                 // it creates a task: it counts as open until it is settled or charged
	Lease    time.Duration        // after this it is charged as estimated, unless it was settled or extended
}

// Held is a hold that was admitted: what it takes to settle it, here or on another replica.
type Held struct {
	ID       string
	Team     string
	Model    string
	Endpoint policy.Endpoint
	Amounts  Amounts
	Day      int // yyyymmdd and yyyymm of the admission, in UTC, which the cost belongs to
	Month    int
	Task     bool
	Account  []teams.AccountLimit // the account's limits that it was taken from; nil: none
	Rates    RateSet              // of the team, that it was taken from; none where this process did not admit it
	Local    bool                 // admitted without Redis: its account's rates there have nothing to correct
}

// HeldOf is the hold as it is admitted on a date, taken from the rates.
func HeldOf(h *Hold, date Calendar, rates RateSet) *Held {
	return &Held{
		ID: h.ID, Team: h.Team.ID, Model: h.Model, Endpoint: h.Endpoint, Amounts: h.Amounts,
		Day: date.Day, Month: date.Month, Task: h.Task, Rates: rates,
	}
}

// What names the hold's entry of the ledger.
func (h *Held) What() string { return LedgerName(h.Model, h.Endpoint) }

func LedgerName(model string, endpoint policy.Endpoint) string { return model + "|" + string(endpoint) }

// Charge settles a hold.
type Charge struct {
	Held      *Held
	Team      *teams.Team // whose rates are corrected as they are now; nil: the team is gone, and its rates with it
	Amounts   Amounts     // what the request used
	Estimated bool        // nobody knows for certain
	Sum       bool        // of charges that were settled and told here: it takes nothing from the rates
	// Taken is called once, when the state has taken the charge, at once or when it is tried again; first says that it was
	// this charge that settled the hold, as far as can be told where a reply was lost. Nil: nobody waits for it.
	Taken func(first bool)
	// Left is called where the state will never take the charge: too many were kept, and the hold is charged as estimated when
	// its lease ends. It must not wait for anything. Nil: nobody waits for it.
	Left func()
}

// Join has another charge of the same hold told when this one is taken: it has nothing to settle any more.
func (c *Charge) Join(other *Charge) {
	if other == c {
		return
	}
	if mine := c.Taken; other.Taken != nil {
		c.Taken = func(first bool) {
			if mine != nil {
				mine(first)
			}
			other.Tell(false)
		}
	}
	if mine := c.Left; other.Left != nil {
		c.Left = func() {
			if mine != nil {
				mine()
			}
			other.Left()
		}
	}
}

// Tell tells that the state has taken the charge. It is told once, although it may be sent again for what it is beside.
func (c *Charge) Tell(first bool) {
	if taken := c.Taken; taken != nil {
		c.Taken = nil
		taken(first)
	}
}
