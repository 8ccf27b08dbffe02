package questions

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"text/tabwriter"

	"sluice/gateway/admin"
	"sluice/gateway/console"
	"sluice/gateway/console/remote"
)

// Limits is sluice limits.
type Limits struct {
	Percent int `default:"80" placeholder:"80" help:"Only limits that are used or held to at least this percentage."`
}

// Run prints each team's limit with the largest used or held share, largest first.
func (c Limits) Run(ctx context.Context, out io.Writer, client *remote.Console) error {
	answer, err := client.Call(ctx, http.MethodGet, fmt.Sprintf("/limits?percent=%d", c.Percent), nil, "")
	if err != nil {
		return err
	}
	var list []console.NearLimit
	if err := answer.Into(&list); err != nil {
		return err
	}
	if len(list) == 0 {
		_, err = fmt.Fprintf(out, "no limit is used or held to %d %% or more\n", c.Percent)
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "PERCENT\tTEAM\tLIMIT\tOF\tUSED\tHELD\tMOST")
	for i := range list {
		l := &list[i]
		_, _ = fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\t%s\t%s\n", l.Percent, admin.Printable(cmp.Or(l.Team, "(all)")), admin.Printable(l.Limit),
			admin.Printable(cmp.Or(l.Of, "-")), l.Used, l.Held, l.Most)
	}
	return table.Flush()
}
