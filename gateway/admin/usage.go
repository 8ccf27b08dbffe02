package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"sluice/policy/invoice"
	"sluice/policy/limit"
)

// UsageReport is the teams' usage, as /usage and sluice usage write it.
type UsageReport struct {
	Currency string     `json:"currency"` // of the teams file; may be empty
	From     string     `json:"from"`     // first day in UTC, such as 2026-11-21
	To       string     `json:"to"`       // last day
	Rows     []UsageRow `json:"rows"`     // by team, day, model and endpoint or tag or key, and unit; [] if nothing was used
	// Raises are what quotas have more at the moment; absent: nothing.
	Raises []UsageRaise `json:"raises,omitempty"`
}

// UsageRow is a team's usage in one unit.
type UsageRow struct {
	Team string `json:"team"`
	limit.Entry
}

// Columns name what the use is divided by, in a report by tag, by key, or else by model and endpoint. They do not change: users' programs
// read the CSV by these names.
func Columns(by string) []string {
	if by != "" {
		return []string{by}
	}
	return []string{"model", "endpoint"}
}

// Cells are those of a row for the columns.
func (r *UsageRow) Cells(by string, shown func(string) string) []string {
	if by != "" {
		return []string{shown(r.Tag + r.Key)}
	}
	return []string{shown(r.Model), shown(string(r.Endpoint))}
}

// NewUsageReport makes a report of rows of the ledger.
func NewUsageReport(currency, from, to string, rows []limit.Row) UsageReport {
	report := UsageReport{Currency: currency, From: from, To: to, Rows: []UsageRow{}}
	for i := range rows {
		for _, entry := range rows[i].Entries() {
			report.Rows = append(report.Rows, UsageRow{rows[i].Team, entry})
		}
	}
	return report
}

// Uses returns what the report says that teams used, one for each team, day, model and endpoint. A request that names no model has its
// endpoint in place of it, as in bills.
func (u *UsageReport) Uses() (all []invoice.Use, err error) {
	for rows := u.Rows; len(rows) > 0; {
		first, n := &rows[0], 0
		day, ok := limit.Days(first.Day, first.Day)
		use := invoice.Use{Team: first.Team, Model: cmp.Or(first.Model, string(first.Endpoint))}
		for ; ok && n < len(rows) && sameCharge(first, &rows[n]); n++ {
			unit := limit.UnitIndex(rows[n].Unit)
			if ok = unit >= 0; !ok {
				break
			}
			var whole, part bool
			use.Used[unit], whole = limit.ReadAmount(rows[n].Unit, rows[n].Used.String())
			use.Estimated[unit], part = limit.ReadAmount(rows[n].Unit, rows[n].Estimated.String())
			ok = whole && part
		}
		if !ok {
			return nil, fmt.Errorf("the usage of team %s on %s is not readable", first.Team, first.Day)
		}
		use.Day = day[0]
		all, rows = append(all, use), rows[n:]
	}
	return all, nil
}

// Ledger returns rows of the ledger.
type Ledger func(ctx context.Context, q limit.Query) ([]limit.Row, error)

// usage answers with the ledger from ?from= to ?to= (today if absent), of ?team= or of all teams; with ?by=tag, or ?tags, with that of
// tags, with ?by=key with that of keys.
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
	by, known := limit.LedgerBy(q.Get("by"))
	if !known {
		http.Error(w, "by: allowed: tag, key", http.StatusBadRequest)
		return
	}
	if q.Has("tags") {
		by = limit.ScopeTag
	}
	rows, err := d.Ledger(r.Context(), limit.QueryOf(q.Get("team"), days, by))
	if err != nil {
		http.Error(w, "usage is not available, please try again later", http.StatusServiceUnavailable)
		return
	}
	report := NewUsageReport(d.Currency(), from, to, rows)
	if d.Teams != nil {
		report.Raises = UsageRaises(d.Teams(), q.Get("team"))
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(report) // the client may have left
}
