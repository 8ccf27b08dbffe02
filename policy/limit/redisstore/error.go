package redisstore

import (
	"errors"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"sluice/policy/limit"
)

// ErrNotDone means that a script changed nothing, because the accounts that this process knows are gone.
var ErrNotDone = errors.New("the shared state lost its memory, or went back to an older one")

// errRestoring means that a team's accounts are being put back. Nothing was done.
var errRestoring = errors.New("the shared state lost its memory, and what the team has used is being put back")

// errOvertaken means that a later renewal of this process came before this one. Nothing was done.
var errOvertaken = errors.New("a later renewal came first")

// errMixed is a reply to another question: the connection has lost its place.
var errMixed = errors.New("the shared state answered another question")

// NotDone reports whether an error says that Redis has not done what it was asked for.
func NotDone(err error) bool {
	return errors.Is(err, limit.ErrAway) || errors.Is(err, ErrNotDone) || errors.Is(err, errRestoring)
}

// OfAccounts reports whether an error tells something of one team's accounts, and nothing of Redis: they are gone or being put back,
// or something in them is of another type or cannot be read.
func OfAccounts(err error) bool {
	var said redis.Error
	return errors.Is(err, ErrNotDone) || errors.Is(err, errRestoring) || errors.As(err, &said) &&
		slices.ContainsFunc([]string{"WRONGTYPE", "CORRUPT", "attempt to "}, func(word string) bool { return strings.Contains(said.Error(), word) })
}
