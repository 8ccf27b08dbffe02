// Package questions has the commands that query a console: why, refusals, search, latency, faults and limits.
//
// They are views of the console's API, as its pages are. Unprintable characters in the console's texts are escaped.
package questions

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"sluice/gateway/admin"
	"sluice/gateway/console"
	"sluice/gateway/console/remote"
)

// Why is sluice why.
type Why struct {
	Request string `arg:"" help:"The request's id: Sluice-Request-Id, or request_id in the error that the client got."`
}

// line has the members of a request's log line that the answer shows.
type line struct {
	ID, Team, Key, Model, Task, Refusal string
	Time                                time.Time
	Status                              int
	Rules                               []string
	Limit                               *struct {
		Name, Scope, Of, Unit          string
		Used, Held, Left, Limit, Asked json.Number
	}
}

// Run prints why a request ended as it did.
func (c Why) Run(ctx context.Context, out io.Writer, client *remote.Console) error {
	answer, err := client.Call(ctx, http.MethodGet, "/requests/"+url.PathEscape(c.Request), nil, "")
	if err != nil {
		return err
	}
	var got console.Explained
	if err := answer.Into(&got); err != nil {
		return err
	}
	var l line
	if err := json.Unmarshal(got.Request, &l); err != nil {
		return fmt.Errorf("read the console's answer: %w", err)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name, text string) {
		if text != "" {
			_, _ = fmt.Fprintf(table, "%s\t%s\n", name, admin.Printable(text))
		}
	}
	row("why", got.Sentence)
	row("do", got.Advice)
	row("blame", string(got.Blame))
	row("limit", l.limit())
	row("rules", strings.Join(l.Rules, ", "))
	row("status", strings.TrimSpace(fmt.Sprint(l.Status, " ", l.Refusal)))
	row("when", l.Time.UTC().Format(time.RFC3339))
	for _, m := range [...][2]string{{"team", l.Team}, {"key", l.Key}, {"model", l.Model}, {"task", l.Task}, {"request", l.ID}} {
		row(m[0], m[1])
	}
	return table.Flush()
}

// limit describes the limit that refused, as it stood then; empty: none.
func (l *line) limit() string {
	if l.Limit == nil {
		return ""
	}
	b := l.Limit
	text := fmt.Sprintf("%s of the %s: ", b.Name, strings.TrimSpace(b.Scope+" "+b.Of))
	if b.Used != "0" || b.Held != "0" {
		text += fmt.Sprintf("%s used, %s held, ", b.Used, b.Held)
	}
	text += fmt.Sprintf("%s left of %s", b.Left, b.Limit)
	if b.Asked != "0" {
		text += "; the request asked for " + b.Asked.String()
	}
	return text
}
