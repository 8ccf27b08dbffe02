package main

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"sluice/cmd/sluice/redisclient"
)

const (
	// ownFiles is how many file descriptors are kept for the admin listener's and the console's connections, those to Redis, telemetry
	// and files.
	ownFiles = adminConnections + consoleConnections + redisclient.Connections + 48
	// mostByDefault bounds the default, because an idle connection takes some 20 KiB of memory.
	mostByDefault = 16_384
	// adminConnections bounds the admin listener, out of ownFiles: probes and Prometheus need a few.
	adminConnections = 64
	// adminIdle is how long a connection stays open there without a request. Probes make a new one each time.
	adminIdle = 5 * time.Second
)

// connectionsFor is how many clients' connections a process with that limit of open files may hold: each may need one
// to the service, too.
func connectionsFor(files uint64) int {
	half := (max(files, ownFiles) - ownFiles) / 2
	return int(max(1, min(max(half, files/4), mostByDefault)))
}

// connections bounds the connections that clients hold open at a listener: in all, and a quarter of that for one address (of
// IPv6 one network of 64 bits, which one client usually has). A trusted proxy's connections carry many clients and may be all.
//
// At the bound a new connection takes the place of an idle one: nobody keeps others out with connections that do nothing. A new
// connection beyond both is closed at once. If it waited to be accepted, its client would not try another replica, and one address
// could fill the queue that all share.
type connections struct {
	listener string // its name in the log and in readiness
	setting  string // what sets most; empty: nothing does
	most     int
	proxies  []network // trusted: without a limit by address
	log      *slog.Logger

	mu     sync.Mutex
	open   map[net.Conn]*connection
	of     map[netip.Prefix]*peer
	givers heaped[*peer] // those with idle connections
	clock  uint64        // counts the changes of connections
	ended  int           // idle ones that made room, since the start
	closed int           // new ones for which there was no room, since the start
	last   time.Time     // when the bound was last reached
	logged time.Time     // when the log last said so
}

func newConnections(listener string, most int, proxies []network, log *slog.Logger) *connections {
	return &connections{listener: listener, most: most, proxies: proxies, log: log, open: make(map[net.Conn]*connection), of: make(map[netip.Prefix]*peer)}
}

// clients are the connections to all listeners.
type clients []*connections

// bound bounds the connections to the listener of a server, before it serves. begun says when a request of its keeps its connection from
// being idle.
func (c *clients) bound(server *http.Server, begun beginning, listener string, most int, proxies []network, log *slog.Logger) *connections {
	bounded := newConnections(listener, most, proxies, log)
	bounded.watch(server, begun)
	*c = append(*c, bounded)
	return bounded
}

// state is the line in readiness, with the listeners whose bound was reached.
func (c clients) state() error {
	var list []string
	for _, one := range c {
		if err := one.state(); err != nil {
			list = append(list, err.Error())
		}
	}
	if len(list) == 0 {
		return nil
	}
	return errors.New(strings.Join(list, "; "))
}

// watch bounds the connections of a server. It learns of them by net/http's states.
func (c *connections) watch(server *http.Server, begun beginning) {
	server.ConnState = func(conn net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			c.admit(conn)
		case http.StateActive:
			if !c.isOpen(conn) {
				// It was closed for another as this request came. The request must not run, because nobody would get its answer.
				panic(http.ErrAbortHandler) // net/http recovers it where it serves the connection
			}
		case http.StateClosed, http.StateHijacked:
			c.leave(conn)
		}
	}
	server.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		return context.WithValue(ctx, connectionOf{}, conn)
	}
	server.Handler = c.working(server.Handler, begun)
}

// admit counts a new connection, and closes the one that makes room for it, or the new one itself.
func (c *connections) admit(conn net.Conn) {
	if ended := c.enter(conn); ended != nil {
		for ok := true; ok; { // at once: TLS would first send the client a message, and wait for it to be read
			var above interface{ NetConn() net.Conn }
			if above, ok = ended.(interface{ NetConn() net.Conn }); ok {
				ended = above.NetConn()
			}
		}
		_ = ended.Close()
	}
}

// ofOne is how many connections one address may have, unless it is a trusted proxy's.
func (c *connections) ofOne() int { return max(1, c.most/4) }

// enter counts a new connection and returns the one to close for it: nil, if there is room, or the new one, if none is idle.
func (c *connections) enter(conn net.Conn) (ended net.Conn) {
	network := c.clientOf(conn)
	c.mu.Lock()
	defer c.mu.Unlock()
	client := c.of[network]
	if client == nil {
		client = &peer{network: network, place: -1}
	}
	var giver *peer
	switch {
	case network != allProxies && client.open >= c.ofOne():
		giver = client
	case len(c.open) >= c.most && len(c.givers) > 0:
		giver = c.givers[0]
	}
	full := giver != nil || len(c.open) >= c.most
	if full && (giver == nil || len(giver.idle) == 0) {
		c.closed++
		c.reached(client)
		return conn
	}
	if full {
		ended = giver.idle[0].Conn
		c.ended++
		c.reached(client)
		c.remove(giver.idle[0])
	}
	c.of[network] = client
	client.open++
	c.open[conn] = &connection{Conn: conn, peer: client, place: -1}
	c.setIdle(c.open[conn], true)
	return ended
}

// reached notes that the bound was reached by a connection of a client.
func (c *connections) reached(client *peer) {
	c.last = time.Now()
	if c.last.Sub(c.logged) < time.Minute {
		return
	}
	c.logged = c.last
	name := client.network.String()
	if client.network == allProxies {
		name = "trusted proxies"
	}
	c.log.Warn("too many connections", "listener", c.listener, "open", len(c.open), "most", c.most,
		"client", name, "open_of_client", client.open, "most_of_client", c.ofOne(), "idle_closed", c.ended, "new_closed", c.closed)
}

// isOpen reports whether a connection was not closed for another.
func (c *connections) isOpen(conn net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open[conn] != nil
}

// work notes that one request more, or less, works on a connection, and reports whether it is open.
func (c *connections) work(conn net.Conn, more int) (open bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed := c.open[conn]
	if changed == nil {
		return false
	}
	if changed.working += more; changed.working == max(more, 0) { // the first, or the last
		c.setIdle(changed, changed.working == 0)
	}
	return true
}

func (c *connections) leave(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if left := c.open[conn]; left != nil {
		c.remove(left)
	}
}

func (c *connections) remove(left *connection) {
	delete(c.open, left.Conn)
	if left.peer.open--; left.peer.open == 0 {
		delete(c.of, left.peer.network)
	}
	c.setIdle(left, false)
}

// setIdle keeps the orders in which connections are closed. It MUST be called after each change of a peer.
func (c *connections) setIdle(changed *connection, idle bool) {
	client := changed.peer
	if changed.place >= 0 {
		heap.Remove(&client.idle, changed.place)
	}
	if idle {
		c.clock++
		changed.since = c.clock
		heap.Push(&client.idle, changed)
	}
	switch {
	case len(client.idle) == 0 && client.place >= 0:
		heap.Remove(&c.givers, client.place)
	case len(client.idle) > 0 && client.place < 0:
		heap.Push(&c.givers, client)
	case client.place >= 0:
		heap.Fix(&c.givers, client.place)
	}
}

// state is the listener's part of the line in readiness: an error for a minute after the bound was reached.
func (c *connections) state() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last.IsZero() || time.Since(c.last) > time.Minute {
		return nil
	}
	bound := strconv.Itoa(c.most)
	if c.setting != "" {
		bound = c.setting + " is " + bound
	}
	return fmt.Errorf("%s listener: %s, and one address may have %d; reached within the last minute; since the start %d idle connections made room for new ones, and %d new ones were closed",
		c.listener, bound, c.ofOne(), c.ended, c.closed)
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
