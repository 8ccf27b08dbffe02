package issuer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

const (
	patience   = 5 * time.Second // for one call of the issuer
	mostAnswer = 1 << 20         // bytes of one answer
)

// newClient returns the client that calls the issuer. It follows no redirects: they could carry the client's secret elsewhere.
func newClient(trip http.RoundTripper) *http.Client {
	if trip == nil {
		trip = &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 2, IdleConnTimeout: 30 * time.Second, ForceAttemptHTTP2: true}
	}
	return &http.Client{
		Transport:     bounded{trip},
		Timeout:       patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// bounded cuts answers, because the libraries read all of them.
type bounded struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.next.RoundTrip(r)
	if err == nil {
		answer.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(answer.Body, mostAnswer), answer.Body}
	}
	return answer, err
}

// ask reads the userinfo endpoint and adds it to what the ID token says. Without that endpoint it returns just that.
func (i *Issuer) ask(ctx context.Context, m *metadata, access string, c claims) (claims, error) {
	address := m.provider.UserInfoEndpoint()
	if address == "" {
		return c, nil
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return c, fmt.Errorf("%w: its userinfo endpoint has no address", ErrAway)
	}
	request.Header.Set("Authorization", "Bearer "+access)
	answer, err := i.client.Do(request)
	if err != nil {
		return c, fmt.Errorf("%w: %s", ErrAway, brief(err))
	}
	defer func() { _ = answer.Body.Close() }()
	switch answer.StatusCode {
	case http.StatusOK:
	case http.StatusUnauthorized, http.StatusForbidden:
		return c, fmt.Errorf("%w: its userinfo endpoint answered %d", ErrRefused, answer.StatusCode)
	default:
		return c, fmt.Errorf("%w: its userinfo endpoint answered %d", ErrAway, answer.StatusCode)
	}
	var said claims
	if err := json.NewDecoder(answer.Body).Decode(&said); err != nil {
		return c, fmt.Errorf("%w: its userinfo endpoint sent no JSON", ErrAway)
	}
	if said.Subject != c.Subject {
		return c, fmt.Errorf("%w: its userinfo endpoint answered about another person", ErrRefused)
	}
	if said.Email == "" {
		said.Email, said.Verified = c.Email, c.Verified
	}
	if !said.hasGroups() {
		said.Groups = c.Groups
	}
	return said, nil
}

// exchangeError says whether the token endpoint refused the person, or could not be asked.
func exchangeError(err error) error {
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) && refused.ErrorCode == "invalid_grant" {
		return fmt.Errorf("%w: invalid_grant", ErrRefused)
	}
	return fmt.Errorf("%w: %s", ErrAway, brief(err))
}

// verifyError says whether an ID token is bad, or the issuer's keys could not be fetched.
func verifyError(err error) error {
	if strings.Contains(err.Error(), "fetching keys") { // the library keeps no error for it
		return fmt.Errorf("%w: its keys cannot be fetched", ErrAway)
	}
	if _, expired := errors.AsType[*oidc.TokenExpiredError](err); expired {
		return fmt.Errorf("%w: the ID token has expired", ErrRefused)
	}
	return fmt.Errorf("%w: the ID token is not valid", ErrRefused)
}

// brief is an error without addresses and bodies, which may contain codes and tokens.
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
	return "no answer that can be used"
}
