package redisstore

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/semaphore"

	"sluice/policy/limit"
	"sluice/unit"
)

// Store keeps the accounts in Redis, where every replica sees them. Every change is one script, so it happens whole or not at all,
// and knows its hold's id, so it may be sent again if its reply was lost. It is safe for concurrent use.
type Store struct {
	wire                     // set its fields, and those below, before the first call
	Cluster bool             // Redis has several parts, which go away and lose memory separately
	Peer    Peer             // this process among the replicas
	Now     func() time.Time // this process's clock, which decides nothing

	admissions batcher
	teams      limit.PerTeam[team]
	today      dayNow
	fields     fieldsNow
	house      house
}

// team is a team's keys, and what this process knows of its accounts.
type team struct {
	*teamKeys
	*own
}

// New returns the accounts in client's Redis. The client sets time limits; it MUST NOT repeat calls.
func New(client redis.UniversalClient) *Store {
	r := &Store{
		wire: wire{client: client, Clock: func() int64 { return 0 }}, Now: time.Now,
		teams: limit.PerTeam[team]{First: func(id string) *team {
			return &team{keysOf(id), &own{restoring: semaphore.NewWeighted(1)}}
		}},
	}
	r.admissions.wire = &r.wire
	return r
}

// schema begins every key. The package comment lists them.
const schema = "sl1:"

// The keys of no team. accountKeys begins those of the upstream account's rates, which share a slot.
const (
	epochKey    = schema + "epoch"
	namesKey    = schema + "teams"
	replicasKey = schema + "replicas"
	accountKeys = schema + "account:{account}:"
)

// teamKeys are the keys of one team. All have the team in their hash tag, so they lie in one slot of a cluster and one
// script may use them all: it derives them from that of the quotas. Team ids are of a–z, 0–9 and -, so no id can end the tag early.
type teamKeys struct {
	id     string
	quota  string
	open   string
	aside  string // allowances
	hold   string // and the id
	ledger string // and the day as yyyymmdd

	key, openKey any // quota and open, converted once
	rates        [limit.RateCount]any

	terms atomic.Pointer[wiredTerms]
}

func keysOf(team string) *teamKeys {
	p := schema + "{" + team + "}:"
	k := &teamKeys{id: team, quota: p + "quota", open: p + "open", aside: p + "aside", hold: p + "hold:", ledger: p + "use:"}
	k.key, k.openKey = k.quota, k.open
	for i, name := range unit.Names {
		k.rates[i] = p + "rate:" + string(name)
	}
	return k
}

// late is the key of the days that changed late.
func (k *teamKeys) late() string { return k.ledger + "late" }

func (k *teamKeys) day(day int) string { return k.ledger + strconv.Itoa(day) }

// tags is the key of the ledger of tags of a day.
func (k *teamKeys) tags(day int) string { return k.day(day) + ":tags" }

// ErrNotDone means that a call changed nothing, because the accounts that this process knows are lost.
var ErrNotDone = errors.New("Redis lost its memory, or went back to an older copy") //nolint:staticcheck // a name

// errRestoring means that a team's accounts are being restored. Nothing was done.
var errRestoring = errors.New("Redis lost its memory, and what the team has used is being restored") //nolint:staticcheck // a name

// errOvertaken means that a later renewal of this process came before this one. Nothing was done.
var errOvertaken = errors.New("a later renewal came first")

// errMixed is a reply to another call: the connection is out of step.
var errMixed = errors.New("Redis sent the reply to another call") //nolint:staticcheck // a name

// NotDone reports whether an error says that Redis changed nothing.
func NotDone(err error) bool {
	return notAsked(err) || errors.Is(err, ErrNotDone) || errors.Is(err, errRestoring)
}

// notAsked reports whether an error says that Redis was not asked at all.
func notAsked(err error) bool { return errors.Is(err, limit.ErrAway) || errors.Is(err, limit.ErrBusy) }

// OfAccounts reports whether an error is about one team's accounts and says nothing of Redis: they are lost or being restored, or a
// key is of the wrong type or cannot be read.
func OfAccounts(err error) bool {
	var said redis.Error
	return errors.Is(err, ErrNotDone) || errors.Is(err, errRestoring) || errors.As(err, &said) &&
		slices.ContainsFunc([]string{"WRONGTYPE", "CORRUPT", "attempt to "}, func(word string) bool { return strings.Contains(said.Error(), word) })
}
