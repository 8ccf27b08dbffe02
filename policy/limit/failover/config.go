package failover

import (
	"errors"
	"time"

	"sluice/policy/limit/redisstore"
)

// Config configures [New].
type Config struct {
	Store    *redisstore.Store
	Timeout  time.Duration // of one call while a request waits for it, from when it is sent
	Refuse   bool          // admit nothing without Redis, instead of spending allowances
	Replicas int           // how many processes there may be at most; at least 1
	// Bridge is how long an allowance may be spent after it was last renewed, and so how long an outage may be bridged. 0: 10 minutes.
	Bridge time.Duration
	Now    func() time.Time
	// Changed is called when Redis goes away, and when it is back, with how long it was away. Nil: nothing is called.
	Changed func(away bool, lasted time.Duration)
	// Why returns the last failure of a call, without secrets; nil: none is known. Nil: it is not said.
	Why func() error
	// Fence does background work, reports a panic of it to the operator, and returns whether it ended without one. Nil: a panic ends the
	// process.
	Fence func(work func()) (whole bool)
	// Miscounted is called once if more replicas are alive than Replicas. Nil: nothing is called.
	Miscounted func(err error)
}

// bridgeDefault is the default of Config.Bridge.
const bridgeDefault = 10 * time.Minute

// errPanicked is the error of background work that panicked.
var errPanicked = errors.New("it panicked")

// guarded does background work whose panic is an error.
func (c *Config) guarded(do func() error) (err error) {
	err = errPanicked
	c.fenced(func() { err = do() })
	return err
}

// fenced does background work, also without a Fence.
func (c *Config) fenced(work func()) (whole bool) {
	if c.Fence != nil {
		return c.Fence(work)
	}
	work()
	return true
}
