package accounts

import (
	"maps"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"sluice/gateway/upstream"
	"sluice/policy/account"
	"sluice/policy/teams"
)

// Account is a running account.
type Account struct {
	ID string

	way      atomic.Pointer[Way]
	inFlight atomic.Int64
	ill      atomic.Bool  // health has noted something
	worked   atomic.Int64 // when the last request that worked began, in ns of Unix time; 0: none did

	mu        sync.Mutex
	health    account.Health
	failovers map[string]int64 // from it to other accounts, by reason
	warned    time.Time        // when the log last said that it is throttled
}

// Way is how an account is reached at a moment: its address, its connections and its key.
type Way struct {
	*upstream.Client

	base       *url.URL
	key        upstream.Secret
	credential *upstream.Credential
	targets    *sync.Map // of paths: *url.URL
}

// Way is how the account is reached now.
func (a *Account) Way() *Way { return a.way.Load() }

// Name is the account's id in stored data, where "" stands for [teams.MainAccount].
func (a *Account) Name() string {
	if a.ID == teams.MainAccount {
		return ""
	}
	return a.ID
}

// Authorization is the value of the Authorization header. It MUST go only into requests to this account.
func (w *Way) Authorization() string { return w.credential.Authorization() }

// Base is the service's address, ending in the version prefix. It must not be changed.
func (w *Way) Base() *url.URL { return w.base }

// Target is the address of a path below the base, one of a few. It must not be changed.
func (w *Way) Target(path string) *url.URL {
	if known, ok := w.targets.Load(path); ok {
		return known.(*url.URL)
	}
	target := w.base.JoinPath(path)
	w.targets.Store(path, target)
	return target
}

// view is what is known of the account, for a request with the model.
func (a *listed) view(model string, now time.Time) (v account.View) {
	if a.ill.Load() {
		a.mu.Lock()
		v = a.health.View(model, now)
		a.mu.Unlock()
	}
	v.Account, v.InFlight = a.spec, int(a.inFlight.Load())
	return v
}

// begin counts a request with the model, and reports whether it probes the account for the others.
func (a *Account) begin(model string, now time.Time) (probes bool) {
	if a.ill.Load() {
		a.mu.Lock()
		probes = a.health.Begin(model, now)
		a.mu.Unlock()
	}
	a.inFlight.Add(1)
	return probes
}

// renew notes that an account has another key.
func (r *Pool) renew(a *Account) {
	now := r.config.Now()
	r.change(a, "", now, func() { a.health.Renewed(now) })
}

// change changes what is known of an account, and calls Config.Back if a request with the model may now be made earlier.
func (r *Pool) change(a *Account, model string, now time.Time, act func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.health.View(model, now).Wait
	act()
	if r.config.Back != nil && a.health.View(model, now).Wait < before {
		r.config.Back(a.ID)
	}
}

// Standings returns the state of each account for operators, in the order of the file.
func (r *Pool) Standings() []account.Standing {
	list, now := r.now.Load().list, r.config.Now()
	all := make([]account.Standing, len(list))
	for i, a := range list {
		way, s := a.way.Load(), &all[i]
		a.mu.Lock()
		*s = a.health.Standing(a.spec.Weight, now)
		s.Failovers = maps.Clone(a.failovers)
		a.mu.Unlock()
		s.ID, s.Region, s.Address, s.Key, s.InFlight = a.ID, a.spec.Region, address(way.base), masked(way.key.Reveal()), int(a.inFlight.Load())
		s.Limits, s.Quotas = a.spec.Limits, a.spec.Quotas
		if at := a.worked.Load(); at != 0 {
			s.Worked = time.Unix(0, at).UTC()
		}
	}
	return all
}

// address is an account's URL without user and password.
func address(base *url.URL) string {
	plain := *base
	plain.User = nil
	return plain.String()
}

// masked shows enough of a key to distinguish it from others.
func masked(key string) string {
	const shown = 4
	if len(key) < 4*shown {
		return "…"
	}
	return "…" + key[len(key)-shown:]
}
