package upstreamtest

import (
	"context"
	"net"
	"net/netip"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// Resolver returns a resolver with a real server. The server answers each question for an IPv4 address with the next address, and once it
// is at the last, with that.
func Resolver(t testing.TB, addresses ...string) *net.Resolver {
	t.Helper()
	server, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	go func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := server.ReadFrom(buf)
			if err != nil {
				return
			}
			var question dnsmessage.Message
			if question.Unpack(buf[:n]) != nil {
				continue
			}
			answer := dnsmessage.Message{
				Header:    dnsmessage.Header{ID: question.ID, Response: true, RecursionAvailable: true},
				Questions: question.Questions,
			}
			if q := question.Questions[0]; q.Type == dnsmessage.TypeA && len(addresses) > 0 {
				answer.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
					Body:   &dnsmessage.AResource{A: netip.MustParseAddr(addresses[0]).As4()},
				}}
				addresses = addresses[min(1, len(addresses)-1):]
			}
			packed, _ := answer.Pack()
			_, _ = server.WriteTo(packed, from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}
