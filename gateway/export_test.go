package gateway

import (
	"context"
	"crypto/x509"
	"net/http/httputil"
	"time"

	"sluice/gateway/tasks"
	"sluice/gateway/upstream"
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
func (g *Gateway) SetDrainTime(d time.Duration) {
	config := g.upstreamConfig()
	config.DrainTime = d
	g.upstream.client = upstream.New(config)
}

// SetLease shortens the lease of a request's hold.
func (g *Gateway) SetLease(d time.Duration) { g.lease = d }

// BodiesInMemory is what request bodies hold of the budget.
func (g *Gateway) BodiesInMemory() int64 { return g.budget.used.Load() }

// SetBufferPool replaces the proxy's copy buffers.
func (g *Gateway) SetBufferPool(pool httputil.BufferPool) { g.proxy.BufferPool = pool }

// TrustUpstream makes these certificates the ones that upstream's must descend from.
func (g *Gateway) TrustUpstream(roots *x509.CertPool) {
	config := g.upstreamConfig()
	config.Roots = roots
	g.upstream.client = upstream.New(config)
}

// Finish does one round of the finisher.
func (g *Gateway) Finish(ctx context.Context) { g.tasks.Finish(ctx) }

// Waiting is how many polls of a team are held.
func (g *Gateway) Waiting(team string) int64 { return g.slots.of(team).waiting.Load() }

// FillEnds leaves no room for an end that waits for its charge.
func (g *Gateway) FillEnds() {
	config := g.tasksConfig()
	config.MaxUnsettled = -1
	g.tasks = tasks.New(config, g.tasksDeps())
}

// Claims are those that the gateway was given.
func (g *Gateway) Claims() Claims { return g.deps.Claims }
