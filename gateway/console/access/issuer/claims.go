package issuer

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"strconv"

	"golang.org/x/oauth2"
)

// claims are what an ID token or the userinfo endpoint says.
type claims struct {
	Subject  string
	Party    *string // the client that the token was made for; nil: it does not say
	Email    string
	Verified truth
	Groups   words
}

// UnmarshalJSON reads claims by their names, letter for letter. The decoder of a struct would take Groups for groups, and some
// issuers let people choose further claims.
func (c *claims) UnmarshalJSON(text []byte) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	for name, field := range map[string]any{
		"sub": &c.Subject, "azp": &c.Party, "email": &c.Email, "email_verified": &c.Verified, "groups": &c.Groups,
	} {
		if value, said := all[name]; said {
			if err := json.Unmarshal(value, field); err != nil {
				return err
			}
		}
	}
	return nil
}

// hasGroups reports whether the issuer said anything about groups, be it that there are none.
func (c claims) hasGroups() bool { return c.Groups != nil }

func (c claims) identity() Identity {
	id := Identity{Subject: c.Subject, Groups: c.Groups}
	if c.Verified {
		id.Email = c.Email
	}
	return id
}

// truth is a boolean, which some issuers send as a string.
type truth bool

// UnmarshalJSON implements json.Unmarshaler.
func (t *truth) UnmarshalJSON(text []byte) error {
	if quoted, err := strconv.Unquote(string(text)); err == nil {
		text = []byte(quoted)
	}
	*t = string(text) == "true"
	return nil
}

// words are strings; a single one may come without a list.
type words []string

// UnmarshalJSON implements json.Unmarshaler.
func (w *words) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		if one != "" {
			*w = words{one}
		}
		return nil
	}
	var all []string
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	*w = all
	return nil
}

// identify reads the ID token beside an access token. vouched is false if there is none. An empty nonce is not compared.
func (m *metadata) identify(ctx context.Context, token *oauth2.Token, nonce string) (c claims, vouched bool, err error) {
	raw, ok := token.Extra("id_token").(string)
	if !ok || raw == "" {
		return c, false, nil
	}
	id, err := m.verifier.Verify(ctx, raw)
	if err != nil {
		return c, false, verifyError(err)
	}
	if nonce != "" && subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(nonce)) == 0 {
		return c, false, fmt.Errorf("%w: the ID token belongs to another login", ErrRefused)
	}
	if id.AccessTokenHash != "" && id.VerifyAccessToken(token.AccessToken) != nil {
		return c, false, fmt.Errorf("%w: the ID token belongs to another access token", ErrRefused)
	}
	if err := id.Claims(&c); err != nil {
		return c, false, fmt.Errorf("%w: the ID token's claims have another form", ErrRefused)
	}
	switch {
	case c.Subject == "":
		return c, false, fmt.Errorf("%w: the ID token names nobody", ErrRefused)
	case c.Party != nil && *c.Party != m.flow.ClientID, c.Party == nil && len(id.Audience) > 1:
		return c, false, fmt.Errorf("%w: the ID token is for another client, or does not say for which of several", ErrRefused)
	}
	return c, true, nil
}
