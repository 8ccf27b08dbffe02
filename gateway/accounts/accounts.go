// Package accounts has the running accounts at the service: the key of each, its connections, how many requests it has in flight, and
// what its answers have shown about it.
//
// Package account decides which of them does a piece of work, and what an answer says; a [Pool] keeps what is known, and the way to
// each. It knows nothing of limits, tasks and handlers.
//
// It promises that every request that it counts with an account is counted once and given back once, that a request of an account that
// was removed ends as it began, and that the keys and addresses of all accounts are covered in texts.
package accounts

import (
	"cmp"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"sluice/gateway/upstream"
	"sluice/policy/account"
	"sluice/policy/teams"
)

// Config has the settings of a Pool. Every field is required unless its comment says otherwise.
type Config struct {
	Base   *url.URL        // the service's address for accounts that name none, ending in the version prefix
	Client upstream.Config // of the connections, without a URL
	Shared Shared          // shares throttled accounts among the replicas; nil: each process knows only its own answers
	Back   func(id string) // called when an account may be asked earlier than was known; must not block; nil: nothing is called
	Luck   func() float64  // decides ties, from 0 up to 1; nil: at random
	Now    func() time.Time
	Logger *slog.Logger
}

// Set is accounts and their keys.
type Set struct {
	File *teams.Accounts            // nil: there is no accounts file, and [teams.MainAccount] serves everything
	Keys map[string]upstream.Secret // by the ids of the accounts
}

// Main is the set without an accounts file.
func Main(key upstream.Secret) Set {
	return Set{Keys: map[string]upstream.Secret{teams.MainAccount: key}}
}

// specs returns the accounts as the file has them.
func (s Set) specs() []*teams.Account {
	if s.File == nil {
		return teams.MainAccounts(nil, nil).List
	}
	return s.File.List
}

// Pool has the running accounts. Create it with [New]; it is safe for concurrent use.
type Pool struct {
	config Config
	now    atomic.Pointer[Snapshot]
	logged sync.Map // ids of missing accounts that were logged
	news   chan cooled
}

// New builds a Pool of a set. It connects to nothing.
func New(config Config, set Set) *Pool {
	if config.Luck == nil {
		config.Luck = rand.Float64
	}
	r := &Pool{config: config, news: make(chan cooled, mostNews)}
	r.now.Store(new(Snapshot))
	r.Replace(set)
	return r
}

// Now returns the accounts in force.
func (r *Pool) Now() *Snapshot { return r.now.Load() }

// Replace replaces the accounts in force, which [Pool.Now] returns. Keys and addresses change for every request that has not been sent
// yet, also for one that chooses from an earlier [Snapshot]. What is known of an account is kept, even if it is removed and comes back,
// and so are its connections unless its address changes. Requests of a removed account go on. Calls MUST NOT overlap.
func (r *Pool) Replace(set Set) {
	was, next := r.now.Load(), &Snapshot{pool: r, byID: map[string]*listed{}, known: map[string]*Account{}}
	maps.Copy(next.known, was.known)
	var keys []upstream.Secret
	var bases []*url.URL
	for _, spec := range set.specs() {
		a := &listed{spec: spec}
		if a.Account = was.known[spec.ID]; a.Account == nil {
			a.Account = &Account{ID: spec.ID}
			next.known[spec.ID] = a.Account
		}
		var before *Way // whose connections stay
		if was.byID[spec.ID] != nil {
			before = a.way.Load()
		}
		way := r.way(before, spec, set.Keys[spec.ID])
		if before := a.way.Swap(way); before != nil && before.key != way.key {
			r.renew(a.Account)
		}
		next.list, next.byID[a.ID] = append(next.list, a), a
		keys, bases = append(keys, way.key), append(bases, way.base)
		r.logged.Delete(a.ID)
	}
	if set.File == nil || set.File.NoFile {
		next.sole = next.list[0].Account
	}
	next.secrets = upstream.NewSecrets(keys, bases, was.secrets)
	r.now.Store(next)
	for id, a := range was.byID {
		if next.byID[id] == nil {
			a.way.Load().Close()
		}
	}
}

// way is how an account is reached now. before is how it was; nil: it is new.
func (r *Pool) way(before *Way, spec *teams.Account, key upstream.Secret) *Way {
	base := spec.URL
	if base == nil {
		base = r.config.Base
	}
	way := &Way{base: base, key: key, credential: upstream.NewCredential(key)}
	if before != nil && before.base.String() == base.String() {
		way.Client, way.targets = before.Client, before.targets
		return way
	}
	if before != nil {
		before.Close()
	}
	config := r.config.Client
	config.URL = base
	way.Client, way.targets = upstream.New(config), new(sync.Map)
	return way
}

// Close closes the idle connections. Running requests go on.
func (r *Pool) Close() {
	for _, a := range r.now.Load().list {
		a.way.Load().Close()
	}
}

// Secrets returns what to cover in texts.
func (r *Pool) Secrets() *upstream.Secrets { return r.now.Load().secrets }

// Cover hides the keys and addresses of all accounts in a text.
func (r *Pool) Cover(text string) string { return r.Secrets().Cover(text) }

// WithKey is the id of the account that has this key; empty: no account has it.
func (r *Pool) WithKey(text string) (id string) {
	for _, a := range r.now.Load().list {
		if a.way.Load().credential.Is(text) {
			id = a.ID
		}
	}
	return id
}

// Of returns the account with this id; empty: [teams.MainAccount]. Nil: there is no such account, which is logged once.
func (r *Pool) Of(id string) *Account {
	if a := r.listed(id); a != nil {
		return a.Account
	}
	return nil
}

func (r *Pool) listed(id string) *listed {
	id = cmp.Or(id, teams.MainAccount)
	a := r.now.Load().byID[id]
	if a == nil {
		if _, before := r.logged.LoadOrStore(id, true); !before {
			r.config.Logger.Warn("an account that has tasks is not in the accounts file: the last known answers about them are served, and their "+
				"holds are charged when the tasks expire; put the account back, with weight 0, until its tasks have ended", slog.String("account", id))
		}
	}
	return a
}

// Shown is the log's name of the account with this id, as in Of; empty: there is only one.
func (r *Pool) Shown(id string) string {
	if r.now.Load().sole != nil {
		return ""
	}
	return cmp.Or(id, teams.MainAccount)
}

// Has reports whether there is an account with this id, as in Of.
func (r *Pool) Has(id string) bool { return r.Of(id) != nil }

// Quotas returns the quotas of the account with this id, as in Of, in the form of a team; nil: it has none, or there is no such account.
func (r *Pool) Quotas(id string) *teams.Team {
	if a := r.listed(id); a != nil {
		return a.spec.Quotas
	}
	return nil
}

// QueryRate is how many queries about tasks the account with this id, as in Of, allows a second; 0: as many as the settings say.
func (r *Pool) QueryRate(id string) int {
	if a := r.listed(id); a != nil {
		return a.spec.QueryRate
	}
	return 0
}

// Snapshot has the accounts of one version of the accounts file. It never changes, so that a request can use one version from its
// beginning to its end, together with the matching teams file. Only the health, the key and the address of an account are always the
// newest.
type Snapshot struct {
	pool    *Pool
	list    []*listed // in the order of the file
	byID    map[string]*listed
	known   map[string]*Account // including removed ones, because what is known of them is kept
	sole    *Account            // the only one without an accounts file: nothing is chosen or refused; nil: there is a file
	secrets *upstream.Secrets
}

// listed is an account as one version of the file has it.
type listed struct {
	*Account

	spec *teams.Account
}

// Choose picks the account for new work, and counts the request with it until [Attempt.End] or [Attempt.Drop], one of which MUST
// follow. Without an Account the choice says why there is none.
func (r *Snapshot) Choose(want account.Want) (Attempt, account.Choice) {
	now := r.pool.config.Now()
	if a := r.sole; a != nil {
		if len(want.Tried)+len(want.Spent) > 0 {
			return Attempt{}, account.Choice{Refusal: account.Exhausted, Wait: want.Spent[a.ID]}
		}
		a.begin(want.Model, now)
		return Attempt{Account: a, pool: r.pool, model: want.Model, began: now, open: true}, account.Choice{Account: r.list[0].spec}
	}
	var some [8]account.View // on the stack
	for {
		views := r.views(some[:0], want.Model, now)
		choice := account.Choose(views, want, r.pool.config.Luck())
		if choice.Account == nil {
			return Attempt{}, choice
		}
		a := r.byID[choice.Account.ID]
		if probes := a.begin(want.Model, now); probes || !choice.Probe {
			return Attempt{Account: a.Account, pool: r.pool, spec: a.spec, model: want.Model, began: now, open: true, probes: probes}, choice
		}
		a.inFlight.Add(-1) // another request has become the probe in between
	}
}

func (r *Snapshot) views(list []account.View, model string, now time.Time) []account.View {
	for _, a := range r.list {
		list = append(list, a.view(model, now))
	}
	return list
}

// Serving lists the accounts that may do a piece of work, as the file has them; without an accounts file it lists one nil account.
func (r *Snapshot) Serving(want account.Want) []*teams.Account {
	if r.sole != nil {
		return []*teams.Account{nil}
	}
	return account.Serving(r.views(nil, want.Model, r.pool.config.Now()), want)
}

// Away lists the accounts that may do a piece of work, and must not be asked now. Without an accounts file there are none.
func (r *Snapshot) Away(want account.Want) []account.Away {
	if r.sole != nil {
		return nil
	}
	return account.AllAway(r.views(nil, want.Model, r.pool.config.Now()), want)
}

// Several reports whether there may be another account for a request.
func (r *Snapshot) Several() bool { return len(r.list) > 1 }

// Chooses reports whether accounts are chosen, because there is an accounts file.
func (r *Snapshot) Chooses() bool { return r.sole == nil }
