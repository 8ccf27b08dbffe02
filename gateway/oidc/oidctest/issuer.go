// Package oidctest is an OpenID Connect issuer for tests: documents and keys, tokens of any kind, the code flow with PKCE, refresh tokens
// that work once, userinfo.
package oidctest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"sluice/gateway/oidc"
)

// The client that every issuer knows.
const (
	ClientID     = "sluice"
	ClientSecret = "issuers-CANARY-secret-of-its-client"
)

// SecretOfClient returns ClientSecret.
func SecretOfClient() string { return ClientSecret }

// Issuer is one issuer. Its fields may be changed between requests, under Lock.
type Issuer struct {
	sync.Mutex
	URL    string
	Key    Signer            // signs the tokens that it makes
	Keys   []jose.JSONWebKey // that it publishes; at first only Key
	Claims map[string]any    // of the person who logs in, at first Alice; nil: the account is closed
	Now    func() time.Time

	Away       bool // it answers 503
	NoRefresh  bool // it gives no refresh tokens
	Userinfo   bool // it has a userinfo endpoint
	NoUserinfo bool // the userinfo endpoint answers 503
	BareTokens bool // its ID tokens have no groups

	Forge func(claims map[string]any) string // makes the ID token in place of the issuer; nil: the issuer does

	Called  int      // requests for its document and its keys
	Asked   int      // requests for tokens and userinfo
	Secrets []string // every code, token and secret that it gave out

	codes  map[string]url.Values // the requests that the codes answer
	tokens map[string]bool       // refresh and access tokens that work
}

// New returns an issuer at an address where the test serves it, or reaches it by [Issuer.RoundTrip].
func New(address string, now func() time.Time) *Issuer {
	key := NewECDSA("one")
	return &Issuer{
		URL: address, Now: now, Key: key, Keys: []jose.JSONWebKey{key.JSONWebKey}, Userinfo: true, codes: map[string]url.Values{},
		tokens: map[string]bool{},
		Claims: map[string]any{"sub": "alice", "email": "alice@example.com", "email_verified": true, "groups": []string{"platform"}},
	}
}

// Start returns an issuer on a real socket, until the test ends.
func Start(t testing.TB) *Issuer {
	i := New("", time.Now)
	server := httptest.NewServer(i)
	t.Cleanup(server.Close)
	i.URL = server.URL
	return i
}

// Change changes fields.
func (i *Issuer) Change(change func()) {
	i.Lock()
	defer i.Unlock()
	change()
}

// Client configures how a client reaches the issuer without a network.
func (i *Issuer) Client(redirect string) oidc.ClientConfig {
	return oidc.ClientConfig{URL: i.URL, ClientID: ClientID, Secret: SecretOfClient, Redirect: redirect, Now: i.Now, Trip: i}
}

// Visit is a browser that visits an address of the issuer, and returns with a state and a code.
func (i *Issuer) Visit(t testing.TB, address string) (state, code string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := i.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	back, err := url.Parse(answer.Header.Get("Location"))
	if err != nil || back.Query().Get("code") == "" {
		t.Fatalf("led to %v, %v", back, err)
	}
	return back.Query().Get("state"), back.Query().Get("code")
}

// RoundTrip implements http.RoundTripper without a network.
func (i *Issuer) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := httptest.NewRecorder()
	i.ServeHTTP(answer, r)
	return answer.Result(), nil
}

// ServeHTTP implements http.Handler.
func (i *Issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.Lock()
	defer i.Unlock()
	if i.Away {
		i.Called++
		http.Error(w, "away", http.StatusServiceUnavailable)
		return
	}
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		i.Called++
		i.discovery(w)
	case "/keys":
		i.Called++
		answer(w, http.StatusOK, jose.JSONWebKeySet{Keys: i.Keys})
	case "/authorize":
		i.authorize(w, r)
	case "/token":
		i.Asked++
		i.token(w, r)
	case "/userinfo":
		i.Asked++
		i.userinfo(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (i *Issuer) discovery(w http.ResponseWriter) {
	document := map[string]any{
		"issuer": i.URL, "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token", "jwks_uri": i.URL + "/keys",
		"id_token_signing_alg_values_supported": []string{"ES256"},
		"scopes_supported":                      []string{"openid", "email", "profile", "groups", "offline_access"},
	}
	if i.Userinfo {
		document["userinfo_endpoint"] = i.URL + "/userinfo"
	}
	answer(w, http.StatusOK, document)
}

// authorize logs the person in without asking and sends the browser back.
func (i *Issuer) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("client_id") != ClientID || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" ||
		q.Get("state") == "" || q.Get("nonce") == "" {
		http.Error(w, "the request lacks what the flow needs", http.StatusBadRequest)
		return
	}
	code := i.secret()
	i.codes[code] = q
	back := q.Get("redirect_uri") + "?" + url.Values{"code": {code}, "state": {q.Get("state")}}.Encode()
	http.Redirect(w, r, back, http.StatusFound) //nolint:gosec // for tests
}

func (i *Issuer) token(w http.ResponseWriter, r *http.Request) {
	id, secret, _ := r.BasicAuth()
	if id == "" {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	if id != ClientID || secret != ClientSecret {
		answer(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client"})
		return
	}
	nonce := ""
	switch r.PostFormValue("grant_type") {
	case "authorization_code":
		begun, known := i.codes[r.PostFormValue("code")]
		delete(i.codes, r.PostFormValue("code"))
		sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
		challenge := base64.RawURLEncoding.EncodeToString(sum[:])
		if !known || begun.Get("code_challenge") != challenge || begun.Get("redirect_uri") != r.PostFormValue("redirect_uri") {
			answer(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant"})
			return
		}
		nonce = begun.Get("nonce")
	case "refresh_token":
		if !i.tokens[r.PostFormValue("refresh_token")] || i.Claims == nil {
			answer(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant"})
			return
		}
		delete(i.tokens, r.PostFormValue("refresh_token"))
	}
	i.grant(w, nonce)
}

// grant answers tokens.
func (i *Issuer) grant(w http.ResponseWriter, nonce string) {
	claims := map[string]any{"iss": i.URL, "aud": ClientID, "iat": i.Now().Unix(), "exp": i.Now().Add(5 * time.Minute).Unix()}
	for name, value := range i.Claims {
		if name != "groups" || !i.BareTokens {
			claims[name] = value
		}
	}
	if nonce != "" {
		claims["nonce"] = nonce
	}
	given := map[string]any{"access_token": i.secret(), "token_type": "Bearer", "expires_in": 1800, "id_token": i.forge(claims)}
	i.tokens[given["access_token"].(string)] = true
	if !i.NoRefresh {
		given["refresh_token"] = i.secret()
		i.tokens[given["refresh_token"].(string)] = true
	}
	answer(w, http.StatusOK, given)
}

func (i *Issuer) forge(claims map[string]any) string {
	if i.Forge != nil {
		return i.Forge(claims)
	}
	token := i.Sign(claims)
	i.Secrets = append(i.Secrets, token)
	return token
}

// Sign returns a token of this issuer.
func (i *Issuer) Sign(claims any) string { return Sign("ES256", i.Key.Private, "one", claims, nil) }

func (i *Issuer) userinfo(w http.ResponseWriter, r *http.Request) {
	if i.NoUserinfo {
		http.Error(w, "away", http.StatusServiceUnavailable)
		return
	}
	token := r.Header.Get("Authorization")
	if len(token) < 7 || !i.tokens[token[7:]] || i.Claims == nil {
		answer(w, http.StatusUnauthorized, map[string]any{"error": "invalid_token"})
		return
	}
	answer(w, http.StatusOK, i.Claims)
}

func (i *Issuer) secret() string {
	secret := "issuers-CANARY-" + rand.Text()
	i.Secrets = append(i.Secrets, secret)
	return secret
}

func answer(w http.ResponseWriter, status int, content any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(content)
}
