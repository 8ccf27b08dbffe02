// Package event defines the events that Sluice delivers to its operators and its teams: a task that ended, a quota
// that was reached, an account at the service that went out. It writes an event in the one form that the outbox,
// webhooks and streams use, and selects the hooks that want it.
//
// Everything here but the outbox in memory is pure. An [Outbox] keeps events; it has two forms, in this process's
// memory and in Redis.
package event

import (
	"encoding/json"
	"strings"
	"time"
)

// Type is an event's type, as in its member "type".
type Type string

// The types of events.
const (
	TaskSucceeded  Type = "task.succeeded"
	TaskFailed     Type = "task.failed"
	TaskCancelled  Type = "task.cancelled"
	TaskUnheard    Type = "task.unheard" // its end was never learned: it is charged as held
	TaskStored     Type = "task.stored"  // its pictures were stored after its end had been announced
	QuotaReached   Type = "quota.reached"
	RequestSettled Type = "request.settled"
	RateStarved    Type = "rate.starved"
	KeyExpiring    Type = "key.expiring"
	AccountOut     Type = "account.out"
	AccountBack    Type = "account.back"
	TeamsFaulty    Type = "teams.faulty"
	Ping           Type = "ping" // a test of one hook; it is never kept
)

// Operators is the owner of what belongs to no team: events such as account.out, and the hooks at the top level of the
// teams file. It is no team's id.
const Operators = "@operators"

// OfOperators reports whether an owner is no team: [Operators], or an account of package limit outside of the teams,
// such as the house's. An event of such an account is written together with its charge, under that account, and only
// for the operators' hooks.
func OfOperators(owner string) bool { return strings.HasPrefix(owner, "@") }

// Draft is an event that is not written yet.
type Draft struct {
	Type Type
	Team string          // whose it is; [OfOperators]: no team's
	Data json.RawMessage // an object
	To   []Target        // where it is delivered to; nil: nowhere
	Work *Work           // is done before the event is written, and replaces Data and To; nil: none
}

// Event is an event as it was written. It never changes.
type Event struct {
	ID   ID
	Type Type
	Time time.Time // when it was written, UTC, to the millisecond
	Team string    // whose it is; [OfOperators]: no team's
	Data json.RawMessage
}

// Bytes is the event as it is delivered and streamed, identical at each try: one line of JSON. An event of no team has
// no member "team".
func (e *Event) Bytes() []byte {
	out := append([]byte(`{"id":"`), e.ID.String()...)
	out = append(append(out, `","type":"`...), e.Type...)
	out = e.Time.UTC().AppendFormat(append(out, `","timestamp":"`...), "2006-01-02T15:04:05.000Z")
	if out = append(out, '"'); !OfOperators(e.Team) {
		out = append(append(append(out, `,"team":"`...), e.Team...), '"') // an id needs no escapes
	}
	return append(append(append(out, `,"data":`...), e.Data...), '}')
}

// Pattern selects types of events: a type, "task.*" or "*".
type Pattern string

// Matches reports whether a pattern selects a type. "*" and "request.*" do not select request.settled, which a hook gets only if it names
// it.
func (p Pattern) Matches(t Type) bool {
	if t == RequestSettled {
		return p == Pattern(t)
	}
	prefix, wild := strings.CutSuffix(string(p), "*")
	return string(p) == string(t) || wild && strings.HasPrefix(string(t), prefix)
}
