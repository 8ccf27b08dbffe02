package fetch_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"sluice/gateway/fetch"
)

func TestHosts(t *testing.T) {
	for text, want := range map[string]fetch.Host{
		"store.example": "store.example", "*.store.example": "*.store.example", "A.Store.Example:8443": "a.store.example:8443", "*.a-b.example:1": "*.a-b.example:1",
		"127.0.0.1": "127.0.0.1", "127.0.0.1:9000": "127.0.0.1:9000", "[::1]": "[::1]", "[::1]:9000": "[::1]:9000",
	} {
		if got, err := fetch.ParseHost(text); err != nil || got != want {
			t.Errorf("%q is %q (%v), want %q", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "*", "*.", "*.example", "example", "a.*.example", "store*.example", "**.store.example", "https://store.example", "store.example/", "store.example.", ".store.example",
		"store.example:", "store.example:0", "store.example:123456", "store.example:*", "user@store.example", "store..example", "-a.example", "störe.example", "a b.example",
		"::1", "127.0.0.1:0x50", "[::1", "[127.0.0.1]", "[fe80::1%25eth0]", "[fe80::1%eth0]:80", "127.0.0.1:0", "*.127.0.0.1:*", "a\n.example", strings.Repeat("a.", 200) + "example",
	} {
		if got, err := fetch.ParseHost(text); err == nil {
			t.Errorf("%q is taken as %q", text, got)
		}
	}
}

// listed is a Fetcher that may fetch from some hosts.
func listed(hosts ...fetch.Host) *fetch.Fetcher {
	return fetch.New(fetch.Config{Hosts: hosts})
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

		"":                                                   false,
		"store.example/a.png":                                false,
		"//store.example/a.png":                              false,
		"http://store.example/":                              false,
		"ftp://store.example/":                               false,
		"file:///etc/passwd":                                 false,
		"data:image/png;base64,AAAA":                         false,
		"https:store.example/a":                              false,
		"https://store.example:8443/":                        false,
		"https://store.example:80/":                          false,
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
		if u, err := f.Judge(address); (err == nil) != want {
			t.Errorf("%.80q: %v %v, want allowed to be %v", address, u, err, want)
		} else if err != nil && !errors.Is(err, fetch.ErrAddress) {
			t.Errorf("%.80q: %v is not ErrAddress", address, err)
		}
	}
}

// FuzzJudge: whatever is allowed has a listed host and is https, or http to this machine.
func FuzzJudge(f *testing.F) {
	for _, seed := range []string{
		"https://store.example/a", "https://a.pictures.example:443/?q", "http://127.0.0.1:9000/", "https://store.example@evil.example", "https://[::1]/", "http://[::1%25a]/",
		"https://a.pictures.example。/", "HTTPS://STORE.EXAMPLE", "https://store.example:", "https:///store.example", "https://%73tore.example/",
	} {
		f.Add(seed)
	}
	fetcher := listed("store.example", "*.pictures.example", "127.0.0.1:9000")
	f.Fuzz(func(t *testing.T, address string) {
		u, err := fetcher.Judge(address)
		if err != nil {
			if !errors.Is(err, fetch.ErrAddress) || len(address) > 20 && strings.Contains(err.Error(), address) {
				t.Errorf("%q: %v", address, err)
			}
			return
		}
		host := strings.ToLower(u.Hostname())
		named := host == "store.example" || len(host) > len(".pictures.example") && strings.HasSuffix(host, ".pictures.example")
		secure := u.Scheme == "https" && named && (u.Port() == "" || u.Port() == "443")
		local := host == "127.0.0.1" && u.Port() == "9000" && netip.MustParseAddr(host).IsLoopback()
		if !secure && !local || u.User != nil {
			t.Errorf("%q is allowed", address)
		}
	})
}
