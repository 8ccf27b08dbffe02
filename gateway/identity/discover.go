package identity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/go-jose/go-jose/v4"

	"sluice/policy/teams"
)

// maxDocument is the largest document that is read from an issuer, in bytes.
const maxDocument = 1 << 20

// Fetch gets a document.
type Fetch func(ctx context.Context, address string) ([]byte, error)

// client follows no redirect: an issuer's documents are where they say they are.
var client = &http.Client{
	Transport:     &http.Transport{DisableKeepAlives: true}, // two documents every five minutes
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// Get gets a document over HTTP: only 200 and at most 1 MiB.
func Get(ctx context.Context, address string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	answer, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %d", address, answer.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxDocument+1))
	if err == nil && len(text) > maxDocument {
		err = errors.New(address + " answered with more than 1 MiB")
	}
	return text, err
}

// discover gets the public keys of an issuer by way of its configuration.
func discover(ctx context.Context, fetch Fetch, issuer string) ([]jose.JSONWebKey, error) {
	text, err := fetch(ctx, strings.TrimSuffix(issuer, "/")+"/.well-known/openid-configuration")
	if err != nil {
		return nil, err
	}
	var configuration struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	if err := json.Unmarshal(text, &configuration); err != nil {
		return nil, err
	}
	if configuration.Issuer != issuer || !teams.IsIssuerURL(configuration.Keys) {
		return nil, errors.New("the configuration of " + issuer + " names another issuer, or keys that are not at an https address")
	}
	if text, err = fetch(ctx, configuration.Keys); err != nil {
		return nil, err
	}
	return readKeys(text)
}

// readKeys reads a list of keys. What is not a public key for signatures is left out, as is a kind that go-jose does not know.
func readKeys(text []byte) ([]jose.JSONWebKey, error) {
	var listed struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &listed); err != nil {
		return nil, err
	}
	var list []jose.JSONWebKey
	for _, raw := range listed.Keys {
		var key jose.JSONWebKey
		if key.UnmarshalJSON(raw) == nil && key.Valid() && key.IsPublic() && slices.Contains([]string{"", "sig"}, key.Use) {
			list = append(list, key)
		}
	}
	if len(list) == 0 {
		return nil, errors.New("no public key is listed")
	}
	return list, nil
}
