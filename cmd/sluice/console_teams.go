package main

import (
	"crypto/sha256"
	"slices"
	"sync/atomic"
	"time"

	"sluice/gateway/console/access"
	"sluice/policy/teams"
)

// consoleTeams are the teams in force, as far as logins need them.
type consoleTeams struct{ file atomic.Pointer[teams.File] }

// OfKey implements [access.Teams].
func (c *consoleTeams) OfKey(presented string) (team, key string, ok bool) {
	t, k, ok := c.file.Load().Lookup(presented, time.Now())
	if !ok {
		return "", "", false
	}
	return t.ID, k.ID, true
}

// Digest implements [access.Teams].
func (c *consoleTeams) Digest(team, key string) (digest [sha256.Size]byte, ok bool) {
	t := c.file.Load().Team(team)
	if t == nil || t.Disabled {
		return digest, false
	}
	i := slices.IndexFunc(t.Keys, func(k teams.Key) bool { return k.ID == key })
	if i < 0 || t.Keys[i].Disabled || !t.Keys[i].Expires.IsZero() && !time.Now().Before(t.Keys[i].Expires) {
		return digest, false
	}
	return t.Keys[i].SHA256, true
}

// OfMembers implements [access.Teams].
func (c *consoleTeams) OfMembers(groups []string, email string) (ids []string) {
	for _, team := range c.file.Load().List {
		if slices.ContainsFunc(team.Members, func(m string) bool { return access.Names(m, groups, email) }) {
			ids = append(ids, team.ID)
		}
	}
	slices.Sort(ids)
	return ids
}
