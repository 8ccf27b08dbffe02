package upstream

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
)

func TestHosts(t *testing.T) {
	for text, want := range map[string]Host{
		"store.example": "store.example", "*.store.example": "*.store.example", "A.Store.Example:8443": "a.store.example:8443",
		"*.a-b.example:1": "*.a-b.example:1",
		"127.0.0.1":       "127.0.0.1", "127.0.0.1:9000": "127.0.0.1:9000", "[::1]": "[::1]", "[::1]:9000": "[::1]:9000",
	} {
		if got, err := ParseHost(text); err != nil || got != want {
			t.Errorf("%q is %q (%v), want %q", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "*", "*.", "*.example", "example", "a.*.example", "store*.example", "**.store.example", "https://store.example", "store.example/",
		"store.example.", ".store.example",
		"store.example:", "store.example:0", "store.example:123456", "store.example:*", "user@store.example", "store..example", "-a.example",
		"störe.example", "a b.example",
		"::1", "127.0.0.1:0x50", "[::1", "[127.0.0.1]", "[fe80::1%25eth0]", "[fe80::1%eth0]:80", "127.0.0.1:0", "*.127.0.0.1:*", "a\n.example",
		strings.Repeat("a.", 200) + "example",
	} {
		if got, err := ParseHost(text); err == nil {
			t.Errorf("%q is taken as %q", text, got)
		}
	}
}

// listed is a Fetcher that may fetch from some hosts.
func listed(hosts ...Host) *Fetcher {
	return NewFetcher(FetchConfig{Hosts: hosts})
}

func TestAddressesOfPicturesAreJudged(t *testing.T) {
	f := listed("store.example", "*.pictures.example", "eight.example:8443", "127.0.0.1:9000", "[::1]", "localhost.example")
	for address, want := range map[string]bool{
		"https://store.example/a.png?Expires=1&Signature=x%2Fy": true,
		"https://STORE.example:443/":                            true,
		"https://a.pictures.example/":                           true,
		"https://a.b.pictures.example/":                         true,
		"https://eight.example:8443/":                           true,
		"http://127.0.0.1:9000/a.png":                           true,
		"http://[::1]/a.png":                                    true,
		"http://[::1]:80/a.png":                                 true,
		"http://[::1]:9000/a.png":                               true,
		"https://store.example:8443/":                           true,
		"https://a.pictures.example:80/":                        true,

		"":                                                   false,
		"store.example/a.png":                                false,
		"//store.example/a.png":                              false,
		"http://store.example/":                              false,
		"ftp://store.example/":                               false,
		"file:///etc/passwd":                                 false,
		"data:image/png;base64,AAAA":                         false,
		"https:store.example/a":                              false,
		"https://eight.example:443/":                         false,
		"http://127.0.0.1:9001/":                             false,
		"https://eight.example/":                             false,
		"https://pictures.example/":                          false,
		"https://.pictures.example/":                         false,
		"https://a.pictures.example.evil.example/":           false,
		"https://evilpictures.example/":                      false,
		"https://store.example./":                            false,
		"https://store.example@evil.example/":                false,
		"https://user@store.example/":                        false,
		"https://evil.example\\@store.example/":              false,
		"https://evil.example#.pictures.example/":            false,
		"https://evil.example?.pictures.example/":            false,
		"https://evil.example/.pictures.example":             false,
		"https://evil.example／.pictures.example/":            false,
		"https://x。pictures.example/":                        false,
		"https://évil.pictures.example/":                     false,
		"https://%65vil.example/":                            false,
		"https://127.0.0.1/":                                 false,
		"http://127.0.0.1/":                                  false,
		"http://127.1:9000/":                                 false,
		"http://2130706433:9000/":                            false,
		"http://0x7f.0.0.1:9000/":                            false,
		"http://localhost:9000/":                             false,
		"http://localhost.example/":                          false,
		"http://[::ffff:127.0.0.1]:9000/":                    false,
		"https://store.example\r\nHost: evil.example/":       false,
		"https://store.example/" + strings.Repeat("a", 9000): false,
	} {
		if u, err := f.judge(address); (err == nil) != want {
			t.Errorf("%.80q: %v %v, want allowed to be %v", address, u, err, want)
		} else if err != nil && !errors.Is(err, ErrAddress) {
			t.Errorf("%.80q: %v is not ErrAddress", address, err)
		}
	}
}

// FuzzJudge: whatever is allowed has a listed host and is https, or http to this machine.
func FuzzJudge(f *testing.F) {
	for _, seed := range []string{
		"https://store.example/a", "https://a.pictures.example:443/?q", "http://127.0.0.1:9000/", "https://store.example@evil.example",
		"https://[::1]/", "http://[::1%25a]/",
		"https://a.pictures.example。/", "HTTPS://STORE.EXAMPLE", "https://store.example:", "https:///store.example", "https://%73tore.example/",
	} {
		f.Add(seed)
	}
	fetcher := listed("store.example", "*.pictures.example", "127.0.0.1:9000")
	f.Fuzz(func(t *testing.T, address string) {
		u, err := fetcher.judge(address)
		if err != nil {
			if !errors.Is(err, ErrAddress) || len(address) > 20 && strings.Contains(err.Error(), address) {
				t.Errorf("%q: %v", address, err)
			}
			return
		}
		host := strings.ToLower(u.Hostname())
		named := host == "store.example" || len(host) > len(".pictures.example") && strings.HasSuffix(host, ".pictures.example")
		secure := u.Scheme == "https" && named
		local := host == "127.0.0.1" && u.Port() == "9000" && netip.MustParseAddr(host).IsLoopback()
		if !secure && !local || u.User != nil {
			t.Errorf("%q is allowed", address)
		}
	})
}

func TestSpecialAddressesAreRefused(t *testing.T) {
	for about, addresses := range map[string][]string{
		"this network and this machine": {"0.0.0.0", "0.1.2.3", "127.0.0.1", "127.255.255.254", "::", "::1"},
		"private":                       {"10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "fc00::1", "fd12:3456::1"},
		"carriers' shared space":        {"100.64.0.1", "100.127.255.255"},
		"link-local":                    {"169.254.0.1", "fe80::1", "fe80::1%eth0", "febf::1"},
		"metadata": {
			"169.254.169.254", "169.254.170.2", "fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "192.0.0.192", "168.63.129.16",
		},
		"protocols, documentation, benchmarks": {"192.0.0.1", "192.0.2.1", "198.51.100.1", "203.0.113.1", "198.18.0.1", "198.19.255.255",
			"2001:db8::1", "3fff::1"},
		"relays":                          {"192.88.99.1", "2002:7f00:1::", "2002:a00:1::1", "2001::1", "2001:0:7f00:1::"},
		"multicast and reserved":          {"224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "ff02::1"},
		"IPv4 inside IPv6":                {"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1", "::ffff:0:127.0.0.1"},
		"NAT64":                           {"64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b::808:808", "64:ff9b:1::a00:1"},
		"site-local and the rest of IPv6": {"fec0::1", "100::1", "4000::1", "5f00::1"},
	} {
		for _, address := range addresses {
			if newGuard(nil).SafeAddr(netip.MustParseAddr(address)) == nil {
				t.Errorf("%s: %s is connected to", about, address)
			}
		}
	}
}

func TestPublicAddressesPass(t *testing.T) {
	for _, address := range []string{
		"8.8.8.8", "1.1.1.1", "47.88.0.1", "172.15.255.255", "172.32.0.1", "100.63.255.255", "100.128.0.1", "168.63.129.15", "11.0.0.1",
		"192.167.0.1", "2606:4700::1111", "2400:3200::1", "2a00:1450:4001::1",
	} {
		if newGuard(nil).SafeAddr(netip.MustParseAddr(address)) != nil {
			t.Errorf("%s is refused", address)
		}
	}
}

// TestNetworksOpenWhatTheyNameAndNoMore: each is of its own version of IP.
func TestNetworksOpenWhatTheyNameAndNoMore(t *testing.T) {
	networks := []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00:1::/32"),
		netip.MustParsePrefix("127.0.0.0/8")}
	for address, refused := range map[string]bool{
		"10.1.2.3": false, "fd00:1::5": false, "127.0.0.1": false, "8.8.8.8": false,
		"10.2.0.1": true, "fd00:2::5": true, "::ffff:10.1.2.3": true, "64:ff9b::a01:203": true, "::1": true, "169.254.169.254": true,
		"168.63.129.16": true,
	} {
		if (newGuard(networks).SafeAddr(netip.MustParseAddr(address)) != nil) != refused {
			t.Errorf("%s: refused is %v, want %v", address, !refused, refused)
		}
	}
}
