package wire

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// The client's address is the peer's, or the one that a trusted proxy names; a client cannot set it.
func TestTheClientsAddress(t *testing.T) {
	for _, tt := range []struct{ peer, proxies, forwarded, want string }{
		{"192.0.2.7:4711", "", "198.51.100.1", "192.0.2.7"},
		{"[2001:db8::7]:4711", "", "198.51.100.1", "2001:db8::7"},
		{"[fe80::1%eth0]:4711", "", "", "fe80::1%eth0"},
		{"192.0.2.7:4711", "10.0.0.0/8", "198.51.100.1", "192.0.2.7"},
		{"10.0.0.1:80", "10.0.0.0/8", "", "10.0.0.1"},
		{"10.0.0.1:80", "10.0.0.0/8", "198.51.100.1", "198.51.100.1"},
		{"10.0.0.1:80", "10.0.0.0/8", "203.0.113.9, 198.51.100.1", "198.51.100.1"},
		{"10.0.0.1:80", "10.0.0.0/8", "203.0.113.9, 198.51.100.1 , 10.2.3.4,\t10.2.3.5", "198.51.100.1"},
		{"10.0.0.1:80", "10.0.0.0/8", "10.9.9.9, 10.2.3.4", "10.9.9.9"},
		{"10.0.0.1:80", "10.0.0.0/8", "203.0.113.9\n198.51.100.1\n10.2.3.4", "198.51.100.1"},
		{"10.0.0.1:80", "10.0.0.0/8", "203.0.113.9, 198.51.100.1:5050", "198.51.100.1"},
		{"10.0.0.1:80", "10.0.0.0/8", "203.0.113.9, [2001:DB8::0:1]:5050", "2001:db8::1"},
		{"10.0.0.1:80", "10.0.0.0/8", "203.0.113.9, [2001:db8::1]", "2001:db8::1"},
		{"10.0.0.1:80", "10.0.0.0/8", "203.0.113.9, 2001:db8::1", "2001:db8::1"},
		{"10.0.0.1:80", "10.0.0.0/8", "203.0.113.9, ::ffff:198.51.100.1", "198.51.100.1"},
		{"10.0.0.1:80", "10.0.0.0/8", "203.0.113.9, ::ffff:10.2.3.4", "203.0.113.9"},
		{"[::ffff:10.0.0.1]:80", "10.0.0.0/8", "203.0.113.9", "203.0.113.9"},
		{"[2001:db8::1]:80", "10.0.0.0/8,2001:db8::/32", "203.0.113.9", "203.0.113.9"},
		{"[fe80::1%eth0]:80", "fe80::/10", "203.0.113.9", "203.0.113.9"},
		{"10.0.0.1:80", "10.0.0.0/8", "fe80::1%evil\n", "10.0.0.1"},
		{"10.0.0.1:80", "10.0.0.0/8", "fe80::1%evil", "fe80::1"},
		{"10.0.0.1:80", "10.0.0.0/8", "203.0.113.9, unknown", "10.0.0.1"},
		{"10.0.0.1:80", "10.0.0.0/8", "203.0.113.9, unknown, 10.2.3.4", "10.2.3.4"},
		{"10.0.0.1:80", "10.0.0.0/8", "203.0.113.9,", "10.0.0.1"},
		{"10.0.0.1:80", "10.0.0.0/8", "203.0.113.9, 198.51.100.01", "10.0.0.1"},
		{"10.0.0.1:80", "10.0.0.0/8", "203.0.113.9, 198.51.100.1:99999", "10.0.0.1"},
		{"10.0.0.1:80", "10.0.0.0/8", "203.0.113.9, [2001:db8::1]x", "10.0.0.1"},
		{"10.0.0.1:80", "10.0.0.0/8", "203.0.113.9, [198.51.100.1", "10.0.0.1"},
		{"10.0.0.1:80", "10.0.0.0/8", "<script>\xff", "10.0.0.1"},
		{"@", "10.0.0.0/8", "203.0.113.9", "@"},
	} {
		trusted := prefixes(t, tt.proxies)
		r := &http.Request{RemoteAddr: tt.peer, Header: http.Header{}}
		if tt.forwarded != "" {
			r.Header["X-Forwarded-For"] = strings.Split(tt.forwarded, "\n")
		}
		if got := ClientOf(r, trusted); got != tt.want {
			t.Errorf("%s, trusting %q, forwarded for %q: %q, want %q", tt.peer, tt.proxies, tt.forwarded, got, tt.want)
		}
	}
}

func TestTheClientsAddressCostsNothing(t *testing.T) {
	trusted := prefixes(t, "10.0.0.0/8,2001:db8::/32")
	for _, r := range []*http.Request{
		{RemoteAddr: "192.0.2.7:4711"},
		{RemoteAddr: "10.0.0.1:80", Header: http.Header{"X-Forwarded-For": {"203.0.113.9, 198.51.100.1, 10.2.3.4"}}},
	} {
		if n := testing.AllocsPerRun(100, func() { ClientOf(r, trusted) }); n != 0 {
			t.Errorf("%v allocations for %s", n, r.RemoteAddr)
		}
	}
}

func prefixes(t *testing.T, list string) (networks []netip.Prefix) {
	t.Helper()
	for text := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' }) {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			t.Fatal(err)
		}
		networks = append(networks, network)
	}
	return networks
}

// A preference is whole seconds, at most 60; what cannot be read is no preference.
func TestPreferredWait(t *testing.T) {
	for _, c := range []struct {
		prefer string // lines of the header
		want   time.Duration
		ok     bool
	}{
		{"wait=0", 0, true}, {"wait=10", 10 * time.Second, true}, {"wait=60", time.Minute, true}, {"wait=61", time.Minute, true},
		{"wait=2147483648", time.Minute, true}, {"wait=99999999999999999999", time.Minute, true},
		{`Wait = "5"`, 5 * time.Second, true}, {"respond-async, wait=7; x=y", 7 * time.Second, true},
		{"respond-async\nwait=8", 8 * time.Second, true}, {"wait=3, wait=9", 3 * time.Second, true},
		{"", 0, false}, {"wait", 0, false}, {"wait=", 0, false}, {"wait=soon", 0, false}, {"wait=-1", 0, false}, {"wait=1.5", 0, false},
		{"wait=1e1", 0, false}, {"waiting=5", 0, false}, {"respond-async", 0, false},
	} {
		got, ok := PreferredWait(http.Header{"Prefer": strings.Split(c.prefer, "\n")})
		if got != c.want || ok != c.ok {
			t.Errorf("%q: %s, %v; want %s, %v", c.prefer, got, ok, c.want, c.ok)
		}
	}
}

func TestServerTiming(t *testing.T) {
	for own, want := range map[time.Duration]string{
		0: "0.0", 49 * time.Microsecond: "0.0", 50 * time.Microsecond: "0.1", 1240 * time.Microsecond: "1.2",
		999_960 * time.Microsecond: "1000.0",
		-time.Second:               "0.0",
	} {
		if got := ServerTiming(own, 0); got != "sluice;dur="+want {
			t.Errorf("%v is written as %s, want %s", own, got, want)
		}
	}
	if got := ServerTiming(time.Millisecond, 812_900*time.Microsecond); got != "sluice;dur=1.0, queue;dur=812" {
		t.Errorf("a wait of 812.9 ms is written as %s", got)
	}
}
