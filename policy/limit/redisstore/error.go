package redisstore

import (
	"errors"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"sluice/policy/limit"
)

// errNotDone means that a script changed nothing, because the accounts that this process knows are gone.
var ErrNotDone = errors.New("the shared state lost its memory, or went back to an older one")

// errForgets means that what was put back into Redis was gone again at once.
var errForgets = errors.New("the shared state forgets what it is told")

// errRestoring means that a team's accounts are being put back. Nothing was done.
var errRestoring = errors.New("the shared state lost its memory, and what the team has used is being put back")

// errMixed is a reply to somebody else's question: the connection has lost its place.
var errMixed = errors.New("the shared state answered another question")

// ofAccounts reports whether an error is that of one team's accounts, in which something is of another type or cannot be read.
func ofAccounts(err error) bool {
	var said redis.Error
	if !errors.As(err, &said) {
		return false
	}
	return slices.ContainsFunc([]string{"WRONGTYPE", "CORRUPT", "attempt to "}, func(word string) bool { return strings.Contains(said.Error(), word) })
}

// NotDone reports whether an error says that Redis has not done what it was asked for.
func NotDone(err error) bool {
	return errors.Is(err, limit.ErrAway) || errors.Is(err, ErrNotDone) || errors.Is(err, errRestoring) || errors.Is(err, errForgets)
}

// Away reports whether an error says that Redis is away, and not something of one team's accounts.
func (r *Store) Away(err error) bool {
	if errors.Is(err, errMixed) && r.Mixed != nil {
		r.Mixed()
	}
	return err != nil && !errors.Is(err, ErrNotDone) && !errors.Is(err, errRestoring) && !ofAccounts(err)
}
