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

// Latency is sluice latency.
type Latency struct {
	By   string        `default:"model" enum:"model,endpoint" placeholder:"model|endpoint" help:"What durations are listed by."`
	Last time.Duration `default:"1h" placeholder:"1h" help:"How far back; 48h at most."`
	Step time.Duration `placeholder:"5m" help:"A line for each step of this length, a multiple of 5m."`
}

// Run writes percentiles of how long the service, Sluice itself and tasks took.
func (c Latency) Run(ctx context.Context, out io.Writer, client *remote.Console) error {
	query := url.Values{"by": {c.By}, "from": {time.Now().Add(-c.Last).UTC().Format(time.RFC3339)}}
	if c.Step > 0 {
		query.Set("step", c.Step.String())
	}
	answer, err := client.Call(ctx, http.MethodGet, "/latency?"+query.Encode(), nil, "")
	if err != nil {
		return err
	}
	var rows []console.Latency
	if err := answer.Into(&rows); err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(table, "OF\tWHAT\tFROM\tCOUNT\tP50 MS\tP95 MS\tP99 MS\t")
	for i := range rows {
		r := &rows[i]
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\t%s\t%s\t\n", admin.Printable(r.Model+r.Endpoint), admin.Printable(string(r.What)),
			r.Start.UTC().Format(time.RFC3339), r.Count,
			shown(r.P50), shown(r.P95), shown(r.P99))
	}
	return table.Flush()
}

// shown formats milliseconds. They are accurate to 5 %, so more digits would not help.
func shown(ms float64) string {
	if ms < 10 {
		return fmt.Sprintf("%.2f", ms)
	}
	return fmt.Sprintf("%.0f", ms)
}
