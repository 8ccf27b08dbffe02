// Package oidc is a client of OpenID Connect issuers: a [Verifier] accepts tokens (JWT) of workloads in place of keys, from the issuers in
// the teams file, and a [Client] logs people in. Both find an issuer by its discovery document, and share the code that fetches its keys
// and verifies its tokens. The package knows no request of a client, no session and no team's limits, and never logs.
package oidc

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"golang.org/x/time/rate"
)

const (
	fresh = 5 * time.Minute  // how old keys may be before they are fetched again
	idle  = 10 * time.Minute // without a fetch, after which tokens wait for the next one: the issuer may have withdrawn a key long ago
	stale = time.Hour        // how old keys may be if their issuer is away
)

// issuer is one issuer: its document and its keys, which are fetched when needed.
type issuer struct {
	url         string
	now         func() time.Time
	http        *http.Client
	mayHaveKeys func(address string) bool // nil: the document may name any address
	patience    time.Duration             // how long after the beginning of a fetch callers wait for it
	calls       *sync.WaitGroup
	hangs       func() // called when a caller gives up waiting; may be nil

	mu       sync.Mutex
	document *document // nil: never fetched
	keys     []jose.JSONWebKey
	fetched  time.Time     // when both were fetched
	fetches  *rate.Limiter // bounds fetches, whatever tokens arrive and however the last fetch ended
	tried    time.Time     // when the last fetch began
	failed   error         // why it failed
	running  chan struct{} // closed when the fetch under way has ended; nil: none is
	late     bool          // the last fetch, which may be under way, began long after the previous one: no token had arrived for a while
}

// every allows one fetch in each pause.
func every(pause time.Duration) *rate.Limiter { return rate.NewLimiter(rate.Every(pause), 1) }

// discovered returns the issuer's document, of any age. It waits for the first one.
func (i *issuer) discovered(ctx context.Context) (*document, error) {
	i.mu.Lock()
	known := i.document
	i.mu.Unlock()
	if known != nil {
		return known, nil
	}
	_, _ = i.newer(ctx, new(time.Duration))
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.document != nil:
		return i.document, nil
	case i.failed == nil:
		return nil, context.DeadlineExceeded
	}
	return nil, i.failed
}

// current returns the keys; ok is false if no keys may be used. Keys that are no longer fresh are fetched in the background,
// while the old ones serve for an hour. The caller waits for the fetch, which adds to waited, only after an idle time.
func (i *issuer) current(ctx context.Context, waited *time.Duration) (keys []jose.JSONWebKey, ok bool) {
	i.mu.Lock()
	age := i.now().Sub(i.fetched)
	keys, usable := i.keys, i.document != nil && age < stale
	running := i.running
	if age >= fresh || i.document == nil {
		running = i.start()
	}
	waits := i.late && running != nil
	i.mu.Unlock()
	if usable && !waits {
		return keys, true
	}
	return i.wait(ctx, running, waited)
}

// newer fetches document and keys again, if the last fetch was long enough ago.
func (i *issuer) newer(ctx context.Context, waited *time.Duration) (keys []jose.JSONWebKey, ok bool) {
	i.mu.Lock()
	running := i.start()
	i.mu.Unlock()
	return i.wait(ctx, running, waited)
}

// start starts a fetch, unless one is under way or began too recently. It returns a channel that is closed when the fetch has ended;
// nil: none is under way. The lock is held.
func (i *issuer) start() chan struct{} {
	now := i.now()
	if i.running != nil || !i.fetches.AllowN(now, 1) {
		return i.running
	}
	i.late = now.Sub(i.tried) >= idle
	i.tried, i.running = now, make(chan struct{})
	i.calls.Go(i.run)
	return i.running
}

// run fetches document and keys. It does not end with the request that needed them.
func (i *issuer) run() {
	ctx, cancel := context.WithTimeout(context.Background(), callFor)
	defer cancel()
	document, keys, err := i.discover(ctx)
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.failed = err; err == nil {
		i.document, i.keys, i.fetched = document, keys, i.now()
	}
	close(i.running)
	i.running = nil
}

// wait waits for a fetch, at most until patience has passed since its beginning, and returns the keys that may be used then. A hanging
// fetch goes on without its waiters, and later tokens do not wait for it.
func (i *issuer) wait(ctx context.Context, running chan struct{}, waited *time.Duration) (keys []jose.JSONWebKey, ok bool) {
	if running != nil {
		began := i.now()
		i.mu.Lock()
		left := i.tried.Add(i.patience).Sub(began)
		i.mu.Unlock()
		timer := time.NewTimer(left)
		defer timer.Stop()
		select {
		case <-running:
		case <-timer.C:
			if i.hangs != nil {
				i.hangs()
			}
		case <-ctx.Done():
		}
		*waited += i.now().Sub(began)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.keys, ctx.Err() == nil && i.document != nil && i.now().Sub(i.fetched) < stale
}
