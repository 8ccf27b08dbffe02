package main

import (
	"crypto/sha256"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"sluice/cmd/sluice/settings"
	"sluice/gateway/console/access"
	"sluice/gateway/feed"
	"sluice/gateway/hooks"
	"sluice/gateway/upstream"
	"sluice/policy/event"
	"sluice/policy/teams"
)

// inForce holds the teams in force, of file and directory, their streams, and the service's key, which may sign the console's sessions.
type inForce struct {
	file atomic.Pointer[teams.File]
	key  atomic.Pointer[upstream.Secret]
	feed atomic.Pointer[feed.Feed] // streams of events
}

// routes returns where an event is delivered: to hooks and open streams.
func (f *inForce) routes(owner string, t event.Type, callback string) []event.Target {
	to := hooks.Routes(f.file.Load)
	if streams := f.feed.Load(); streams != nil {
		to = streams.Routes(to)
	}
	return to(owner, t, callback)
}

// known reports whether the readers of streams are known.
func (f *inForce) known() bool { return f.feed.Load().Known() }

// OfKey implements [access.Teams].
func (f *inForce) OfKey(presented string) (team, key string, ok bool) {
	t, k, ok := f.file.Load().Lookup(presented, time.Now())
	if !ok {
		return "", "", false
	}
	return t.ID, k.ID, true
}

// Digest implements [access.Teams].
func (f *inForce) Digest(team, key string) (digest [sha256.Size]byte, ok bool) {
	t := f.file.Load().Team(team)
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
func (f *inForce) OfMembers(groups []string, email string) (ids []string) {
	for _, team := range f.file.Load().List {
		if slices.ContainsFunc(team.Members, func(m string) bool { return access.Names(m, groups, email) }) {
			ids = append(ids, team.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// tokenEvery is the time between two reads of the token's file.
const tokenEvery = time.Second

// consoleToken is the operator's token in a file. If the file becomes faulty, the last token stays in force.
type consoleToken struct {
	path string
	log  *slog.Logger

	mu     sync.Mutex
	looked time.Time
	digest [sha256.Size]byte
	set    bool
	faulty bool
}

// sha256 returns the token's SHA-256; false: there never was a token.
func (c *consoleToken) sha256() (digest [sha256.Size]byte, set bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); c.path != "" && now.Sub(c.looked) >= tokenEvery {
		c.looked = now
		c.look()
	}
	return c.digest, c.set
}

func (c *consoleToken) look() {
	digest, err := settings.ReadToken(c.path)
	if err == nil {
		c.digest, c.set = digest, true
	} else if !c.faulty {
		c.log.Warn("console", "warning", settings.Prefix+"CONSOLE_TOKEN_FILE: "+err.Error()+"; the previous token stays in force")
	}
	c.faulty = err != nil
}

// signing returns a function for the secret that signs the sessions in Redis: the token, else the client's secret at the issuer, else
// the upstream key, each as it is now. All replicas have the same one, and Redis has none of them.
func (c *consoleToken) signing(client func() upstream.Secret, key *atomic.Pointer[upstream.Secret]) func() []byte {
	return func() []byte {
		if digest, set := c.sha256(); set {
			return digest[:]
		}
		if secret := client(); secret != "" {
			return []byte(secret.Reveal())
		}
		return []byte(key.Load().Reveal())
	}
}
