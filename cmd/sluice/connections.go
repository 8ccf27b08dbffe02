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
	// ownFiles is how many file descriptors are kept for the admin listener, Redis, telemetry and files.
	ownFiles = 256
	// mostByDefault bounds the default, because an idle connection takes some 20 KiB of memory.
	mostByDefault = 16_384
	// adminConnections bounds the admin listener, out of ownFiles: probes and Prometheus need a few.
	adminConnections = 64
)

// connectionsFor is how many clients' connections a process with that limit of open files may hold: each may need one
// to the service, too.
func connectionsFor(files uint64) int {
	half := (max(files, ownFiles) - ownFiles) / 2
	return int(max(1, min(max(half, files/4), mostByDefault)))
}

// connections bounds the connections that clients hold open at a listener: in all, and a quarter of that for one address (of
// IPv6 one network of 64 bits, which one client usually has). A trusted proxy's connections carry many clients and may be all.
// Those beyond are closed at once. If they waited to be accepted, their clients would not try another replica, and
// one address could fill the queue that all share.
type connections struct {
	most    int
	proxies []network // trusted: without a limit by address
	log     *slog.Logger

	mu     sync.Mutex
	open   map[net.Conn]netip.Prefix
	of     map[netip.Prefix]int
	closed int       // for lack of room, since the start
	last   time.Time // when the last of them was closed
	logged time.Time // when the log last said so
}

func newConnections(most int, proxies []network, log *slog.Logger) *connections {
	return &connections{most: most, proxies: proxies, log: log, open: make(map[net.Conn]netip.Prefix), of: make(map[netip.Prefix]int)}
}

// watch bounds the connections of a server. It counts by net/http's states.
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

// ofOne is how many connections one address may have, unless it is a trusted proxy's.
func (c *connections) ofOne() int { return max(1, c.most/4) }

// enter counts a new connection, or reports that there is no room for it.
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
	if c.last.Sub(c.logged) >= time.Minute {
		c.logged = c.last
		name := client.String()
		if client == allProxies {
			name = "trusted proxies"
		}
		c.log.Warn("too many connections, new ones are closed", "open", len(c.open), "most", c.most,
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

// state is the line in readiness: an error while connections are closed.
func (c *connections) state() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed == 0 || time.Since(c.last) > time.Minute {
		return nil
	}
	return fmt.Errorf("new connections closed since the start: %d, the last within a minute; %sMAX_CONNECTIONS is %d, and one address may have %d of them", c.closed, prefix, c.most, c.ofOne())
}

// allProxies is the client that trusted proxies' connections count for.
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
