package oidc

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"sluice/policy/teams"
)

// loginPause is the time between two attempts to fetch the issuer's document, so that logins do not queue for an issuer that is
// away.
const loginPause = 2 * time.Second

var (
	// ErrRefused means that the issuer does not vouch for the person, or that its answer cannot be trusted.
	ErrRefused = errors.New("the issuer refuses")
	// ErrAway means that the issuer cannot be asked, or does not know this client.
	ErrAway = errors.New("the issuer cannot be asked")
)

// ClientConfig has what the issuer and this client must know of each other.
type ClientConfig struct {
	URL      string            // of the issuer, as its discovery document has it
	ClientID string            // required
	Secret   func() string     // asked at each sign-on; nil: a public client, which only PKCE protects
	Redirect string            // the address of the console's callback
	Now      func() time.Time  // for the ends of tokens
	Trip     http.RoundTripper // to the issuer; nil: the network, directly
}

// Identity is a person, as the issuer knows them.
type Identity struct {
	Subject string   // never changes
	Email   string   // empty unless the issuer has verified it
	Groups  []string // may be empty
}

// Grant lets a client ask the issuer again. It is a secret.
type Grant struct {
	Refresh string    `json:"refresh,omitempty"` // empty: the issuer gave none
	Access  string    `json:"access,omitempty"`
	Until   time.Time `json:"until,omitzero"` // when Access ends; zero: unknown
}

// Client logs people in at one issuer: the code flow with PKCE, and checks while a session lasts. It keeps no sessions and judges
// no rights, and its errors quote no code and no token. It is safe for concurrent use.
type Client struct {
	config ClientConfig
	issuer *issuer
	calls  sync.WaitGroup // of the issuer
}

// NewClient returns a client, which first calls its issuer at a login: the issuer may be away when the process starts.
func NewClient(config ClientConfig) *Client {
	c := &Client{config: config}
	c.issuer = &issuer{
		url: config.URL, now: config.Now, http: newHTTP(config.Trip), patience: callFor, calls: &c.calls, fetches: every(loginPause),
	}
	return c
}

// Begin returns the address at the issuer to send a browser to. verifier is of 43 to 128 letters, digits, - and _.
func (c *Client) Begin(ctx context.Context, state, nonce, verifier string) (string, error) {
	d, err := c.discovered(ctx)
	if err != nil {
		return "", err
	}
	return c.flow(d).AuthCodeURL(state, oidc.Nonce(nonce), oauth2.S256ChallengeOption(verifier)), nil
}

// Finish exchanges the code that the browser brought back. nonce and verifier are those of Begin.
func (c *Client) Finish(ctx context.Context, code, nonce, verifier string) (Identity, Grant, error) {
	d, err := c.discovered(ctx)
	if err != nil {
		return Identity{}, Grant{}, err
	}
	token, err := c.flow(d).Exchange(oidc.ClientContext(ctx, c.issuer.http), code, oauth2.VerifierOption(verifier))
	if err != nil {
		return Identity{}, Grant{}, exchangeError(err)
	}
	said, vouched, err := c.identify(ctx, d, token, nonce)
	if err == nil && !vouched {
		err = fmt.Errorf("%w: it sent no ID token", ErrRefused)
	}
	if err == nil && said.Groups == nil {
		said, err = c.ask(ctx, d, token.AccessToken, said)
	}
	return said.identity(), grantOf(token), err
}

// Check asks the issuer again about the person with that subject: with the refresh token if there is one, else at the userinfo
// endpoint while the access token lives. The returned grant replaces the old one.
func (c *Client) Check(ctx context.Context, was Identity, grant Grant) (Identity, Grant, error) {
	d, err := c.discovered(ctx)
	if err != nil {
		return was, grant, err
	}
	said, vouched := claims{Subject: was.Subject}, false
	if grant.Refresh != "" {
		token, err := c.flow(d).TokenSource(oidc.ClientContext(ctx, c.issuer.http), &oauth2.Token{RefreshToken: grant.Refresh}).Token()
		if err != nil {
			return was, grant, exchangeError(err)
		}
		grant = grantOf(token)
		if said, vouched, err = c.identify(ctx, d, token, ""); err != nil {
			return was, grant, err
		}
		if !vouched {
			said.Subject = was.Subject
		}
	} else if !grant.Until.IsZero() && !c.config.Now().Before(grant.Until) {
		return was, grant, fmt.Errorf("%w: the access token has ended", ErrRefused)
	}
	if said.Subject != was.Subject {
		return was, grant, fmt.Errorf("%w: it answered about another person", ErrRefused)
	}
	if !vouched || said.Groups == nil {
		if d.provider.UserInfoEndpoint() == "" && !vouched {
			return was, grant, nil // the refresh already shows that the account is not closed
		}
		said, err = c.ask(ctx, d, grant.Access, said)
	}
	return said.identity(), grant, err
}

func grantOf(token *oauth2.Token) Grant {
	return Grant{Refresh: token.RefreshToken, Access: token.AccessToken, Until: token.Expiry}
}

// discovered returns the issuer's document. Once it has one, the issuer need not answer.
func (c *Client) discovered(ctx context.Context) (*document, error) {
	d, err := c.issuer.discovered(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", ErrAway, brief(err))
	}
	return d, nil
}

// flow is the code flow at the issuer.
func (c *Client) flow(d *document) *oauth2.Config {
	scopes := []string{oidc.ScopeOpenID, oidc.ScopeProfile, oidc.ScopeEmail}
	for _, more := range []string{"groups", oidc.ScopeOfflineAccess} { // some issuers refuse scopes that they do not list
		if slices.Contains(d.Scopes, more) {
			scopes = append(scopes, more)
		}
	}
	secret := ""
	if c.config.Secret != nil {
		secret = c.config.Secret()
	}
	return &oauth2.Config{
		ClientID: c.config.ClientID, ClientSecret: secret, Endpoint: d.provider.Endpoint(), RedirectURL: c.config.Redirect, Scopes: scopes,
	}
}

// identify reads the ID token beside an access token. vouched is false if there is no ID token. An empty nonce is not compared.
func (c *Client) identify(ctx context.Context, d *document, token *oauth2.Token, nonce string) (said claims, vouched bool, err error) {
	raw, ok := token.Extra("id_token").(string)
	if !ok || raw == "" {
		return said, false, nil
	}
	id, err := c.verify(ctx, d, raw)
	if err != nil {
		return said, false, err
	}
	if nonce != "" && subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(nonce)) == 0 {
		return said, false, fmt.Errorf("%w: the ID token belongs to another login", ErrRefused)
	}
	if id.AccessTokenHash != "" && id.VerifyAccessToken(token.AccessToken) != nil {
		return said, false, fmt.Errorf("%w: the ID token belongs to another access token", ErrRefused)
	}
	if err := id.Claims(&said); err != nil {
		return said, false, fmt.Errorf("%w: the ID token's claims have another form", ErrRefused)
	}
	switch {
	case said.Subject == "":
		return said, false, fmt.Errorf("%w: the ID token names nobody", ErrRefused)
	case said.Party != nil && *said.Party != c.config.ClientID, said.Party == nil && len(id.Audience) > 1:
		return said, false, fmt.Errorf("%w: the ID token is for another client, or does not say for which of several", ErrRefused)
	}
	return said, true, nil
}

// verify verifies an ID token, with one of the algorithms that the issuer lists.
func (c *Client) verify(ctx context.Context, d *document, raw string) (*oidc.IDToken, error) {
	signs := slices.DeleteFunc(slices.Clone(d.Algorithms), func(name string) bool { return !slices.Contains(teams.Algorithms, name) })
	if len(signs) == 0 {
		signs = []string{oidc.RS256} // every issuer supports it
	}
	t, err := read(raw)
	if err == nil {
		var id *oidc.IDToken
		if id, err = c.issuer.verify(ctx, t, c.config.ClientID, signs, new(time.Duration)); err == nil {
			return id, nil
		}
	}
	switch {
	case errors.Is(err, ErrKeys):
		return nil, fmt.Errorf("%w: its keys cannot be fetched", ErrAway)
	case errors.Is(err, ErrExpired):
		return nil, fmt.Errorf("%w: the ID token has expired", ErrRefused)
	}
	return nil, fmt.Errorf("%w: the ID token is not valid", ErrRefused)
}
