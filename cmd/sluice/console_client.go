package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"sluice/gateway"
	"sluice/gateway/admin"
	"sluice/gateway/console"
)

// consoleTimeout bounds one call of a console.
const consoleTimeout = 30 * time.Second

// consoleClient speaks to a console's interface for programs.
type consoleClient struct {
	base  string
	token gateway.Secret
	http  http.Client
}

// errNoConsole is the error of a command that needs a console.
var errNoConsole = errors.New(prefix + "CONSOLE_URL is not set: it is the console's address, such as https://sluice.example")

// newConsoleClient returns a client of the console that the environment names.
func newConsoleClient(p program) (*consoleClient, error) {
	s, err := settingsFor(p.environ, "CONSOLE_URL", "CONSOLE_TOKEN_FILE")
	switch {
	case err != nil:
		return nil, err
	case s.ConsoleURL == "":
		return nil, errNoConsole
	case s.ConsoleTokenFile == "":
		return nil, errors.New(prefix + "CONSOLE_TOKEN_FILE is not set: it is a file with the console's token")
	}
	token, err := readSecret(s.ConsoleTokenFile)
	if err != nil {
		return nil, fmt.Errorf("%sCONSOLE_TOKEN_FILE: %w", prefix, err)
	}
	refuse := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // send the token nowhere else
	return &consoleClient{string(s.ConsoleURL), token, http.Client{CheckRedirect: refuse, Timeout: consoleTimeout}}, nil
}

// consoleAnswer is a successful answer.
type consoleAnswer struct {
	status int
	etag   string
	body   []byte
}

// consoleProblem is a refusal.
type consoleProblem struct{ console.Document }

// Error renders the refusal on one line.
func (p consoleProblem) Error() string { return admin.Printable(p.Problem.Error()) }

// call sends a request to a path below the interface's prefix. A refusal is a [consoleProblem].
func (c *consoleClient) call(ctx context.Context, method, path string, body []byte, ifMatch string) (consoleAnswer, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+console.Prefix+path, bytes.NewReader(body))
	if err != nil {
		return consoleAnswer{}, errors.New(prefix + "CONSOLE_URL is not an address")
	}
	request.Header.Set("Authorization", "Bearer "+c.token.Reveal())
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if ifMatch != "" {
		request.Header.Set("If-Match", ifMatch)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return consoleAnswer{}, fmt.Errorf("ask the console: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	content, err := readAll(response.Body)
	if err != nil {
		return consoleAnswer{}, fmt.Errorf("ask the console: %w", err)
	}
	if response.StatusCode/100 == 2 {
		return consoleAnswer{response.StatusCode, response.Header.Get("ETag"), content}, nil
	}
	var p consoleProblem
	if json.Unmarshal(content, &p.Document) != nil || p.Code == "" && p.Text == "" {
		return consoleAnswer{}, fmt.Errorf("%sCONSOLE_URL answers %s, and not as a console does", prefix, admin.Printable(response.Status))
	}
	if p.Status == http.StatusUnauthorized {
		p.Advice = "look at " + prefix + "CONSOLE_TOKEN_FILE"
	}
	return consoleAnswer{}, p
}

// teamPath is the path of a team.
func teamPath(id string) string { return "/teams/" + url.PathEscape(id) }

// reasoned adds the reason of a change to a path.
func reasoned(path, reason string) string {
	if reason == "" {
		return path
	}
	return path + "?reason=" + url.QueryEscape(reason)
}
