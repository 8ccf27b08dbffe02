package main

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"
)

const (
	// ownFiles are the descriptors that clients of the public listener leave to the admin listener, Redis, telemetry and
	// files.
	ownFiles = 256
	// mostByDefault bounds the default, because a connection takes memory, too: some 20 KiB while it waits.
	mostByDefault = 16_384
	// adminConnections is the bound of the admin listener, out of ownFiles: probes and Prometheus need a few.
	adminConnections = 64
)

// connectionsFor is how many connections of clients a process may hold that may open so many files: each may need one to
// upstream, too.
func connectionsFor(files uint64) int {
	half := (max(files, ownFiles) - ownFiles) / 2
	return int(max(1, min(max(half, files/4), mostByDefault)))
}

// connections bounds those that clients hold open at a listener: in all, and a quarter of that for one address (of IPv6
// one network of 64 bits, which is what one client has). A trusted proxy's are many clients', and may be all. Those beyond
// are closed as they come. To leave them waiting to
// be accepted would spare none of them, hide from their clients that they had better go elsewhere, and let one address
// fill the queue that all share.
type connections struct {
	most    int
	proxies []network // addresses that may have all; may be empty
	log     *slog.Logger

	mu     sync.Mutex
	open   map[net.Conn]netip.Prefix
	of     map[netip.Prefix]int
	closed int       // as they came, since the start
	last   time.Time // when the last of them was
	told   time.Time // when the log was told last
}

func newConnections(most int, proxies []network, log *slog.Logger) *connections {
	return &connections{most: most, proxies: proxies, log: log, open: make(map[net.Conn]netip.Prefix), of: make(map[netip.Prefix]int)}
}

// watch bounds the server's. It counts by the states that net/http tells, so that nothing is wrapped around a connection.
func (c *connections) watch(server *http.Server) {
	server.ConnState = func(conn net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			if !c.enter(conn) {
				_ = conn.Close()
			}
		case http.StateClosed, http.StateHijacked:
			c.leave(conn)
		}
	}
}

// ofOne is how many connections one address may have that is no trusted proxy's.
func (c *connections) ofOne() int { return max(1, c.most/4) }

// enter counts a new connection in, or reports that there is no room for it.
func (c *connections) enter(conn net.Conn) bool {
	client := c.clientOf(conn)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.open) < c.most && (client == allProxies || c.of[client] < c.ofOne()) {
		c.open[conn] = client
		c.of[client]++
		return true
	}
	c.closed++
	c.last = time.Now()
	if c.last.Sub(c.told) >= time.Minute {
		c.told = c.last
		name := client.String()
		if client == allProxies {
			name = "trusted proxies"
		}
		c.log.Warn("connections are closed as they come", "open", len(c.open), "most", c.most,
			"client", name, "open_of_client", c.of[client], "most_of_client", c.ofOne(), "closed", c.closed)
	}
	return false
}

func (c *connections) leave(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	client, counted := c.open[conn]
	if !counted {
		return
	}
	delete(c.open, conn)
	if c.of[client]--; c.of[client] == 0 {
		delete(c.of, client)
	}
}

// state is the line in readiness.
func (c *connections) state() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed == 0 || time.Since(c.last) > time.Minute {
		return nil
	}
	return fmt.Errorf("%d closed as they came since the start, some within the last minute: %sMAX_CONNECTIONS is %d, and %d of them for one address", c.closed, prefix, c.most, c.ofOne())
}

// allProxies is what the connections of trusted proxies count for.
var allProxies netip.Prefix

// clientOf is the network that a connection counts for.
func (c *connections) clientOf(conn net.Conn) netip.Prefix {
	peer, _ := netip.ParseAddrPort(conn.RemoteAddr().String())
	address := peer.Addr().Unmap().WithZone("")
	if slices.ContainsFunc(c.proxies, func(n network) bool { return netip.Prefix(n).Contains(address) }) {
		return allProxies
	}
	bits := 64
	if address.Is4() {
		bits = 32
	}
	client, _ := address.Prefix(bits)
	return client
}
