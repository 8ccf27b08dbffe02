package access_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/gateway/console/access"
	"sluice/gateway/console/access/issuer"
	"sluice/gateway/console/access/issuertest"
	"sluice/gateway/console/access/store"
)

// Secrets of the tests; none of them may be kept or logged.
const (
	token   = "operators-CANARY-token"
	mapsKey = "slk_mapsmapsmaps_CANARY"
)

var visitor = access.Visitor{Client: "192.0.2.1", Agent: "a browser"}

// house is a console without pages: two replicas' desks over one store, which the tests run in a bubble of simulated time.
type house struct {
	*access.Desk
	other  *access.Desk
	store  *store.Memory
	issuer *issuertest.Issuer
	teams  *roll
	token  string
	secret string // of the configuration
	bounds []string
	log    bytes.Buffer

	ended     []string // entries of the audit
	unwritten error    // of the next ones
}

func newHouse() *house {
	h := &house{store: store.NewMemory(time.Now), issuer: issuertest.New("https://issuer.example", time.Now), token: token, secret: "a secret of all replicas"}
	h.issuer.Claims = map[string]any{"sub": "alice", "email": "alice@example.com", "email_verified": true, "groups": []string{"platform"}}
	h.teams = &roll{keys: map[string]string{mapsKey: "maps"}, members: map[string][]string{"maps": {"map-people"}, "search": {"Alice@example.com"}}}
	h.Desk, h.other = h.desk(h.store), h.desk(h.store)
	return h
}

// desk is the desk of a replica.
func (h *house) desk(shared access.Store) *access.Desk {
	return access.NewDesk(access.Deps{
		Now: time.Now, Shared: shared, Teams: h.teams, Log: slog.New(slog.NewJSONHandler(&h.log, nil)),
		Secret: func() []byte { return []byte(h.secret) },
		Bounds: access.Bounds{
			Attempts: h.reached("attempts"), Cookies: h.reached("cookies"), Logins: h.reached("logins"), SignOns: h.reached("sign-ons"),
		},
		Groups: access.Groups{Operators: []string{"platform", "root@example.com"}, Viewers: []string{"audit"}},
		Token:  h.tokenDigest,
		Issuer: issuer.New(issuer.Config{
			URL: h.issuer.URL, ClientID: issuertest.ClientID, Secret: issuertest.ClientSecret, Redirect: "https://console.example/login/callback",
			Now: time.Now, Trip: h.issuer,
		}),
		Ended: func(_ context.Context, by access.Person, client string, s *access.Session) error {
			h.ended = append(h.ended, by.Name+" at "+client+" ended "+s.Person.Name)
			return h.unwritten
		},
	})
}

func (h *house) tokenDigest() ([sha256.Size]byte, bool) {
	return sha256.Sum256([]byte(h.token)), h.token != ""
}

var discard = slog.New(slog.DiscardHandler)

func (h *house) reached(bound string) func() {
	return func() {
		if !slices.Contains(h.bounds, bound) {
			h.bounds = append(h.bounds, bound)
		}
	}
}

// roll are teams with one key each, whose id is in it.
type roll struct {
	keys    map[string]string // key → team
	members map[string][]string
}

func (r *roll) OfKey(presented string) (team, key string, ok bool) {
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

// login logs in and fails the test if that fails.
func (h *house) login(t *testing.T, presented string) (secret string) {
	t.Helper()
	secret, err := h.Login(t.Context(), visitor, presented)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// visit is a browser that signs on at the issuer and comes back with state and code.
func (h *house) visit(t *testing.T) (signOn, state, code string) {
	t.Helper()
	on, err := h.SignOn(t.Context(), visitor, "/teams")
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, on.Address, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := h.issuer.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	back, err := url.Parse(answer.Header.Get("Location"))
	if err != nil {
		t.Fatal(err)
	}
	return on.Secret, back.Query().Get("state"), back.Query().Get("code")
}

// signOn logs in at the issuer and fails the test if that fails.
func (h *house) signOn(t *testing.T) (secret string) {
	t.Helper()
	on, state, code := h.visit(t)
	secret, next, err := h.Return(t.Context(), visitor, on, state, code)
	if err != nil || next != "/teams" {
		t.Fatalf("led to %q, %v", next, err)
	}
	return secret
}

// who is the person of a session in a word, or why there is none.
func who(d *access.Desk, secret string) string {
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
