package redisstore

import (
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/event/outbox"
	"sluice/policy/limit"
	"sluice/policy/teams"
)

// Store keeps the accounts in Redis, where every replica sees them. Every change is one script, so it is atomic, and names its
// hold's id, so it may be retried if its reply was lost. It is safe for concurrent use.
type Store struct {
	Names
	Ledgers
	known
	wire                     // set its fields, and those below, before the first call
	Cluster bool             // Redis has several parts, which fail and lose memory separately
	Peer    Peer             // this process among the replicas
	Now     func() time.Time // this process's clock, which decides nothing
	Events  *outbox.Outbox   // in the same Redis; nil: events of charges are not written
	Alerts  limit.Alerts     // the thresholds that are announced with a charge; nil: none

	admissions batcher
	today      dayNow
	fields     fieldsNow
	listed     teamList
	days       [limit.TeamScopes]keptDays
}

// New returns the accounts in client's Redis. The client sets time limits; it MUST NOT repeat calls.
func New(client redis.UniversalClient) *Store {
	counts := &agreement{in: client}
	r := &Store{
		Names: Names{client, counts.Agree}, wire: wire{agreement: counts, client: client, Clock: func() int64 { return 0 }}, Now: time.Now,
		known: known{teams.PerTeam[team]{First: func(id string) *team { return &team{keysOf(id), newOwn()} }}},
	}
	r.admissions.wire, r.Ledgers, r.listed.ids = &r.wire, Ledgers{r}, map[string]bool{}
	return r
}

// Ledgers reads what a Store keeps of past days and of the parts of teams. It changes nothing, and fails without Redis.
type Ledgers struct{ of *Store }
