package fetch_test

import (
	"net/netip"
	"testing"

	"sluice/gateway/fetch"
)

func TestSpecialAddressesAreRefused(t *testing.T) {
	for about, addresses := range map[string][]string{
		"this network and this machine": {"0.0.0.0", "0.1.2.3", "127.0.0.1", "127.255.255.254", "::", "::1"},
		"private":                       {"10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "fc00::1", "fd12:3456::1"},
		"carriers' shared space":        {"100.64.0.1", "100.127.255.255"},
		"link-local":                    {"169.254.0.1", "fe80::1", "fe80::1%eth0", "febf::1"},
		"metadata": {
			"169.254.169.254", "169.254.170.2", "fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "192.0.0.192", "168.63.129.16",
		},
		"protocols, documentation, benchmarks": {"192.0.0.1", "192.0.2.1", "198.51.100.1", "203.0.113.1", "198.18.0.1", "198.19.255.255", "2001:db8::1", "3fff::1"},
		"relays":                               {"192.88.99.1", "2002:7f00:1::", "2002:a00:1::1", "2001::1", "2001:0:7f00:1::"},
		"multicast and reserved":               {"224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "ff02::1"},
		"IPv4 inside IPv6":                     {"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1", "::ffff:0:127.0.0.1"},
		"NAT64":                                {"64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b::808:808", "64:ff9b:1::a00:1"},
		"site-local and the rest of IPv6":      {"fec0::1", "100::1", "4000::1", "5f00::1"},
	} {
		for _, address := range addresses {
			if !fetch.Guards(nil, netip.MustParseAddr(address)) {
				t.Errorf("%s: %s is connected to", about, address)
			}
		}
	}
}

func TestPublicAddressesPass(t *testing.T) {
	for _, address := range []string{
		"8.8.8.8", "1.1.1.1", "47.88.0.1", "172.15.255.255", "172.32.0.1", "100.63.255.255", "100.128.0.1", "168.63.129.15", "11.0.0.1", "192.167.0.1",
		"2606:4700::1111", "2400:3200::1", "2a00:1450:4001::1",
	} {
		if fetch.Guards(nil, netip.MustParseAddr(address)) {
			t.Errorf("%s is refused", address)
		}
	}
}

// TestNetworksOpenWhatTheyNameAndNoMore: each is of its own version of IP.
func TestNetworksOpenWhatTheyNameAndNoMore(t *testing.T) {
	networks := []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00:1::/32"), netip.MustParsePrefix("127.0.0.0/8")}
	for address, refused := range map[string]bool{
		"10.1.2.3": false, "fd00:1::5": false, "127.0.0.1": false, "8.8.8.8": false,
		"10.2.0.1": true, "fd00:2::5": true, "::ffff:10.1.2.3": true, "64:ff9b::a01:203": true, "::1": true, "169.254.169.254": true, "168.63.129.16": true,
	} {
		if fetch.Guards(networks, netip.MustParseAddr(address)) != refused {
			t.Errorf("%s: refused is %v, want %v", address, !refused, refused)
		}
	}
}
