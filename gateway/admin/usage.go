package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"sluice/policy"
	"sluice/policy/limit"
)

// UsageReport is what teams used, as /usage and sluice usage write it.
type UsageReport struct {
	Currency string     `json:"currency"` // the teams file's word for money; may be empty
	From     string     `json:"from"`     // the first day, 2026-11-21, in UTC
	To       string     `json:"to"`       // the last day
	Rows     []UsageRow `json:"rows"`     // by team, day, model, endpoint and unit; [] where nothing was used
}

// UsageRow is one unit of one entry of the ledger.
type UsageRow struct {
	Team      string          `json:"team"`
	Day       string          `json:"day"`
	Model     string          `json:"model"`
	Endpoint  policy.Endpoint `json:"endpoint"`
	Unit      policy.Unit     `json:"unit"`
	Used      json.Number     `json:"used"`      // units; spend in the currency
	Estimated json.Number     `json:"estimated"` // the part of it that nobody knows for certain
}

// dayForm is how days are written.
const dayForm = time.DateOnly

// maxDays is how many days one report may have: as many as the ledger keeps.
const maxDays = 400

// Days lists the days from one to another, both included, as the ledger numbers them. It reports false where that is no
// such span.
func Days(from, to string) (days []int, ok bool) {
	first, errFirst := time.Parse(dayForm, from)
	last, errLast := time.Parse(dayForm, to)
	if errFirst != nil || errLast != nil || last.Before(first) || last.Sub(first) >= maxDays*24*time.Hour {
		return nil, false
	}
	for day := first; !day.After(last); day = day.AddDate(0, 0, 1) {
		days = append(days, day.Year()*10000+int(day.Month())*100+day.Day())
	}
	return days, true
}

// NewUsageReport turns rows of the ledger into a report.
func NewUsageReport(currency, from, to string, rows []limit.Row) UsageReport {
	report := UsageReport{Currency: currency, From: from, To: to, Rows: []UsageRow{}}
	for _, row := range rows {
		day := fmt.Sprintf("%04d-%02d-%02d", row.Day/10000, row.Day/100%100, row.Day%100)
		for i, unit := range policy.Units {
			if row.Used[i] == 0 && row.Estimated[i] == 0 {
				continue
			}
			report.Rows = append(report.Rows, UsageRow{
				Team: row.Team, Day: day, Model: row.Model, Endpoint: row.Endpoint, Unit: unit,
				Used: json.Number(limit.Written(unit, row.Used[i])), Estimated: json.Number(limit.Written(unit, row.Estimated[i])),
			})
		}
	}
	return report
}

// Ledger returns what a team used, of all teams where it is empty, on each of the days.
type Ledger func(ctx context.Context, team string, days []int) ([]limit.Row, error)

// usage answers with the ledger of ?from= to ?to=, today where they are absent, of one ?team= or all.
func (d Deps) usage(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	today := time.Now().UTC().Format(dayForm)
	from, to := q.Get("from"), q.Get("to")
	if to == "" {
		to = today
	}
	if from == "" {
		from = to
	}
	days, ok := Days(from, to)
	if !ok {
		http.Error(w, "from and to: allowed: days such as "+today+", from not after to, at most "+strconv.Itoa(maxDays)+" days", http.StatusBadRequest)
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
