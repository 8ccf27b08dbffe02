package redisclient

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// PlaceWait bounds a call's wait for a connection. A call that got none does not count as a failure of Redis.
	PlaceWait = 2 * time.Second
	// ownConnections is how many connections of a pool are reserved for the client's own calls: a probe, and a read of Redis's facts.
	ownConnections = 2
)

// errNoPlace means that no connection was free for PlaceWait, errNoConnection that none was open.
var (
	errNoPlace      = errors.New("all connections were busy")
	errNoConnection = late(fmt.Sprintf("no connection within %s", PlaceWait))
)

// places are the connections to one node that calls may use, one call each. A call without a place waits in a queue for one that is
// returned or newly opened: the library's own pool would make it connect within the call's own time.
//
// The library's pool holds the connections, so their number is only approximate: a call that finds none connects by itself, within a
// time of its own.
type places struct {
	most int          // bounds the open connections
	make func() error // opens a connection and leaves it in the pool

	mu      sync.Mutex
	open    int // connections that calls may use, approximately
	used    int
	making  int
	answers int       // calls that Redis has answered
	waiting list.List // of chan error: nil grants a place, an error says why not
}

// take waits for a place; give returns it. A deadline of ctx does not end the wait, because it bounds Redis's time.
func (p *places) take(ctx context.Context) error {
	p.mu.Lock()
	if p.used < p.open && p.waiting.Len() == 0 {
		p.used++
		p.mu.Unlock()
		return nil
	}
	turn := make(chan error, 1)
	at := p.waiting.PushBack(turn)
	p.makeMore()
	p.mu.Unlock()
	timer := time.NewTimer(PlaceWait)
	defer timer.Stop()
	for left := ctx.Done(); ; {
		select {
		case err := <-turn:
			return err
		case <-timer.C:
			return p.leave(at, turn, p.late())
		case <-left:
			if errors.Is(ctx.Err(), context.Canceled) {
				return p.leave(at, turn, context.Canceled)
			}
			left = nil
		}
	}
}

// late returns why a call got no place in time.
func (p *places) late() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open == 0 {
		return errNoConnection
	}
	return errNoPlace
}

// leave ends a wait. A place granted meanwhile goes to the next call.
func (p *places) leave(at *list.Element, turn chan error, why error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case err := <-turn:
		if err == nil {
			p.used--
			p.grant()
		}
	default:
		p.waiting.Remove(at)
	}
	return why
}

// give returns a place. lost means that its connection is no longer open.
func (p *places) give(lost bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used--
	switch {
	case !lost:
		p.answers++
	case p.open > 0:
		p.open--
	}
	p.grant()
}

// begin reserves room for n connections to be opened in advance, and returns how many fit.
func (p *places) begin(n int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n = max(0, min(n, p.most-p.open-p.making))
	p.making += n
	return n
}

// made records that n reserved connections were tried, and how many are open now.
func (p *places) made(n, open int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.making -= n
	p.open = min(open, p.most)
	p.grant()
}

// drop records that every idle connection is closed. Those in use are returned as lost.
func (p *places) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open = p.used
}

// fail ends every wait, because Redis is away.
func (p *places) fail(why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.waiting.Len() > 0 {
		p.next() <- why
	}
}

func (p *places) next() chan error {
	return p.waiting.Remove(p.waiting.Front()).(chan error)
}

// grant gives the free places to waiting calls. The lock is held.
func (p *places) grant() {
	for p.used < p.open && p.waiting.Len() > 0 {
		p.used++
		p.next() <- nil
	}
	p.makeMore()
}

// makeMore opens connections for the waiting calls. The lock is held.
func (p *places) makeMore() {
	for p.making < p.waiting.Len() && p.open+p.making < p.most {
		p.making++
		go p.makeOne()
	}
}

// makeOne opens a connection. If that fails, the call that has waited longest fails with the reason. But if Redis answered another call
// meanwhile, it keeps waiting for a returned connection: Redis may accept no more connections, or this process may be too busy to open
// one in time.
func (p *places) makeOne() {
	p.mu.Lock()
	answers := p.answers
	p.mu.Unlock()
	err := p.make()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.making--
	switch {
	case err == nil:
		p.open = min(p.open+1, p.most)
	case p.open > 0 && p.answers != answers:
		return // the next call tries again
	case p.waiting.Len() > 0:
		p.next() <- err
	}
	p.grant()
}
