// Package wire depends on the inside of net/http: on the deadlines of its connections, on which of them are open and which a request
// works on, on how much stack its writer needs, and on how it ends a connection. It also lends the memory of bodies, finds the client's
// address, and decides which pages may read answers. It knows nothing of what requests ask for.
package wire

import (
	"net"
	"net/netip"
	"slices"
)

// connection is an open connection. It is idle while no request works on it; HTTP/2 has several.
type connection struct {
	net.Conn
	peer    *peer
	working int    // requests
	since   uint64 // when it became idle, by the clock of connections
	place   int    // among the idle ones of its peer; -1: it is not idle
}

func (c *connection) before(other *connection) bool { return c.since < other.since }
func (c *connection) put(place int)                 { c.place = place }

// peer is the other end of connections: an address, or all trusted proxies.
type peer struct {
	network netip.Prefix
	open    int
	idle    heaped[*connection] // the one that has been idle longest comes first
	place   int                 // among those with idle connections; -1: it has none
}

// before reports whether a connection of p is closed before one of the other peer: the peer with more connections comes first, then the
// one whose connection has been idle longer. Proxies come last, because other clients soon use their connections.
func (p *peer) before(other *peer) bool {
	switch {
	case (p.network == allProxies) != (other.network == allProxies):
		return other.network == allProxies
	case p.open != other.open:
		return p.open > other.open
	}
	return p.idle[0].before(other.idle[0])
}

func (p *peer) put(place int) { p.place = place }

// ranked is an element of a heap that knows its place.
type ranked[T any] interface {
	before(other T) bool
	put(place int)
}

var (
	_ ranked[*connection] = (*connection)(nil)
	_ ranked[*peer]       = (*peer)(nil)
)

// heaped is a heap whose elements know their places.
type heaped[T ranked[T]] []T

// Len implements [heap.Interface].
func (h heaped[T]) Len() int { return len(h) }

// Less implements [heap.Interface].
func (h heaped[T]) Less(i, j int) bool { return h[i].before(h[j]) }

// Swap implements [heap.Interface].
func (h heaped[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].put(i)
	h[j].put(j)
}

// Push implements [heap.Interface].
func (h *heaped[T]) Push(one any) {
	one.(T).put(len(*h))
	*h = append(*h, one.(T))
}

// Pop implements [heap.Interface].
func (h *heaped[T]) Pop() any {
	last := len(*h) - 1
	one := (*h)[last]
	*h = slices.Delete(*h, last, last+1)
	one.put(-1)
	return one
}
