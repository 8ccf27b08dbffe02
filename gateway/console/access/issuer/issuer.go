// Package issuer asks an OpenID Connect issuer who a person is: authorization code flow with PKCE at login, and again while a
// session lasts. It keeps no sessions and judges no rights. It never logs, and its errors quote no code and no token.
package issuer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

var (
	// ErrRefused means that the issuer does not vouch for the person, or that its answer is not to be trusted.
	ErrRefused = errors.New("the issuer refuses")
	// ErrAway means that the issuer cannot be asked, or does not know this client.
	ErrAway = errors.New("the issuer cannot be asked")
)

// Config has what the issuer and this client know of each other.
type Config struct {
	URL      string            // of the issuer, as its discovery document has it
	ClientID string            // required
	Secret   string            // empty: a public client, which PKCE alone protects
	Redirect string            // the address of the console's callback
	Now      func() time.Time  // for the ends of tokens
	Trip     http.RoundTripper // to the issuer; nil: the network, by the proxy that the environment names
}

// Identity is who somebody is.
type Identity struct {
	Subject string   // never changes
	Email   string   // empty unless the issuer has verified it
	Groups  []string // may be empty
}

// Grant lets this client ask the issuer again. It is a secret.
type Grant struct {
	Refresh string    `json:"refresh,omitempty"` // empty: the issuer gave none
	Access  string    `json:"access,omitempty"`
	Until   time.Time `json:"until,omitzero"` // when Access ends; zero: not known
}

// Issuer is one issuer. It is safe for concurrent use.
type Issuer struct {
	config Config
	client *http.Client

	turn   chan struct{} // holds a value while one login uses the fields below
	known  *metadata     // nil: not known yet
	failed error         // why, when it was last asked
	again  time.Time     // when it may be asked again
}

// pause is the time between two tries to learn the metadata, so that logins do not wait one after the other for an issuer that
// is away.
const pause = 2 * time.Second

// metadata is what the discovery document says.
type metadata struct {
	provider *oidc.Provider
	flow     oauth2.Config
	verifier *oidc.IDTokenVerifier
}

// New returns an issuer, which is asked for its metadata when somebody logs in: it may be away when the process starts.
func New(config Config) *Issuer {
	return &Issuer{config: config, client: newClient(config.Trip), turn: make(chan struct{}, 1)}
}

// Begin returns the address at the issuer to which a browser goes. verifier is of 43 to 128 letters, digits, - and _.
func (i *Issuer) Begin(ctx context.Context, state, nonce, verifier string) (string, error) {
	m, err := i.discover(ctx)
	if err != nil {
		return "", err
	}
	return m.flow.AuthCodeURL(state, oidc.Nonce(nonce), oauth2.S256ChallengeOption(verifier)), nil
}

// Finish exchanges the code that the browser brought back. nonce and verifier are those of Begin.
func (i *Issuer) Finish(ctx context.Context, code, nonce, verifier string) (Identity, Grant, error) {
	m, err := i.discover(ctx)
	if err != nil {
		return Identity{}, Grant{}, err
	}
	ctx = oidc.ClientContext(ctx, i.client)
	token, err := m.flow.Exchange(ctx, code, oauth2.VerifierOption(verifier))
	if err != nil {
		return Identity{}, Grant{}, exchangeError(err)
	}
	c, vouched, err := m.identify(ctx, token, nonce)
	if err == nil && !vouched {
		err = fmt.Errorf("%w: it sent no ID token", ErrRefused)
	}
	if err == nil && !c.hasGroups() {
		c, err = i.ask(ctx, m, token.AccessToken, c)
	}
	return c.identity(), grantOf(token), err
}

// Check asks the issuer again about the person with that subject: with the refresh token if there is one, else at the userinfo
// endpoint while the access token lives. The returned grant replaces the old one.
func (i *Issuer) Check(ctx context.Context, was Identity, grant Grant) (Identity, Grant, error) {
	m, err := i.discover(ctx)
	if err != nil {
		return was, grant, err
	}
	ctx = oidc.ClientContext(ctx, i.client)
	c, vouched := claims{Subject: was.Subject}, false
	if grant.Refresh != "" {
		token, err := m.flow.TokenSource(ctx, &oauth2.Token{RefreshToken: grant.Refresh}).Token()
		if err != nil {
			return was, grant, exchangeError(err)
		}
		grant = grantOf(token)
		if c, vouched, err = m.identify(ctx, token, ""); err != nil {
			return was, grant, err
		}
		if !vouched {
			c.Subject = was.Subject
		}
	} else if !grant.Until.IsZero() && !i.config.Now().Before(grant.Until) {
		return was, grant, fmt.Errorf("%w: the access token has ended", ErrRefused)
	}
	if c.Subject != was.Subject {
		return was, grant, fmt.Errorf("%w: it answered about another person", ErrRefused)
	}
	if !vouched || !c.hasGroups() {
		if m.provider.UserInfoEndpoint() == "" && !vouched {
			return was, grant, nil // the refresh alone shows that the account is not closed
		}
		c, err = i.ask(ctx, m, grant.Access, c)
	}
	return c.identity(), grant, err
}

func grantOf(token *oauth2.Token) Grant {
	return Grant{Refresh: token.RefreshToken, Access: token.AccessToken, Until: token.Expiry}
}

// discover returns the issuer's metadata, which it fetches until it has succeeded once.
func (i *Issuer) discover(ctx context.Context) (*metadata, error) {
	select {
	case i.turn <- struct{}{}:
		defer func() { <-i.turn }()
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: the client has left", ErrAway)
	}
	if i.known != nil {
		return i.known, nil
	}
	if i.config.Now().Before(i.again) {
		return nil, i.failed
	}
	ctx = oidc.ClientContext(context.WithoutCancel(ctx), i.client) // others wait for the answer, too
	provider, err := oidc.NewProvider(ctx, i.config.URL)
	if err != nil {
		i.failed, i.again = fmt.Errorf("%w: %s", ErrAway, brief(err)), i.config.Now().Add(pause)
		return nil, i.failed
	}
	var offers struct {
		Scopes []string `json:"scopes_supported"`
	}
	_ = provider.Claims(&offers)
	scopes := []string{oidc.ScopeOpenID, oidc.ScopeProfile, oidc.ScopeEmail}
	for _, more := range []string{"groups", oidc.ScopeOfflineAccess} { // some issuers refuse what they do not list
		if slices.Contains(offers.Scopes, more) {
			scopes = append(scopes, more)
		}
	}
	i.known = &metadata{
		provider: provider,
		flow:     oauth2.Config{ClientID: i.config.ClientID, ClientSecret: i.config.Secret, Endpoint: provider.Endpoint(), RedirectURL: i.config.Redirect, Scopes: scopes},
		verifier: provider.Verifier(&oidc.Config{ClientID: i.config.ClientID, Now: i.config.Now}),
	}
	return i.known, nil
}
