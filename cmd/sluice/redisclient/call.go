package redisclient

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"
)

// callTimeout bounds every call. Most have a deadline of their own, which is much shorter.
const callTimeout = 3 * time.Second

func isTimeout(err error) bool {
	failed, ok := errors.AsType[net.Error](err)
	return ok && failed.Timeout()
}

// call is the context of one call of Redis. Its time begins when the library first asks for the deadline, which it does to send: a
// connection that has to be made before is not Redis's slowness. The library looks at nothing else while it waits for the reply.
type call struct {
	context.Context // for its values
	lasts           time.Duration
	until           atomic.Int64 // in Unix nanoseconds; 0: nothing was sent yet
}

// lasting returns the context of a call that may take so long.
func lasting(parent context.Context, d time.Duration) *call { return &call{Context: parent, lasts: d} }

// timeOf is how long a call may take: as long as its caller still has when it asks, however long it waits for a connection, and at least
// least. So a caller's deadline ends a sequence of calls, and shortens none of them.
func timeOf(ctx context.Context, least time.Duration) time.Duration {
	if until, bounded := ctx.Deadline(); bounded {
		return max(time.Until(until), least)
	}
	return callTimeout
}

// Deadline is the moment at which Redis's time is over.
func (c *call) Deadline() (time.Time, bool) {
	now := time.Now()
	c.until.CompareAndSwap(0, now.Add(c.lasts).UnixNano())
	return now.Add(time.Duration(c.until.Load() - now.UnixNano())), true // of the monotonic clock
}

// Done is nil: the library takes no call back that it has begun.
func (*call) Done() <-chan struct{} { return nil }

// Err is nil, as Done.
func (*call) Err() error { return nil }

// connecting marks in a context the calls of a connection that is being made, which no place and no breaker holds up.
type connecting struct{}

// making marks in a context the call that makes a connection.
type making struct{}
