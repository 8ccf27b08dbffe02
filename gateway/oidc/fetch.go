package oidc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
)

const (
	callFor    = 5 * time.Second // bounds one call of an issuer
	mostAnswer = 1 << 20         // bytes of one answer
)

// newHTTP returns the client that calls issuers. It follows no redirects: an issuer's documents are at their stated addresses,
// and a redirect could carry the client's secret elsewhere. A nil trip is the network.
func newHTTP(trip http.RoundTripper) *http.Client {
	if trip == nil {
		trip = &http.Transport{DisableKeepAlives: true} // a few calls in minutes
	}
	return &http.Client{
		Transport:     bounded{trip},
		Timeout:       callFor,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// bounded cuts answers, because the libraries read all of them. A cut answer is not JSON.
type bounded struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		answer.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(answer.Body, mostAnswer), answer.Body}
	}
	return answer, err
}

// get gets a document of an issuer, with a bearer token unless it is empty.
func get(ctx context.Context, client *http.Client, address, bearer string) (status int, text []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return 0, nil, err
	}
	if bearer != "" {
		request.Header.Set("Authorization", "Bearer "+bearer)
	}
	answer, err := client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err = io.ReadAll(answer.Body)
	return answer.StatusCode, text, err
}

// document is an issuer's description of itself.
type document struct {
	provider   *oidc.Provider
	Keys       string   `json:"jwks_uri"`
	Scopes     []string `json:"scopes_supported"`
	Algorithms []string `json:"id_token_signing_alg_values_supported"`
}

// discover gets an issuer's document, and its keys.
func (i *issuer) discover(ctx context.Context) (d *document, keys []jose.JSONWebKey, err error) {
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, i.http), i.url)
	if err != nil {
		return nil, nil, err
	}
	d = &document{provider: provider}
	_ = provider.Claims(d) // members of another form are left out
	if i.mayHaveKeys != nil && !i.mayHaveKeys(d.Keys) {
		return nil, nil, errors.New("the issuer's keys are not at an https address")
	}
	status, text, err := get(ctx, i.http, d.Keys, "")
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("the address of the issuer's keys answered %d", status)
	}
	if err == nil {
		keys, err = readKeys(text)
	}
	return d, keys, err
}

// readKeys reads a list of keys. Keys that are not public or not for signatures are left out, as are kinds that go-jose does not
// know.
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
