package redisclient

import (
	"errors"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// topology is how Redis is run.
type topology string

const (
	single   topology = ""
	cluster  topology = "cluster"
	sentinel topology = "sentinel"
)

// Address is Redis's location, with user and password. Make one with [ParseAddress].
type Address struct {
	topology topology
	tls      bool
	user     string
	password string
	hosts    []string // each with its port; of the sentinels, if they name the master
	master   string
	db       int

	sentinelUser, sentinelPassword string // of the sentinels themselves; empty: they ask for none
}

// addressForm matches ParseAddress's forms. net/url does not parse several hosts with ports.
var addressForm = regexp.MustCompile(
	`^redis(s?)(?:\+(cluster|sentinel))?://(?:([^/\s@]*)@)?([^/@\s,]+(?:,[^/@\s,` +
		`]+)*)(?:/([^/@\s?]*))?(?:/([0-9]*))?(?:\?sentinel=([^/\s@]*))?$`)

// ParseAddress parses an address of one of these forms; false: it has none of them.
//
//	redis://[user:password@]host[:port][/db]
//	redis+cluster://[user:password@]host[:port],…
//	redis+sentinel://[user:password@]host[:port],…/master[/db][?sentinel=user:password]
//
// What is before the @ is for the master, what is after the ? for the sentinels: often only one of them has a password. rediss instead of
// redis means TLS. The default port is 6379, of sentinels 26379.
func ParseAddress(text string) (a Address, ok bool) {
	m := addressForm.FindStringSubmatch(text)
	if m == nil {
		return a, false
	}
	a.tls, a.topology = m[1] != "", topology(m[2])
	var own, sentinels bool
	a.user, a.password, own = credentialsIn(m[3])
	a.sentinelUser, a.sentinelPassword, sentinels = credentialsIn(m[7])
	if !own || !sentinels || m[7] != "" && a.topology != sentinel {
		return a, false
	}
	port, db := "6379", m[5]
	if a.topology == sentinel {
		port, db, a.master = "26379", m[6], m[5]
	}
	for host := range strings.SplitSeq(m[4], ",") {
		if _, given, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(strings.Trim(host, "[]"), port)
		} else if _, err := strconv.ParseUint(given, 10, 16); err != nil {
			return a, false
		}
		a.hosts = append(a.hosts, host)
	}
	if db != "" {
		n, err := strconv.Atoi(db)
		if err != nil || n > 1000 {
			return a, false
		}
		a.db = n
	}
	switch a.topology {
	case sentinel:
		return a, a.master != ""
	case cluster:
		return a, a.db == 0 && m[6] == ""
	}
	return a, len(a.hosts) == 1 && m[6] == ""
}

// credentialsIn reads user:password, both escaped; an empty text has none.
func credentialsIn(text string) (user, password string, ok bool) {
	user, password, both := strings.Cut(text, ":")
	user, errUser := url.PathUnescape(user)
	password, errPassword := url.PathUnescape(password)
	return user, password, errUser == nil && errPassword == nil && (both || text == "")
}

// sentinelsFail begins the library's error of a master that no sentinel named, which joins an error of each.
const sentinelsFail = "redis: all sentinels specified in configuration are unreachable: "

// sentinelsError is the error of a call that had no master, in one line.
type sentinelsError struct {
	text string
	why  error // nil: no sentinel said more than that it does not know the master
}

// Error returns the text.
func (e *sentinelsError) Error() string { return "the sentinels: " + e.text }

// Unwrap returns why.
func (e *sentinelsError) Unwrap() error { return e.why }

// ofSentinels returns a sentinelsError in place of the library's, and every other error as it is. What a sentinel answered says more than
// that another is away. The library's error is also a redis.Nil if one does not know the master, as if Redis had no such key.
func ofSentinels(err error, shorten func(error) error) error {
	all, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err)
	if !ok || !strings.HasPrefix(err.Error(), sentinelsFail) {
		return err
	}
	list := all.Unwrap()
	answered := func(err error) bool {
		_, said := errors.AsType[redis.Error](err)
		return said && !errors.Is(err, redis.Nil)
	}
	if at := slices.IndexFunc(list, answered); at >= 0 {
		list = list[at:]
	} else if errors.Is(err, redis.Nil) {
		return &sentinelsError{text: "none that answers knows the master"}
	}
	return &sentinelsError{shorten(list[0]).Error(), list[0]}
}

// sentinelsFailed reports whether a call failed because no sentinel named the master.
func sentinelsFailed(err error) bool {
	_, failed := errors.AsType[*sentinelsError](err)
	return failed
}

// Plain shortens an error of Redis for people, by a function. An error of sentinels is short already.
func Plain(err error, shorten func(error) error) error {
	if sentinelsFailed(err) {
		return err
	}
	return shorten(err)
}
