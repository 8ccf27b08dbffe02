package gateway

import (
	"errors"
	"net/http"
	"time"

	"sluice/gateway/refusal"
	"sluice/gateway/usage"
)

// usageOf answers with the team's limits and tasks, and with its ledger if the query names days.
func usageOf(reports *usage.Reports) handler {
	return func(w *reply, r *http.Request, s *requestState) error {
		text, done, err := reports.Report(r.Context(), &usage.Asker{ID: s.ID, Team: s.team, Holder: s.holder, Query: r.URL.RawQuery})
		defer done()
		wrong, isQuery := errors.AsType[*usage.ErrQuery](err)
		switch {
		case err == nil:
			return answer{status: http.StatusOK, header: jsonHeader(), body: text}.write(w)
		case isQuery:
			return refusal.New(refusal.Rules).Say("%s", wrong.Text)
		}
		of := "usage"
		if errors.Is(err, usage.ErrLedger) {
			of = "ledger"
		}
		return refusal.New(refusal.State).Say("The %s of team %s cannot be read at the moment; send the request again.", of, s.Team).Because(err).Retry(time.Second)
	}
}
