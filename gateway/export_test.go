package gateway

import (
	"context"
	"crypto/x509"
	"net/http/httputil"
	"strconv"
	"time"

	"sluice/cache"
)

// What the tests of behaviour need of the inside.
var (
	NewBufferPool = newBufferPool
)

// SetSlowStart shortens the time before a slow body is refused.
func (g *Gateway) SetSlowStart(d time.Duration) { g.slowStart = d }

// SetLingerTime shortens the time for which what is left of a body is dropped.
func (g *Gateway) SetLingerTime(d time.Duration) { g.lingerTime = d }

// SetDrainTime shortens the time for draining an answer whose client has left.
func (g *Gateway) SetDrainTime(d time.Duration) { g.drainTime = d }

// SetLease shortens the lease of a request's hold.
func (g *Gateway) SetLease(d time.Duration) { g.lease = d }

// BodiesInMemory is what request bodies hold of the budget.
func (g *Gateway) BodiesInMemory() int64 { return g.budget.used.Load() }

// BreakConnections makes writing on the connections that wait fail, which no look shows, and tells how many they are.
func (g *Gateway) BreakConnections() int {
	p := g.upstream.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.idle {
		_ = c.wire.CloseWrite()
	}
	return len(p.idle)
}

// SetBufferPool replaces the proxy's copy buffers.
func (g *Gateway) SetBufferPool(pool httputil.BufferPool) { g.proxy.BufferPool = pool }

// TrustUpstream makes these certificates the ones that upstream's must descend from.
func (g *Gateway) TrustUpstream(roots *x509.CertPool) { g.upstream.pool.secure.RootCAs = roots }

// Finish does one round of the finisher.
func (g *Gateway) Finish(ctx context.Context) { g.finish(ctx) }

// Waiting is how many polls of a team are held.
func (g *Gateway) Waiting(team string) int64 { return g.waiters.of(team).Load() }

// FillEnds leaves no room for an end that waits for its charge.
func (g *Gateway) FillEnds() {
	for n := range mostEnds {
		g.ends.add(&cache.Claim{Team: "another", Task: strconv.Itoa(n)})
	}
}
