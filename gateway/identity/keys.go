package identity

import (
	"context"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"golang.org/x/time/rate"

	"sluice/policy/teams"
)

const (
	fresh      = 5 * time.Minute  // how old keys may be before they are fetched again
	idle       = 10 * time.Minute // without a fetch; then tokens wait for the next one, because the issuer may have withdrawn a key long ago
	stale      = time.Hour        // how old keys may be if their issuer is away
	pause      = 10 * time.Second // between two fetches from an issuer, whatever tokens arrive
	fetchFor   = 5 * time.Second  // bounds one fetch, discovery included
	patience   = 2 * time.Second  // since a fetch began; then no token waits for it any more
	maxKeyTrys = 16               // keys that are tried for a token without kid
)

// keys are an issuer's public keys. They are fetched when a token needs them.
type keys struct {
	issuer string
	now    func() time.Time
	fetch  Fetch
	calls  *sync.WaitGroup
	hangs  func() // called when a token no longer waits; nil: nobody is told

	mu      sync.Mutex
	list    []jose.JSONWebKey
	fetched time.Time     // when list was fetched; zero: never
	fetches *rate.Limiter // one in every pause, whatever tokens arrive and however the last one ended
	tried   time.Time     // when the last fetch began
	running chan struct{} // closed when the fetch under way has ended; nil: none is
	late    bool          // the fetch under way, or the last one, began long after the one before: no token had come for a while
}

// payload verifies a token's signature and returns its payload, and how long it waited for the issuer.
func (k *keys) payload(ctx context.Context, token string) (payload []byte, waited time.Duration, err error) {
	signed, err := jose.ParseSignedCompact(token, algorithms)
	if err != nil || len(signed.Signatures) != 1 {
		return nil, 0, ErrForm
	}
	list, waited, ok := k.current(ctx)
	if !ok {
		return nil, waited, ErrKeys
	}
	payload, found := verify(signed, list)
	if payload != nil {
		return payload, waited, nil
	}
	if !found { // a new key of the issuer, or an invented one
		list, more, ok := k.newer(ctx)
		waited += more
		if ok {
			payload, _ = verify(signed, list)
		}
	}
	if payload == nil {
		return nil, waited, ErrSignature
	}
	return payload, waited, nil
}

// algorithms are those that any issuer may use; go-oidc has checked the issuer's own.
var algorithms = func() (all []jose.SignatureAlgorithm) {
	for _, name := range teams.Algorithms {
		all = append(all, jose.SignatureAlgorithm(name))
	}
	return all
}()

// verify verifies with those keys of the list that the token may mean. Found tells whether there was one.
func verify(signed *jose.JSONWebSignature, list []jose.JSONWebKey) (payload []byte, found bool) {
	header := signed.Signatures[0].Protected
	tries := 0
	for i := range list {
		key := &list[i]
		if header.KeyID != "" && key.KeyID != header.KeyID || key.Algorithm != "" && key.Algorithm != header.Algorithm {
			continue
		}
		if tries++; tries > maxKeyTrys {
			break
		}
		found = true
		if payload, err := signed.Verify(key.Key); err == nil {
			return payload, true
		}
	}
	return nil, found
}

// current returns the keys; ok is false if there are none that may be used. Keys that are no longer fresh are fetched in the
// background, while the ones before serve for an hour; only after an idle time the fetch is waited for.
func (k *keys) current(ctx context.Context) (list []jose.JSONWebKey, waited time.Duration, ok bool) {
	k.mu.Lock()
	age := k.now().Sub(k.fetched)
	list, usable := k.list, !k.fetched.IsZero() && age < stale
	running := k.running
	if age >= fresh || k.fetched.IsZero() {
		running = k.start()
	}
	waits := k.late && running != nil
	k.mu.Unlock()
	if usable && !waits {
		return list, 0, true
	}
	return k.wait(ctx, running)
}

// newer fetches the keys again, if the last fetch is long enough ago.
func (k *keys) newer(ctx context.Context) (list []jose.JSONWebKey, waited time.Duration, ok bool) {
	k.mu.Lock()
	running := k.start()
	k.mu.Unlock()
	return k.wait(ctx, running)
}

// start starts a fetch unless one is under way or was a moment ago. It returns what is closed when it has ended; nil: none is
// under way. The caller holds the lock.
func (k *keys) start() chan struct{} {
	now := k.now()
	if k.running != nil || !k.fetches.AllowN(now, 1) {
		return k.running
	}
	k.late = now.Sub(k.tried) >= idle
	k.tried, k.running = now, make(chan struct{})
	k.calls.Go(k.run)
	return k.running
}

// run fetches the keys. Its time does not depend on the client that needed them.
func (k *keys) run() {
	ctx, cancel := context.WithTimeout(context.Background(), fetchFor)
	defer cancel()
	list, err := discover(ctx, k.fetch, k.issuer)
	k.mu.Lock()
	defer k.mu.Unlock()
	if err == nil {
		k.list, k.fetched = list, k.now()
	}
	close(k.running)
	k.running = nil
}

// wait waits for a fetch, while that is young, and returns the keys that may be used then. A fetch that hangs goes on without those who
// wait, and the next tokens find out at once.
func (k *keys) wait(ctx context.Context, running chan struct{}) (list []jose.JSONWebKey, waited time.Duration, ok bool) {
	if running != nil {
		began := k.now()
		k.mu.Lock()
		left := k.tried.Add(patience).Sub(began)
		k.mu.Unlock()
		timer := time.NewTimer(left)
		defer timer.Stop()
		select {
		case <-running:
		case <-timer.C:
			if k.hangs != nil {
				k.hangs()
			}
		case <-ctx.Done():
		}
		waited = k.now().Sub(began)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.list, waited, ctx.Err() == nil && !k.fetched.IsZero() && k.now().Sub(k.fetched) < stale
}
