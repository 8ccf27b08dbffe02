package gateway

import (
	"context"
	"crypto/x509"
	"net/http/httputil"
	"slices"
	"strings"
	"time"

	"sluice/gateway/accounts"
	"sluice/gateway/tasks"
	"sluice/gateway/upstream"
	"sluice/gateway/wire"
	"sluice/policy/teams"
)

// Access to internals for the tests of behaviour.
var (
	NewBufferPool = func() httputil.BufferPool { return wire.NewCopyBuffers() }
)

// SetSlowStart shortens the time before a slow body is refused.
func (g *Gateway) SetSlowStart(d time.Duration) { g.bounds.slowStart = d }

// SetLingerTime shortens the time for which the rest of a body is dropped.
func (g *Gateway) SetLingerTime(d time.Duration) { g.bounds.lingerTime = d }

// SetDrainTime shortens the time for draining an answer whose client has left.
func (g *Gateway) SetDrainTime(d time.Duration) {
	g.setClient(func(config *upstream.Config) { config.DrainTime = d })
}

// SetPulseTime shortens the silence of a stream after which its client is told that it goes on.
func (g *Gateway) SetPulseTime(d time.Duration) {
	g.setClient(func(config *upstream.Config) { config.PulseTime = d })
}

// SetTeams replaces the teams, and leaves the accounts at the service as they are.
func (g *Gateway) SetTeams(file *teams.File) { g.setTeams(file) }

// SetUpstream replaces the accounts at the service, and leaves the teams as they are.
func (g *Gateway) SetUpstream(up accounts.Set) { g.Set(g.live.teams(), up) }

// setClient replaces the ways to the service.
func (g *Gateway) setClient(change func(*upstream.Config)) {
	config := poolConfig(&g.config, &g.deps, g.admission.queue)
	change(&config.Client)
	g.live.pool = accounts.New(config, g.deps.Upstream)
	g.setTeams(g.live.teams())
}

// SetLease shortens the lease of a request's hold.
func (g *Gateway) SetLease(d time.Duration) { g.admission.lease, g.forward.service.lease = d, d }

// BodiesInMemory is the part of the budget that request bodies hold.
func (g *Gateway) BodiesInMemory() int64 { return g.throttle.loads.Bytes() }

// BuffersLent is how many bytes of large buffers requests have.
func (g *Gateway) BuffersLent() int64 { return g.inspection.buffers.Lent() }

// SetBufferPool replaces the proxy's copy buffers.
func (g *Gateway) SetBufferPool(pool httputil.BufferPool) {
	g.forward.proxy.BufferPool, g.forward.streams.BufferPool = pool, pool
}

// TrustUpstream makes these certificates the roots for upstream's.
func (g *Gateway) TrustUpstream(roots *x509.CertPool) {
	g.setClient(func(config *upstream.Config) {
		config.Tunnel = &upstream.Tunnel{Roots: func() *x509.CertPool { return roots }}
	})
}

// Finish runs one round of the finisher.
func (g *Gateway) Finish(ctx context.Context) { g.polls.tasks.Finish(ctx) }

// Waiting is how many polls of a team are held.
func (g *Gateway) Waiting(team string) int64 { return g.throttle.loads.Of(team).Waiting.Load() }

// ChooseFirst has ties of accounts go to the first.
func (c *Config) ChooseFirst() { c.luck = func() float64 { return 0 } }

// FillUnsettled leaves no room for an end that waits for its charge.
func (c *Config) FillUnsettled() { c.maxUnsettled = -1 }

// Claims are the gateway's claims.
func (g *Gateway) Claims() tasks.Claims { return g.deps.Claims }

// Paths are the paths outside the version prefix, as they stand in the table.
func (g *Gateway) Paths() (own []string) {
	for _, r := range slices.Concat(g.table(), g.frontTable()) {
		if strings.HasPrefix(r.path, "/") {
			own = append(own, r.path)
		}
	}
	return own
}
