package questions

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"sluice/gateway/admin"
	"sluice/gateway/console/remote"
)

// Faults is sluice faults.
type Faults struct{}

// Run prints what is wrong, a line each.
func (Faults) Run(ctx context.Context, out io.Writer, client *remote.Console) error {
	answer, err := client.Call(ctx, http.MethodGet, "/faults", nil, "")
	if err != nil {
		return err
	}
	var list []struct {
		Kind, Subject, Text string
		Since               *time.Time
	}
	if err := answer.Into(&list); err != nil {
		return err
	}
	if len(list) == 0 {
		_, err = fmt.Fprintln(out, "nothing is wrong, as far as the traffic shows")
	}
	for _, f := range list {
		since := ""
		if f.Since != nil {
			since = ", since " + f.Since.UTC().Format(time.RFC3339)
		}
		if _, err = fmt.Fprintf(out, "%s: %s%s\n", admin.Printable(strings.TrimSpace(f.Kind+" "+f.Subject)), admin.Printable(f.Text),
			since); err != nil {
			return err
		}
	}
	return err
}
