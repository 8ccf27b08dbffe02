package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"sluice/gateway"
	"sluice/gateway/admin"
	"sluice/gateway/console"
	"sluice/policy/teams"
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

// keyCommand is sluice key.
type keyCommand struct {
	Team     string `required:"" placeholder:"T" help:"The team's id."`
	Note     string `placeholder:"…" help:"What the key is for. With a console."`
	Expires  string `placeholder:"TIME" help:"When the key ends, such as 2027-06-30T00:00:00Z. With a console."`
	Replaces string `placeholder:"KEY" help:"The id of a key that ends in 24 hours. With a console."`
	Reason   string `placeholder:"…" help:"Why, in up to 200 characters; kept in the audit. With a console."`
}

// Run mints a key and shows it once: of the directory if the environment names a console, else for the teams file.
func (k keyCommand) Run(ctx context.Context, p program) error {
	s, err := settingsFor(p.environ, "CONSOLE_URL")
	switch {
	case err != nil:
		return err
	case s.ConsoleURL != "":
		return k.order(ctx, p)
	case k != keyCommand{Team: k.Team}:
		return badUsage{fmt.Errorf("--note, --expires, --replaces and --reason need a console: %w", errNoConsole)}
	}
	return k.mint(p)
}

// mint makes a key for the teams file. It is stored nowhere; the file has its digest.
func (k keyCommand) mint(p program) error {
	minted, err := teams.MintKey(rand.Reader)
	if err != nil {
		return err
	}
	document := "teams:\n  - id: " + k.Team + "\n    keys:\n" + minted.Lines()
	if file, err := teams.Parse([]byte(document)); err != nil || file.Team(k.Team) == nil {
		return badUsage{fmt.Errorf("--team: allowed: an id as in the teams file, such as search")}
	}
	_, err = fmt.Fprintf(p.stdout, "%s\n\n# For the teams file, under the keys of team %s. The key above is shown this once.\n%s", minted.Reveal(), k.Team, minted.Lines())
	return err
}

// order asks the console for a key.
func (k keyCommand) order(ctx context.Context, p program) error {
	console, err := newConsoleClient(p)
	if err != nil {
		return err
	}
	order := map[string]any{}
	for name, value := range map[string]string{"note": k.Note, "replaces": k.Replaces} {
		if value != "" {
			order[name] = value
		}
	}
	if k.Expires != "" {
		at, err := time.Parse(time.RFC3339, k.Expires)
		if err != nil {
			return badUsage{fmt.Errorf("--expires: allowed: a time such as 2027-06-30T00:00:00Z")}
		}
		order["expires"] = at
	}
	body, err := json.Marshal(order)
	if err != nil {
		return err
	}
	answer, err := console.call(ctx, http.MethodPost, reasoned(teamPath(k.Team)+"/keys", k.Reason), body, "")
	if err != nil {
		return err
	}
	var made teams.NewKey
	if err := json.Unmarshal(answer.body, &made); err != nil {
		return fmt.Errorf("read the console's answer: %w", err)
	}
	end := "never ends"
	if made.Expires != nil {
		end = "ends " + made.Expires.Format(time.RFC3339)
	}
	_, err = fmt.Fprintf(p.stdout, "%s\n\n# Key %s of team %s, which %s. The key above is shown this once.\n", admin.Printable(made.Key), admin.Printable(made.ID), admin.Printable(k.Team), end)
	return err
}
