package wire

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
)

// Connections bounds the connections that clients hold open at a listener: in all, and a quarter of that for one address (of
// IPv6 one network of 64 bits, which one client usually has). A trusted proxy's connections carry many clients and may be all.
//
// At the bound a new connection takes the place of an idle one: no client keeps others out with connections that do nothing. A
// new connection beyond both is closed immediately. If it waited to be accepted, its client would not try another replica, and
// one address could fill the queue that all share.
type Connections struct {
	config Config

	mu     sync.Mutex
	open   map[net.Conn]*connection
	of     map[netip.Prefix]*peer
	givers heaped[*peer] // those with idle connections
	clock  uint64        // counts the changes of connections
	ended  int           // idle ones that made room, since the start
	closed int           // new ones closed for lack of room, since the start
	last   time.Time     // when the bound was last reached
	logged time.Time     // when that was last logged
}

// Config says how many connections a listener may have, and for whom.
type Config struct {
	Listener string // its name in the log and in readiness
	Setting  string // the setting that sets Most; empty: none does
	Most     int
	Proxies  []netip.Prefix // trusted: without a limit by address; may be empty
	Begun    Beginning      // from when a request keeps its connection from being idle
	Log      *slog.Logger
}

func newConnections(config Config) *Connections {
	return &Connections{config: config, open: make(map[net.Conn]*connection), of: make(map[netip.Prefix]*peer)}
}

// Listeners are the connections to all listeners of a process.
type Listeners []*Connections

// Bound bounds the connections to the listener of a server. It MUST be called before the server serves.
func (l *Listeners) Bound(server *http.Server, config Config) {
	bounded := newConnections(config)
	bounded.watch(server)
	*l = append(*l, bounded)
}

// State is the line in readiness: an error that names the listeners whose bound was reached within the last minute.
func (l Listeners) State() error {
	var list []string
	for _, one := range l {
		if err := one.state(); err != nil {
			list = append(list, err.Error())
		}
	}
	if len(list) == 0 {
		return nil
	}
	return errors.New(strings.Join(list, "; "))
}

// watch bounds the connections of a server, which it follows by net/http's states.
func (c *Connections) watch(server *http.Server) {
	server.ConnState = func(conn net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			c.admit(conn)
		case http.StateActive:
			if !c.isOpen(conn) {
				// It was closed for another as this request arrived. The request must not run, because its answer would be lost.
				panic(http.ErrAbortHandler) // net/http recovers it where it serves the connection
			}
		case http.StateClosed, http.StateHijacked:
			c.leave(conn)
		}
	}
	server.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		return context.WithValue(ctx, connectionOf{}, conn)
	}
	server.Handler = c.working(server.Handler, c.config.Begun)
}

// admit counts a new connection, and closes the one that makes room for it, or the new one itself.
func (c *Connections) admit(conn net.Conn) {
	if ended := c.enter(conn); ended != nil {
		for ok := true; ok; { // immediately: TLS would first send the client a message, and wait for it to be read
			var above interface{ NetConn() net.Conn }
			if above, ok = ended.(interface{ NetConn() net.Conn }); ok {
				ended = above.NetConn()
			}
		}
		_ = ended.Close()
	}
}

// ofOne is how many connections one address may have that is not a trusted proxy's.
func (c *Connections) ofOne() int { return max(1, c.config.Most/4) }

// enter counts a new connection and returns the connection to close for it: nil if there is room, the new one if none is idle.
func (c *Connections) enter(conn net.Conn) (ended net.Conn) {
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
	case len(c.open) >= c.config.Most && len(c.givers) > 0:
		giver = c.givers[0]
	}
	full := giver != nil || len(c.open) >= c.config.Most
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
func (c *Connections) reached(client *peer) {
	c.last = time.Now()
	if c.last.Sub(c.logged) < time.Minute {
		return
	}
	c.logged = c.last
	name := client.network.String()
	if client.network == allProxies {
		name = "trusted proxies"
	}
	c.config.Log.Warn("too many connections", "listener", c.config.Listener, "open", len(c.open), "most", c.config.Most,
		"client", name, "open_of_client", client.open, "most_of_client", c.ofOne(), "idle_closed", c.ended, "new_closed", c.closed)
}

// isOpen reports whether a connection was not closed for another.
func (c *Connections) isOpen(conn net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open[conn] != nil
}

// work counts a request that begins (more is 1) or ends (-1) to work on a connection, and reports whether the connection is open.
func (c *Connections) work(conn net.Conn, more int) (open bool) {
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

func (c *Connections) leave(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if left := c.open[conn]; left != nil {
		c.remove(left)
	}
}

func (c *Connections) remove(left *connection) {
	delete(c.open, left.Conn)
	if left.peer.open--; left.peer.open == 0 {
		delete(c.of, left.peer.network)
	}
	c.setIdle(left, false)
}

// setIdle maintains the orders in which connections are closed. It MUST be called after each change of a peer.
func (c *Connections) setIdle(changed *connection, idle bool) {
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
func (c *Connections) state() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last.IsZero() || time.Since(c.last) > time.Minute {
		return nil
	}
	bound := strconv.Itoa(c.config.Most)
	if c.config.Setting != "" {
		bound = c.config.Setting + " is " + bound
	}
	return fmt.Errorf("%s listener: %s, and one address may have %d; reached within the last minute; since the start %d idle connections "+
		"made room for new ones, and %d new ones were closed",
		c.config.Listener, bound, c.ofOne(), c.ended, c.closed)
}

// allProxies is the network that connections of trusted proxies count for.
var allProxies netip.Prefix

// clientOf is the network that a connection counts for.
func (c *Connections) clientOf(conn net.Conn) netip.Prefix {
	peer, _ := netip.ParseAddrPort(conn.RemoteAddr().String())
	address := peer.Addr().Unmap().WithZone("")
	if slices.ContainsFunc(c.config.Proxies, func(n netip.Prefix) bool { return n.Contains(address) }) {
		return allProxies
	}
	bits := 64
	if address.Is4() {
		bits = 32
	}
	client, _ := address.Prefix(bits)
	return client
}
