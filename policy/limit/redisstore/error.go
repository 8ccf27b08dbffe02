package redisstore

import (
	"errors"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"sluice/policy/limit"
)

// ErrNotDone means that a call changed nothing, because the accounts that this process knows are lost.
var ErrNotDone = errors.New("Redis lost its memory, or went back to an older copy") //nolint:staticcheck // a name

// errRestoring means that a team's accounts are being restored. Nothing was done.
var errRestoring = errors.New("Redis lost its memory, and what the team has used is being restored") //nolint:staticcheck // a name

// errOvertaken means that a later renewal of this process arrived before this one. Nothing was done.
var errOvertaken = errors.New("a later renewal came first")

// errMixed means that a reply belongs to another call: the connection is out of step.
var errMixed = errors.New("Redis sent the reply to another call") //nolint:staticcheck // a name

// NotDone reports whether an error means that Redis changed nothing.
func NotDone(err error) bool {
	return notAsked(err) || errors.Is(err, ErrNotDone) || errors.Is(err, errRestoring) || errors.Is(err, limit.ErrMoney)
}

// notAsked reports whether an error means that Redis was not asked at all.
func notAsked(err error) bool { return errors.Is(err, limit.ErrAway) || errors.Is(err, limit.ErrBusy) }

// OfAccounts reports whether an error is about one team's accounts and not about Redis itself: they are lost or being restored,
// or a key is of the wrong type or cannot be read.
func OfAccounts(err error) bool {
	var said redis.Error
	return errors.Is(err, ErrNotDone) || errors.Is(err, errRestoring) || errors.As(err, &said) &&
		slices.ContainsFunc([]string{"WRONGTYPE", "CORRUPT", "attempt to "},
			func(word string) bool { return strings.Contains(said.Error(), word) })
}
