package access

import (
	"context"
	"time"
)

// Store keeps what the replicas of a console share, as values by kind and name, each for a time. A value is not empty, and contains no
// secret.
type Store interface {
	// Put stores a value and replaces one of that name. A store may bound the values of a kind: the oldest are dropped then.
	Put(ctx context.Context, kind, name string, value []byte, life time.Duration) error
	// Get returns a value, or nil if there is none. A renew above 0 is its life from now on.
	Get(ctx context.Context, kind, name string, renew time.Duration) ([]byte, error)
	// Swap replaces a value without changing its life. It MUST store nothing and return false if there is none, so that
	// what was ended stays ended.
	Swap(ctx context.Context, kind, name string, value []byte) (bool, error)
	// Take removes a value and returns it, or nil. Of several callers, on any replica, only one gets it.
	Take(ctx context.Context, kind, name string) ([]byte, error)
	// List returns the values of a kind, the newest first.
	List(ctx context.Context, kind string) ([][]byte, error)
	// Count adds a step to a number and returns the sum. The number is zero again when window is over since its first step.
	// A step of 0 reads it; one below 0 takes back, but the number stays 0 or above.
	Count(ctx context.Context, name string, step int, window time.Duration) (int, error)
}

// The kinds of values.
const (
	kindSession = "session"
	kindSignOn  = "signon" // a login that is at the issuer
)
