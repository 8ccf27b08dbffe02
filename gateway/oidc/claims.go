package oidc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// claims are what an ID token or the userinfo endpoint states about a person.
type claims struct {
	Subject  string
	Party    *string // the client that the token was made for; nil: not stated
	Email    string
	Verified truth
	Groups   words // nil: groups are not mentioned, not even as an empty list
}

// UnmarshalJSON reads claims by their exact names. The decoder of a struct would take Groups for groups, and some issuers let
// people choose further claims.
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

// words is a list of strings; a single one may be sent without a list.
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

// ask adds the claims of the userinfo endpoint to those of the ID token. Without such an endpoint it returns those of the ID token.
func (c *Client) ask(ctx context.Context, d *document, access string, known claims) (claims, error) {
	address := d.provider.UserInfoEndpoint()
	if address == "" {
		return known, nil
	}
	status, text, err := get(ctx, c.issuer.http, address, access)
	var said claims
	switch {
	case err != nil:
		return known, fmt.Errorf("%w: %s", ErrAway, brief(err))
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return known, fmt.Errorf("%w: its userinfo endpoint answered %d", ErrRefused, status)
	case status != http.StatusOK:
		return known, fmt.Errorf("%w: its userinfo endpoint answered %d", ErrAway, status)
	case json.Unmarshal(text, &said) != nil:
		return known, fmt.Errorf("%w: its userinfo endpoint sent no JSON", ErrAway)
	case said.Subject != known.Subject:
		return known, fmt.Errorf("%w: its userinfo endpoint answered about another person", ErrRefused)
	}
	if said.Email == "" {
		said.Email, said.Verified = known.Email, known.Verified
	}
	if said.Groups == nil {
		said.Groups = known.Groups
	}
	return said, nil
}

// exchangeError is the error of the token endpoint: it refused the person, or it could not be asked.
func exchangeError(err error) error {
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) && refused.ErrorCode == "invalid_grant" {
		return fmt.Errorf("%w: invalid_grant", ErrRefused)
	}
	return fmt.Errorf("%w: %s", ErrAway, brief(err))
}

// brief is an error's text without addresses and bodies, which may contain codes and tokens.
func brief(err error) string {
	var answered *oauth2.RetrieveError
	var mismatch *oidc.IssuerMismatchError
	var timeout interface{ Timeout() bool }
	switch {
	case errors.As(err, &mismatch):
		return "its discovery document names another issuer"
	case errors.As(err, &answered) && answered.Response != nil:
		return fmt.Sprintf("its token endpoint answered %d %.40q", answered.Response.StatusCode, answered.ErrorCode)
	case errors.As(err, &timeout) && timeout.Timeout():
		return "it does not answer in time"
	}
	return "its answer cannot be used"
}
