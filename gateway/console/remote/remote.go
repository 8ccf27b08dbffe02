// Package remote is a client of the console's API, for the command line. It knows paths and problems, not their meaning. It does not trust
// a console's texts: it escapes unprintable characters.
package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"sluice/gateway/admin"
	"sluice/gateway/console"
	"sluice/gateway/upstream"
)

const (
	timeout  = 30 * time.Second // of one call
	mostBody = 16 << 20         // bytes of an answer
)

// Console is another process's console.
type Console struct {
	Base  string          // its address, without a path
	Token upstream.Secret // an operator's
	HTTP  http.Client
}

// New returns the console at an address. It does not follow redirects, so that the token is sent nowhere else.
func New(base string, token upstream.Secret) *Console {
	refuse := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Console{base, token, http.Client{CheckRedirect: refuse, Timeout: timeout}}
}

// Answer is a successful answer.
type Answer struct {
	ETag string // empty: none
	Body []byte
}

// Into decodes the body from JSON.
func (a Answer) Into(value any) error {
	if err := json.Unmarshal(a.Body, value); err != nil {
		return fmt.Errorf("read the console's answer: %w", err)
	}
	return nil
}

// Problem is a refusal.
type Problem struct{ console.Document }

// Error returns the refusal in one line.
func (p Problem) Error() string { return admin.Printable(p.Document.Problem.Error()) }

// IsMissing reports whether an error is a refusal with 404.
func IsMissing(err error) bool {
	var p Problem
	return errors.As(err, &p) && p.Status == http.StatusNotFound
}

// Call sends a request to a path below the API's prefix, with a JSON body unless it is nil. The error of a refusal is a [Problem].
func (c *Console) Call(ctx context.Context, method, path string, body []byte, ifMatch string) (Answer, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.Base+console.Prefix+path, bytes.NewReader(body))
	if err != nil {
		return Answer{}, errors.New("SLUICE_CONSOLE_URL is not an address")
	}
	request.Header.Set("Authorization", "Bearer "+c.Token.Reveal())
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if ifMatch != "" {
		request.Header.Set("If-Match", ifMatch)
	}
	response, err := c.HTTP.Do(request)
	if err != nil {
		return Answer{}, fmt.Errorf("ask the console: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(io.LimitReader(response.Body, mostBody+1))
	switch {
	case err != nil:
		return Answer{}, fmt.Errorf("ask the console: %w", err)
	case len(content) > mostBody:
		return Answer{}, errors.New("ask the console: its answer is larger than 16 MiB")
	case response.StatusCode/100 == 2:
		return Answer{response.Header.Get("ETag"), content}, nil
	}
	var p Problem
	if json.Unmarshal(content, &p.Document) != nil || p.Code == "" && p.Text == "" {
		return Answer{}, fmt.Errorf("SLUICE_CONSOLE_URL answers %s, and not as a console does", admin.Printable(response.Status))
	}
	if p.Status == http.StatusUnauthorized {
		p.Advice = "look at SLUICE_CONSOLE_TOKEN_FILE"
	}
	return Answer{}, p
}

// TeamPath returns the path of a team, or of something below it.
func TeamPath(id string, below ...string) string {
	path := "/teams/" + url.PathEscape(id)
	for _, name := range below {
		path += "/" + url.PathEscape(name)
	}
	return path
}

// Reasoned adds the reason of a change to a path.
func Reasoned(path, reason string) string {
	if reason == "" {
		return path
	}
	return path + "?reason=" + url.QueryEscape(reason)
}
