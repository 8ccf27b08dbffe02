package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"sluice/policy/limit"
)

// UsageReport is what teams used, as /usage and sluice usage write it.
type UsageReport struct {
	Currency string     `json:"currency"` // the teams file's word for money; may be empty
	From     string     `json:"from"`     // the first day, 2026-11-21, in UTC
	To       string     `json:"to"`       // the last day
	Rows     []UsageRow `json:"rows"`     // by team, day, model, endpoint and unit; [] where nothing was used
}

// UsageRow is one unit of one row of the ledger.
type UsageRow struct {
	Team string `json:"team"`
	limit.Entry
}

// NewUsageReport turns rows of the ledger into a report.
func NewUsageReport(currency, from, to string, rows []limit.Row) UsageReport {
	report := UsageReport{Currency: currency, From: from, To: to, Rows: []UsageRow{}}
	for i := range rows {
		for _, entry := range rows[i].Entries() {
			report.Rows = append(report.Rows, UsageRow{rows[i].Team, entry})
		}
	}
	return report
}

// Ledger returns what a team used, of all teams where it is empty, on each of the days.
type Ledger func(ctx context.Context, team string, days []int) ([]limit.Row, error)

// usage answers with the ledger of ?from= to ?to=, today where they are absent, of one ?team= or all.
func (d Deps) usage(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	today := time.Now().UTC().Format(limit.DayForm)
	from, to := q.Get("from"), q.Get("to")
	if to == "" {
		to = today
	}
	if from == "" {
		from = to
	}
	days, ok := limit.Days(from, to)
	if !ok {
		http.Error(w, "from and to: allowed: days such as "+today+", from not after to, at most "+strconv.Itoa(limit.LedgerDays)+" days", http.StatusBadRequest)
		return
	}
	rows, err := d.Ledger(r.Context(), q.Get("team"), days)
	if err != nil {
		http.Error(w, "what was used is not known at the moment", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(NewUsageReport(d.Currency(), from, to, rows)) // who asked may be gone
}
