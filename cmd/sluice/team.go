package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"text/tabwriter"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/gateway/admin"
	"sluice/gateway/console"
	"sluice/gateway/console/remote"
)

// teamCommand is sluice team, which calls the console.
type teamCommand struct {
	List teamListCommand `cmd:"" help:"List the teams of the teams file and of the directory."`
	Show teamShowCommand `cmd:"" help:"Write one team as JSON, which sluice team set takes."`
	Set  teamSetCommand  `cmd:"" help:"Make a team of the directory, or replace it."`
	Rm   teamRmCommand   `cmd:"" help:"Disable a team of the directory, which is removed once nothing of it is open."`
}

// teamListCommand is sluice team list.
type teamListCommand struct {
	JSON bool `help:"As JSON, one team a line."`
}

// listed are the members of a team that the list shows.
type listed struct {
	ID          string            `json:"id"`
	Owner       string            `json:"owner"`
	Keys        []json.RawMessage `json:"keys"`
	Disabled    bool              `json:"disabled"`
	Description any               `json:"description"` // any, because YAML may have it as a number
}

// Run lists all teams.
func (c teamListCommand) Run(ctx context.Context, p program, client *remote.Console) error {
	table := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	if !c.JSON {
		_, _ = fmt.Fprintln(table, "TEAM\tOWNER\tKEYS\tDISABLED\tDESCRIPTION")
	}
	for path := "/teams?limit=1000"; path != ""; {
		answer, err := client.Call(ctx, http.MethodGet, path, nil, "")
		if err != nil {
			return err
		}
		var page console.List[json.RawMessage]
		if err := answer.Into(&page); err != nil {
			return err
		}
		for _, text := range page.Data {
			var t listed
			if err := json.Unmarshal(text, &t); err != nil {
				return fmt.Errorf("read the console's answer: %w", err)
			}
			if c.JSON {
				_, _ = fmt.Fprintf(p.stdout, "%s\n", text)
				continue
			}
			if t.Description == nil {
				t.Description = ""
			}
			_, _ = fmt.Fprintf(table, "%s\t%s\t%d\t%t\t%s\n", admin.Printable(t.ID), admin.Printable(t.Owner), len(t.Keys), t.Disabled,
				admin.Printable(fmt.Sprint(t.Description)))
		}
		if path = ""; page.Next != nil {
			path = "/teams?limit=1000&cursor=" + url.QueryEscape(*page.Next)
		}
	}
	return table.Flush()
}

// teamShowCommand is sluice team show.
type teamShowCommand struct {
	Team string `arg:"" help:"The team's id."`
}

// Run prints a team, with its ETag as the member etag.
func (c teamShowCommand) Run(ctx context.Context, p program, client *remote.Console) error {
	answer, err := client.Call(ctx, http.MethodGet, remote.TeamPath(c.Team), nil, "")
	if err != nil {
		return err
	}
	return writeTeam(p, answer)
}

func writeTeam(p program, answer remote.Answer) error {
	var members map[string]json.RawMessage
	if err := answer.Into(&members); err != nil {
		return err
	}
	etag, err := json.Marshal(answer.ETag)
	if err != nil {
		return err
	}
	members["etag"] = etag
	e := json.NewEncoder(p.stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(members)
}

// teamSetCommand is sluice team set.
type teamSetCommand struct {
	File   string `arg:"" help:"A file with one team as JSON, as sluice team show writes it; - for standard input."`
	Force  bool   `help:"Also if the file has no etag: replace the team whatever it is by now."`
	Reason string `placeholder:"…" help:"Why, in up to 200 characters; kept in the audit."`
}

// Run creates the team, or replaces it if it exists.
func (c teamSetCommand) Run(ctx context.Context, p program, client *remote.Console) error {
	id, etag, body, err := c.read()
	if err != nil {
		return err
	}
	if etag == "" {
		_, err := client.Call(ctx, http.MethodGet, remote.TeamPath(id), nil, "")
		switch {
		case remote.IsMissing(err):
			answer, err := client.Call(ctx, http.MethodPost, remote.Reasoned("/teams", c.Reason), body, "")
			return c.done(p, "made", id, answer, err)
		case err != nil:
			return err
		case !c.Force:
			return fmt.Errorf("team %s exists, and the file has no etag; change what sluice team show %s writes, or use --force", id, id)
		}
		etag = "*"
	}
	answer, err := client.Call(ctx, http.MethodPut, remote.Reasoned(remote.TeamPath(id), c.Reason), body, etag)
	return c.done(p, "changed", id, answer, err)
}

func (c teamSetCommand) done(p program, what, id string, answer remote.Answer, err error) error {
	if err == nil {
		_, err = fmt.Fprintf(p.stdout, "%s: team %s, etag %s\n", what, id, admin.Printable(answer.ETag))
	}
	return err
}

// read reads the file and removes its etag.
func (c teamSetCommand) read() (id, etag string, body []byte, err error) {
	text, err := contentIn(c.File)
	if err != nil {
		return "", "", nil, fmt.Errorf("read the file: %w", err)
	}
	var members map[string]json.RawMessage
	if !jsontext.Value(text).IsValid() || json.Unmarshal(text, &members) != nil {
		return "", "", nil, errors.New("the file is not one JSON object, each member once")
	}
	if json.Unmarshal(members["id"], &id) != nil || id == "" {
		return "", "", nil, errors.New("the file has no id")
	}
	given, ok := members["etag"]
	if !ok {
		return id, "", text, nil
	}
	if json.Unmarshal(given, &etag) != nil {
		return "", "", nil, errors.New("etag is not a text")
	}
	delete(members, "etag")
	body, err = json.Marshal(members)
	return id, etag, body, err
}

// teamRmCommand is sluice team rm.
type teamRmCommand struct {
	Team   string        `arg:"" help:"The team's id."`
	Reason string        `placeholder:"…" help:"Why, in up to 200 characters; kept in the audit."`
	Wait   time.Duration `default:"10s" help:"How long to wait for the removal, which happens in any case."`
}

// Run orders the removal of the team, and waits for it.
func (c teamRmCommand) Run(ctx context.Context, p program, client *remote.Console) error {
	if _, err := client.Call(ctx, http.MethodDelete, remote.Reasoned(remote.TeamPath(c.Team), c.Reason), nil, ""); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(p.stdout, "disabled: team %s\n", admin.Printable(c.Team))
	for waited := time.Duration(0); waited < c.Wait; waited += time.Second {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
		_, err := client.Call(ctx, http.MethodGet, remote.TeamPath(c.Team), nil, "")
		switch {
		case remote.IsMissing(err):
			_, err = fmt.Fprintf(p.stdout, "removed: team %s\n", admin.Printable(c.Team))
			return err
		case err != nil:
			return err
		}
	}
	const later = "is removed by itself once none of its requests and tasks is open, and every replica has seen that it ends"
	_, err := fmt.Fprintf(p.stdout, "team %s %s\n", admin.Printable(c.Team), later)
	return err
}
