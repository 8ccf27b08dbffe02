package questions

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"text/tabwriter"

	"sluice/gateway/admin"
	"sluice/gateway/console/remote"
)

// Search is sluice search.
type Search struct {
	Text string `arg:"" help:"An id of a request, its answer, trace, task or key; or a part of the name of a team, model or page."`
}

// Run writes what is found.
func (c Search) Run(ctx context.Context, out io.Writer, client *remote.Console) error {
	answer, err := client.Call(ctx, http.MethodGet, "/search?"+url.Values{"q": {c.Text}}.Encode(), nil, "")
	if err != nil {
		return err
	}
	var found []struct{ Kind, ID, Title, Path string }
	if err := answer.Into(&found); err != nil {
		return err
	}
	if len(found) == 0 {
		return fmt.Errorf("%q is not among the newest 10,000 requests, and no task of the last day, key, team, model or page has it", c.Text)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "KIND\tID\tABOUT\tPAGE")
	for _, f := range found {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", admin.Printable(f.Kind), admin.Printable(f.ID), admin.Printable(f.Title),
			admin.Printable(client.Base+f.Path))
	}
	return table.Flush()
}
