// Package cache reads and keeps answers about asynchronous tasks, and the claims that record which team a task belongs to.
//
// It answers three questions: which team made this task, what is its last known state, and what would the service's list of tasks
// show its owner. It has two forms: in memory ([Claims], [Queries], [Outcomes]) and in Redis ([Redis]). It is not a general
// cache, never queries the service itself, and knows neither limits nor HTTP.
//
// It promises that a claim is visible once Put returns, that a task is shown only to the team that made it, and that it
// forgets a task when the service does.
package cache

import (
	"encoding/json"
	"sync/atomic"
	"time"
)

// Claim is a team's task and the last answer about it. Its JSON is the part that never changes.
type Claim struct {
	Team    string    `json:"-"`
	Key     string    // public id of the key that made the task; every key of the team may read the task
	Task    string    `json:"-"`
	Model   string    //
	Account string    `json:",omitzero"` // at the service, which made the task; empty: [teams.MainAccount], as in claims from before accounts
	Created time.Time `json:"-"`         // by this process's clock

	Hold Hold // what the creation holds; zero: nothing

	Answer  Answer    `json:"-"` // the last one, read
	Body    []byte    `json:"-"` // the last one as received; at first that to the creation. MUST NOT be changed
	Fetched time.Time `json:"-"` // when Body was received

	// Callback is where the task's end is announced in addition to hooks, as package event reads it; empty: nowhere, as in older claims.
	Callback string `json:",omitempty"`

	Trace   string `json:",omitempty"` // traceparent of the creation's span; empty: none was recorded
	Served  int64  `json:"-"`          // polls answered, as far as Redis knows; see [Claim.Polls]
	Sent    int64  `json:"-"`          // queries sent, as far as Redis knows
	Queries int    `json:"-"`          // the finisher's queries since the last one for a client's poll

	counts  *counts
	written string // when it was written, by Redis's clock; empty: not yet
	fetched int64  // Fetched by Redis's clock; 0: not written
}

// Hold names what a task's creation holds until the task ends.
type Hold struct {
	ID       string
	Endpoint string // where the task was made, for the ledger
	Tag      string `json:",omitzero"` // for the ledger of tags, as the accounts write it; empty: none
	Key      string `json:",omitzero"` // for the ledger of keys, in the same way
	Day      int    // of admission, which the cost belongs to: yyyymmdd and yyyymm, in UTC
	Month    int
	Images   int64           // how many pictures are held
	Tokens   int64           `json:",omitzero"` // held, if Governed; 0: only pictures are, or the claim is of an older version
	Spend    int64           `json:",omitzero"` // held beside Tokens: the money for all of it
	Size     string          `json:",omitzero"` // of one, as the request named it; empty: it named none
	Price    int64           // of one picture of that size at admission, in 10⁻⁹ of the currency; claims of older versions have only this
	Whole    json.RawMessage `json:",omitempty"` // the price of the model at admission, as package price writes it; nil: Price is all of it
	House    bool            `json:",omitzero"`  // the house holds them, too
	Counted  bool            `json:",omitzero"`  // the quotas of the account at the service hold them, too
	Governed bool            `json:",omitzero"`  // the task was made on a forwarded path whose form is known, and costs what it used
}

// Final reports whether the task has ended.
func (c *Claim) Final() bool { return c.Answer.Status.Final() }

// Submitted is when the task was made, by the service's clock if its answer has the time.
func (c *Claim) Submitted() time.Time {
	if !c.Answer.Submitted.IsZero() {
		return c.Answer.Submitted
	}
	return c.Created
}

// HeardAfter reports whether c's answer arrived after the answer in another claim of the same task.
func (c *Claim) HeardAfter(other *Claim) bool {
	if c.fetched > 0 && other.fetched > 0 {
		return c.fetched > other.fetched
	}
	return c.Fetched.After(other.Fetched)
}

// counts are the polls and queries of a task in this process that Redis does not know of yet. All copies of a claim share them.
type counts struct {
	served, sent atomic.Int64
	encrypted    atomic.Int64 // queries since the last recorded answer whose own answer only one client can read
}

// counted returns the claim's counts. A claim that a store returned has them.
func (c *Claim) counted() *counts {
	if c.counts == nil {
		c.counts = new(counts)
	}
	return c.counts
}

// CountPoll counts an answered poll.
func (c *Claim) CountPoll() { c.counted().served.Add(1) }

// CountQuery counts a query that was sent to the service.
func (c *Claim) CountQuery() { c.counted().sent.Add(1) }

// CountEncrypted counts a query with an encrypted answer, which only one client can read.
func (c *Claim) CountEncrypted() {
	c.CountQuery()
	c.counts.encrypted.Add(1)
}

// Encrypted is how many such queries were sent since the last recorded answer.
func (c *Claim) Encrypted() int64 { return c.counted().encrypted.Load() }

// Polls returns how many polls of the task were answered, and how many queries were sent to the service: those of all
// processes as far as written, and those of this one.
func (c *Claim) Polls() (served, sent int64) {
	n := c.counted()
	return c.Served + n.served.Load(), c.Sent + n.sent.Load()
}
