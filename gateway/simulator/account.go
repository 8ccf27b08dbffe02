package simulator

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"sluice/gateway/simulator/billing"
)

// Account is a customer of the service, with limits, tasks and a bill of its own: for its keys the task of another account is UNKNOWN.
type Account struct {
	// Keys are the accepted API keys. Empty accepts every key that no other account has. If several accounts have a key, the first by
	// id counts. See also Simulator.SetKeys.
	Keys []string

	// Rates are the limits of its requests to models, all of which must pass. Empty: no limit.
	Rates []Rate

	// TaskRate is how many queries, lists and cancels (each counted separately, all keys together) pass in any second
	// of Config.Now. Zero is Config.TaskRate, negative means no limit.
	TaskRate int
}

// Rate bounds the requests in any span of a length, wherever the span begins.
type Rate struct {
	// Models is a prefix of the models' names. Empty: all.
	Models string
	// Requests is the bound; below one means one.
	Requests int
	// Per is the length of the span. Zero is a second.
	Per time.Duration
	// RetryAfter adds the header Retry-After to refusals.
	RetryAfter bool
}

// Accounts returns the accounts of the flags --account and --rate, with one key each and a rate per second with Retry-After.
func Accounts(keys map[string]string, rates map[string]int) (map[string]Account, error) {
	all := map[string]Account{}
	for id, key := range keys {
		all[id] = Account{Keys: []string{key}}
	}
	for id, n := range rates {
		a, ok := all[id]
		if !ok || n < 1 {
			return nil, fmt.Errorf("--rate %s=%d: allowed: the id of an --account and a number above zero", id, n)
		}
		a.Rates = []Rate{{Requests: n, RetryAfter: true}}
		all[id] = a
	}
	return all, nil
}

// account is the state of an Account. It is safe for concurrent use.
type account struct {
	id string

	mu     sync.Mutex
	keys   []string
	limits []*limiter
}

// accounts are all accounts by id.
type accounts []*account

// newAccounts opens the accounts of a Config with its defaults.
func newAccounts(cfg *Config) (all accounts) {
	for _, id := range slices.Sorted(maps.Keys(cfg.Accounts)) {
		all = append(all, newAccount(id, cfg.Accounts[id], cfg.TaskRate))
	}
	if len(cfg.Accounts) == 0 || len(cfg.Keys) > 0 {
		all = append(all, newAccount(billing.Account, Account{Keys: cfg.Keys}, cfg.TaskRate))
	}
	return all
}

func newAccount(id string, a Account, taskRate int) *account {
	opened := &account{id: id, keys: slices.Clone(a.Keys)}
	for _, r := range a.Rates {
		l := newLimiter(max(r.Requests, 1), cmp.Or(r.Per, time.Second))
		l.on, l.models, l.retryAfter = EndpointModels, r.Models, r.RetryAfter
		opened.limits = append(opened.limits, l)
	}
	if rate := cmp.Or(a.TaskRate, taskRate); rate > 0 {
		for _, endpoint := range []string{EndpointTask, EndpointList, EndpointCancel} {
			l := newLimiter(rate, time.Second)
			l.on = endpoint
			opened.limits = append(opened.limits, l)
		}
	}
	return opened
}

// of returns the account of a request with these Authorization headers: nil unless there is exactly one, with a key of an account.
func (as accounts) of(values []string) *account {
	if len(values) != 1 {
		return nil
	}
	scheme, key, _ := strings.Cut(values[0], " ")
	key = strings.TrimSpace(key)
	if !strings.EqualFold(scheme, "Bearer") || key == "" {
		return nil
	}
	for _, own := range []bool{true, false} {
		if i := slices.IndexFunc(as, func(a *account) bool { return a.accepts(key, own) }); i >= 0 {
			return as[i]
		}
	}
	return nil
}

// named returns the account with an id, or nil.
func (as accounts) named(id string) *account {
	if i := slices.IndexFunc(as, func(a *account) bool { return a.id == id }); i >= 0 {
		return as[i]
	}
	return nil
}

// accepts reports whether the key is one of the account's own, or whether the account accepts every key.
func (a *account) accepts(key string, own bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return own && slices.Contains(a.keys, key) || !own && len(a.keys) == 0
}

func (a *account) setKeys(keys []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.keys = slices.Clone(keys)
}

// admit counts a call in all limits that cover it, or refuses it and counts it in none.
func (a *account) admit(c *call) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var wait, retryAfter time.Duration
	for _, l := range a.limits {
		if l.covers(c) {
			wait = max(wait, l.wait(c.At))
			if l.retryAfter {
				retryAfter = max(retryAfter, l.wait(c.At))
			}
		}
	}
	if retryAfter > 0 {
		c.fault.RetryAfter = cmp.Or(c.fault.RetryAfter, strconv.Itoa(int(math.Ceil(retryAfter.Seconds()))))
	}
	if wait > 0 {
		return errRate
	}
	for _, l := range a.limits {
		if l.covers(c) {
			l.pass(c.At)
		}
	}
	return nil
}

// limiter lets len(passed) calls pass in any one span, wherever the span begins: the strictest reading of "20 per second". A token bucket,
// such as that of golang.org/x/time/rate, would let up to twice as many pass.
type limiter struct {
	on, models string // what it covers: an Endpoint word, and a prefix of the models' names
	retryAfter bool   // refusals have Retry-After

	span   time.Duration
	passed []time.Time // a ring of the last passes
	next   int
}

func newLimiter(calls int, span time.Duration) *limiter {
	return &limiter{span: span, passed: make([]time.Time, calls)}
}

// covers reports whether the limit applies to the call.
func (l *limiter) covers(c *call) bool {
	return covers(l.on, c.endpoint) && strings.HasPrefix(c.model, l.models)
}

// wait returns how long a call at now would have to wait; zero: it may pass.
func (l *limiter) wait(now time.Time) time.Duration {
	if oldest := l.passed[l.next]; !oldest.IsZero() {
		return max(0, l.span-now.Sub(oldest))
	}
	return 0
}

// pass counts a call at now.
func (l *limiter) pass(now time.Time) {
	l.passed[l.next] = now
	l.next = (l.next + 1) % len(l.passed)
}
