package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"sluice/cmd/sluice/settings"
	"sluice/gateway/admin"
	"sluice/gateway/console/remote"
	"sluice/policy/teams"
)

// keyCommand is sluice key.
type keyCommand struct {
	Mint    keyMintCommand    `cmd:"" default:"withargs" help:"Mint a key: print it once. The default."`
	Disable keyDisableCommand `cmd:"" help:"Disable a key of the directory: it does not work until it is enabled."`
	Enable  keyEnableCommand  `cmd:"" help:"Enable a key of the directory that was disabled."`
}

// keyDisableCommand and keyEnableCommand are sluice key disable and enable.
type (
	keyDisableCommand struct{ keyChange }
	keyEnableCommand  struct{ keyChange }
)

// keyChange is a change of a key, over the console.
type keyChange struct {
	Key    string `arg:"" help:"The key's id, its public part."`
	Team   string `required:"" placeholder:"T" help:"The team's id."`
	Reason string `placeholder:"…" help:"Why, in up to 200 characters; kept in the audit."`
}

// Run disables the key.
func (k keyDisableCommand) Run(ctx context.Context, p program, client *remote.Console) error {
	return k.send(ctx, p, client, "disabled", `{"disabled":true}`)
}

// Run enables the key.
func (k keyEnableCommand) Run(ctx context.Context, p program, client *remote.Console) error {
	return k.send(ctx, p, client, "enabled", `{"disabled":false}`)
}

// send changes members of the key, and prints the result.
func (k keyChange) send(ctx context.Context, p program, client *remote.Console, done, members string) error {
	path := remote.TeamPath(k.Team, "keys", k.Key)
	_, err := client.Call(ctx, http.MethodPatch, remote.Reasoned(path, k.Reason), []byte(members), "")
	if err == nil {
		_, err = fmt.Fprintf(p.stdout, "%s: key %s of team %s\n", done, admin.Printable(k.Key), admin.Printable(k.Team))
	}
	return err
}

// keyMintCommand is sluice key, which mints a key.
type keyMintCommand struct {
	Team     string `required:"" placeholder:"T" help:"The team's id."`
	Note     string `placeholder:"…" help:"What the key is for. With a console."`
	Expires  string `placeholder:"TIME" help:"When the key ends, such as 2027-06-30T00:00:00Z. With a console."`
	Replaces string `placeholder:"KEY" help:"The id of a key that ends in 24 hours. With a console."`
	Reason   string `placeholder:"…" help:"Why, in up to 200 characters; kept in the audit. With a console."`
}

// Run mints a key and prints it once: in the directory if the environment names a console, else for the teams file.
func (k keyMintCommand) Run(ctx context.Context, p program) error {
	s, err := settingsFor(p.environ, "CONSOLE_URL")
	switch {
	case err != nil:
		return err
	case s.ConsoleURL != "":
		return k.order(ctx, p)
	case k != keyMintCommand{Team: k.Team}:
		return badUsage{fmt.Errorf("--note, --expires, --replaces and --reason need a console: %w", errNoConsole)}
	}
	return k.mint(p)
}

// mint makes a key for the teams file, which has its digest. The key itself is not stored.
func (k keyMintCommand) mint(p program) error {
	minted, err := teams.MintKey(rand.Reader)
	if err != nil {
		return err
	}
	document := "teams:\n  - id: " + k.Team + "\n    keys:\n" + minted.Lines()
	if file, err := teams.Parse([]byte(document)); err != nil || file.Team(k.Team) == nil {
		return badUsage{errors.New("--team: allowed: an id as in the teams file, such as search")}
	}
	_, err = fmt.Fprintf(p.stdout, "%s\n\n# For the teams file, under the keys of team %s. The key above is shown this once.\n%s",
		minted.Reveal(), k.Team, minted.Lines())
	return err
}

// order asks the console for a key.
func (k keyMintCommand) order(ctx context.Context, p program) error {
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
			return badUsage{errors.New("--expires: allowed: a time such as 2027-06-30T00:00:00Z")}
		}
		order["expires"] = at
	}
	body, err := json.Marshal(order)
	if err != nil {
		return err
	}
	answer, err := console.Call(ctx, http.MethodPost, remote.Reasoned(remote.TeamPath(k.Team, "keys"), k.Reason), body, "")
	if refused, is := errors.AsType[remote.Problem](err); is && refused.Field == "owner" {
		return fmt.Errorf("%w; without %sCONSOLE_URL this command prints the lines for the file", err, settings.Prefix)
	}
	if err != nil {
		return err
	}
	var made teams.NewKey
	if err := answer.Into(&made); err != nil {
		return err
	}
	end := "never ends"
	if made.Expires != nil {
		end = "ends " + made.Expires.Format(time.RFC3339)
	}
	_, err = fmt.Fprintf(p.stdout, "%s\n\n# Key %s of team %s, which %s. The key above is shown this once.\n", admin.Printable(made.Key),
		admin.Printable(made.ID), admin.Printable(k.Team), end)
	return err
}
