package main

import (
	"crypto/sha256"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"sluice/gateway"
)

// tokenEvery is the time between two looks at the token's file.
const tokenEvery = time.Second

// consoleToken is the operator's token in a file. A file that becomes faulty changes nothing: its last token stays.
type consoleToken struct {
	path string
	log  *slog.Logger

	mu     sync.Mutex
	looked time.Time
	digest [sha256.Size]byte
	set    bool
	faulty bool
}

// sha256 returns the token's SHA-256. set is false if there never was one.
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
	digest, err := readToken(c.path)
	if err == nil {
		c.digest, c.set = digest, true
	} else if !c.faulty {
		c.log.Warn("console", "warning", prefix+"CONSOLE_TOKEN_FILE: "+err.Error()+"; the token before it stays")
	}
	c.faulty = err != nil
}

// signing returns what the sessions in Redis are signed with: the first secret that the configuration has of the token, the client's secret
// at the issuer, and the upstream key. All replicas have the same, and Redis has none of them.
func (c *consoleToken) signing(client gateway.Secret, upstream *atomic.Pointer[gateway.Secret]) func() []byte {
	return func() []byte {
		if digest, set := c.sha256(); set {
			return digest[:]
		}
		if client != "" {
			return []byte(client.Reveal())
		}
		return []byte(upstream.Load().Reveal())
	}
}
