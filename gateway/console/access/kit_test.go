package access_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/gateway/console/access"
	"sluice/gateway/oidc"
	"sluice/gateway/oidc/oidctest"
)

// Secrets of the tests; none of them may be kept or logged.
const (
	token   = "operators-CANARY-token"
	mapsKey = "slk_mapsmapsmaps_CANARY"
)

var visitor = access.Visitor{Client: "192.0.2.1", Agent: "a browser"}

// replicas are two consoles without pages over one store, which the tests run in a bubble of simulated time.
type replicas struct {
	*access.Control
	other  *access.Control
	store  *access.Memory
	issuer *oidctest.Issuer
	teams  *roll
	token  string
	secret string // of the configuration
	mu     sync.Mutex
	bounds []string
	log    bytes.Buffer

	ended     []string // entries of the audit
	unwritten error    // of the next ones
}

func newReplicas() *replicas {
	h := &replicas{store: access.NewMemory(time.Now), issuer: oidctest.New("https://issuer.example", time.Now), token: token,
		secret: "a secret of all replicas"}
	h.teams = &roll{keys: map[string]string{mapsKey: "maps"}, members: map[string][]string{"maps": {"map-people"},
		"search": {"Alice@example.com"}}}
	h.Control, h.other = h.replica(h.store), h.replica(h.store)
	return h
}

// replica is one more.
func (h *replicas) replica(shared access.Store) *access.Control {
	return access.New(access.Deps{
		Now: time.Now, Shared: shared, Teams: h.teams, Log: slog.New(slog.NewJSONHandler(&h.log, nil)),
		Secret: func() []byte { return []byte(h.secret) },
		Bounds: access.Bounds{
			Attempts: h.reached("attempts"), Cookies: h.reached("cookies"), Logins: h.reached("logins"), SignOns: h.reached("sign-ons"),
		},
		Groups: access.Groups{Operators: []string{"platform", "root@example.com"}, Viewers: []string{"audit"}},
		Token:  h.tokenDigest,
		Issuer: oidc.NewClient(h.issuer.Client("https://console.example/login/callback")),
		Ended: func(_ context.Context, by access.Person, client string, s *access.Session) error {
			h.ended = append(h.ended, by.Name+" at "+client+" ended "+s.Person.Name)
			return h.unwritten
		},
	})
}

func (h *replicas) tokenDigest() ([sha256.Size]byte, bool) {
	return sha256.Sum256([]byte(h.token)), h.token != ""
}

var discard = slog.New(slog.DiscardHandler)

func (h *replicas) reached(bound string) func() {
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if !slices.Contains(h.bounds, bound) {
			h.bounds = append(h.bounds, bound)
		}
	}
}

// bubble runs a test in simulated time.
func bubble(t *testing.T, test func(t *testing.T, h *replicas)) {
	synctest.Test(t, func(t *testing.T) { test(t, newReplicas()) })
}

// roll are teams with one key each, whose id is in it.
type roll struct {
	keys    map[string]string // key → team
	members map[string][]string
	takes   time.Duration // a look-up of a key
}

func (r *roll) OfKey(presented string) (team, key string, ok bool) {
	time.Sleep(r.takes)
	team, ok = r.keys[presented]
	if !ok {
		return "", "", false
	}
	return team, presented[4:16], true
}

func (r *roll) Digest(team, key string) (digest [sha256.Size]byte, ok bool) {
	for whole, of := range r.keys {
		if of == team && whole[4:16] == key {
			return sha256.Sum256([]byte(whole)), true
		}
	}
	return digest, false
}

func (r *roll) OfMembers(groups []string, email string) (teams []string) {
	for team, members := range r.members {
		if slices.ContainsFunc(members, func(m string) bool { return access.Names(m, groups, email) }) {
			teams = append(teams, team)
		}
	}
	slices.Sort(teams)
	return teams
}

// login logs in or fails the test.
func (h *replicas) login(t *testing.T, presented string) (secret string) {
	t.Helper()
	secret, err := h.Login(t.Context(), visitor, presented)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// visit is a browser that signs on at the issuer and comes back with state and code.
func (h *replicas) visit(t *testing.T) (signOn, state, code string) {
	t.Helper()
	on, err := h.SignOn(t.Context(), visitor, "/teams")
	if err != nil {
		t.Fatal(err)
	}
	state, code = h.issuer.Visit(t, on.Address)
	return on.Secret, state, code
}

// signOn logs in at the issuer or fails the test.
func (h *replicas) signOn(t *testing.T) (secret string) {
	t.Helper()
	on, state, code := h.visit(t)
	secret, next, err := h.Return(t.Context(), visitor, on, state, code)
	if err != nil || next != "/teams" {
		t.Fatalf("led to %q, %v", next, err)
	}
	return secret
}

// who returns the session's person in a word, or why there is no session.
func who(d *access.Control, secret string) string {
	return whoIf(d.Know(context.Background(), visitor, secret, true))
}

func whoIf(p access.Person, err error) string {
	switch {
	case errors.Is(err, access.ErrAway):
		return "away"
	case errors.Is(err, access.ErrWrong):
		return "nobody"
	case err != nil:
		return err.Error()
	}
	return strings.TrimSpace(fmt.Sprint(p.Name, " ", p.Role, " ", strings.Join(p.Teams, ",")))
}

func expect(t *testing.T, about, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %q, want %q", about, got, want)
	}
}

// hooked is a store that calls a hook before each call, with its name. The call fails if the hook does.
type hooked struct {
	access.Store
	before func(ctx context.Context, call string) error
}

func (s hooked) Put(ctx context.Context, kind, name string, value []byte, life time.Duration) error {
	if err := s.before(ctx, "Put"); err != nil {
		return err
	}
	return s.Store.Put(ctx, kind, name, value, life)
}

func (s hooked) Get(ctx context.Context, kind, name string, renew time.Duration) ([]byte, error) {
	if err := s.before(ctx, "Get"); err != nil {
		return nil, err
	}
	return s.Store.Get(ctx, kind, name, renew)
}

func (s hooked) Take(ctx context.Context, kind, name string) ([]byte, error) {
	if err := s.before(ctx, "Take"); err != nil {
		return nil, err
	}
	return s.Store.Take(ctx, kind, name)
}

func (s hooked) Count(ctx context.Context, name string, window time.Duration) (int, error) {
	if err := s.before(ctx, "Count"); err != nil {
		return 0, err
	}
	return s.Store.Count(ctx, name, window)
}

// watch returns a store that counts its calls.
func (h *replicas) watch() (shared access.Store, asked *int) {
	asked = new(int)
	return hooked{h.store, func(_ context.Context, call string) error {
		if call != "Put" {
			*asked++
		}
		return nil
	}}, asked
}

// away returns a store that is unreachable while a flag is set.
func (h *replicas) away(is *bool) access.Store {
	return hooked{h.store, func(context.Context, string) error {
		if *is {
			return errors.New("broken")
		}
		return nil
	}}
}
