package fetch

import (
	"net/netip"
	"net/url"
	"time"
)

// Lower replaces the bounds of a download.
func (f *Fetcher) Lower(longest time.Duration, largest int64) {
	f.bounds.longest, f.bounds.largest = longest, largest
}

// LowerWaits replaces the bounds of what waits.
func (f *Fetcher) LowerWaits(inside int64, moment time.Duration) {
	f.bounds.inside, f.bounds.moment = inside, moment
}

// Judge tells what is thought of a picture's address before any look-up.
func (f *Fetcher) Judge(address string) (*url.URL, error) { return f.judge(address) }

// Guards reports whether connections to the address are refused.
func Guards(networks []netip.Prefix, address netip.Addr) bool {
	return newGuard(networks).SafeAddr(address) != nil
}
