package questions

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"text/tabwriter"
	"time"

	"sluice/gateway/admin"
	"sluice/gateway/console"
	"sluice/gateway/console/remote"
)

// Refusals is sluice refusals.
type Refusals struct {
	By   string        `default:"reason" enum:"reason,limit,rule,model" placeholder:"reason|limit|rule|model" help:"What the refusals are counted by."`
	Team string        `placeholder:"T" help:"Only this team's."`
	Last time.Duration `default:"1h" placeholder:"1h" help:"How far back; 48h at most."`
}

// Run prints how often requests were refused, most frequent first.
func (c Refusals) Run(ctx context.Context, out io.Writer, client *remote.Console) error {
	query := url.Values{"by": {c.By}, "from": {time.Now().Add(-c.Last).UTC().Format(time.RFC3339)}}
	if c.Team != "" {
		query.Set("team", c.Team)
	}
	answer, err := client.Call(ctx, http.MethodGet, "/refusals?"+query.Encode(), nil, "")
	if err != nil {
		return err
	}
	var got console.RefusalList
	if err := answer.Into(&got); err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(table, "COUNT\tLAST\t%s\n", map[string]string{
		"reason": "REASON", "limit": "LIMIT", "rule": "RULE",
		"model": "MODEL",
	}[c.By])
	for _, g := range got.Data {
		_, _ = fmt.Fprintf(table, "%d\t%s\t%s\n", g.Count, g.Last.UTC().Format(time.RFC3339), admin.Printable(g.Of))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if int64(got.Kept) < got.All {
		_, err = fmt.Fprintf(out, "# %d of %d refused requests are kept; the others are only counted by minute\n", got.Kept, got.All)
	}
	return err
}
