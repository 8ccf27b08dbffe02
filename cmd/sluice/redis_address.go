package main

import (
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"sluice/gateway"
)

// redisKind is how Redis is run.
type redisKind string

const (
	redisSingle   redisKind = ""
	redisCluster  redisKind = "cluster"
	redisSentinel redisKind = "sentinel"
)

// redisAddress is SLUICE_REDIS_URL taken apart.
type redisAddress struct {
	kind     redisKind
	tls      bool
	user     string
	password string
	hosts    []string // each with its port; of the sentinels, where they are asked for the master
	master   string
	db       int
}

// redisForm is one or more hosts behind a scheme of ours, with a master's name where sentinels are asked for it. Several
// hosts with ports are no URL to net/url, so the form is read here; whether anybody answers is found out in use.
var redisForm = regexp.MustCompile(`^redis(s?)(?:\+(cluster|sentinel))?://(?:([^/\s@]*)@)?([^/@\s,]+(?:,[^/@\s,]+)*)(?:/([^/@\s]*))?(?:/([0-9]*))?$`)

// readRedisAddress takes an address apart, and reports whether it is one.
func readRedisAddress(secret gateway.Secret) (a redisAddress, ok bool) {
	m := redisForm.FindStringSubmatch(secret.Reveal())
	if m == nil {
		return a, false
	}
	a.tls, a.kind = m[1] != "", redisKind(m[2])
	user, password, both := strings.Cut(m[3], ":")
	name, errName := url.PathUnescape(user)
	word, errWord := url.PathUnescape(password)
	if errName != nil || errWord != nil || m[3] != "" && !both {
		return a, false
	}
	a.user, a.password = name, word
	port, db := "6379", m[5]
	if a.kind == redisSentinel {
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
	switch a.kind {
	case redisSentinel:
		return a, a.master != ""
	case redisCluster:
		return a, a.db == 0 && m[6] == ""
	}
	return a, len(a.hosts) == 1 && m[6] == ""
}
