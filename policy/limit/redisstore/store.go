package redisstore

import (
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/semaphore"

	"sluice/policy/limit"
)

// Store keeps the accounts in Redis, where every replica sees them. Every change is one script, so it happens whole or
// not at all, and knows its hold's id, so it may be sent again when its reply was lost. It is safe for concurrent use.
type Store struct {
	wire                     // its fields, and those below, are set before the first call
	Cluster bool             // Redis has parts that may be away, and forget, each for itself
	Peer    Peer             // what this process is among the replicas; zero: it is alone and sets nothing aside
	Now     func() time.Time // this process's own clock, which decides nothing; New sets it to time.Now

	teams limit.PerTeam[team]
	today dayNow
}

// team is what this process has of one team: its keys, and what it knows of the accounts.
type team struct {
	*teamKeys
	*own
}

// New returns the accounts that client leads to. The client sees to time limits and to connections; it must not
// send anything twice by itself.
func New(client redis.UniversalClient) *Store {
	return &Store{
		wire: wire{client: client, Clock: func() int64 { return 0 }}, Now: time.Now,
		teams: limit.PerTeam[team]{First: func(id string) *team {
			return &team{keysOf(id), &own{restoring: semaphore.NewWeighted(1)}}
		}},
	}
}
