package redisclient

import (
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"
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
}

// addressForm matches ParseAddress's forms. net/url does not parse several hosts with ports.
var addressForm = regexp.MustCompile(
	`^redis(s?)(?:\+(cluster|sentinel))?://(?:([^/\s@]*)@)?([^/@\s,]+(?:,[^/@\s,]+)*)(?:/([^/@\s]*))?(?:/([0-9]*))?$`)

// ParseAddress parses an address of one of these forms; false: it has none of them.
//
//	redis://[user:password@]host[:port][/db]
//	redis+cluster://[user:password@]host[:port],…
//	redis+sentinel://[user:password@]host[:port],…/master[/db]
//
// rediss instead of redis means TLS. The default port is 6379, of sentinels 26379.
func ParseAddress(text string) (a Address, ok bool) {
	m := addressForm.FindStringSubmatch(text)
	if m == nil {
		return a, false
	}
	a.tls, a.topology = m[1] != "", topology(m[2])
	user, password, both := strings.Cut(m[3], ":")
	name, errName := url.PathUnescape(user)
	word, errWord := url.PathUnescape(password)
	if errName != nil || errWord != nil || m[3] != "" && !both {
		return a, false
	}
	a.user, a.password = name, word
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
