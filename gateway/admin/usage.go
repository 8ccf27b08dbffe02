package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"sluice/policy/limit"
	"sluice/policy/unit"
)

// UsageReport is the teams' usage, as /usage and sluice usage write it.
type UsageReport struct {
	unit.Currency            // of the teams file
	From          string     `json:"from"` // first day in UTC, such as 2026-11-21
	To            string     `json:"to"`   // last day
	Rows          []UsageRow `json:"rows"` // by team, day, model, endpoint and account or tag or key, kind, and unit; [] if nothing was used
	// Raises has the raises of quotas in force; absent: there are none.
	Raises []UsageRaise `json:"raises,omitempty"`
	// Keys has the standings of keys at limits of their own, those of one key together; absent: no key has such limits.
	Keys []UsageKey `json:"keys,omitempty"`
}

// UsageRow is a team's usage in one unit.
type UsageRow struct {
	Team string `json:"team"`
	limit.Entry
}

// NewUsageReport makes a report of rows of the ledger: by unit, or by kind.
func NewUsageReport(in unit.Currency, from, to string, rows []limit.Row, kinds bool) UsageReport {
	report := UsageReport{Currency: in, From: from, To: to, Rows: []UsageRow{}}
	for i := range rows {
		row := &rows[i]
		for _, entry := range row.Entries(in.Money, kinds) {
			report.Rows = append(report.Rows, UsageRow{row.Team, entry})
		}
	}
	return report
}

// Ledger returns rows of the ledger.
type Ledger func(ctx context.Context, q limit.Query) ([]limit.Row, error)

const usageAway = "usage is not available, please try again later"

// usage answers with the ledger from ?from= to ?to= (today if absent), of ?team= or of all teams. ?by=tag, or ?tags, divides it by tag,
// ?by=key by key, ?by=account by account at the service, and ?kinds by kind.
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
		http.Error(w, "from and to: allowed: days such as "+today+", from not after to, at most "+strconv.Itoa(limit.LedgerDays)+" days",
			http.StatusBadRequest)
		return
	}
	by, known := limit.LedgerBy(q.Get("by"))
	if !known {
		http.Error(w, "by: allowed: tag, key, account", http.StatusBadRequest)
		return
	}
	if q.Has("tags") {
		by = limit.ScopeTag
	}
	if q.Has("kinds") && !by.HasKinds() {
		http.Error(w, "kinds: allowed without by="+by.String()+": the ledger has kinds by day, model and endpoint only", http.StatusBadRequest)
		return
	}
	rows, err := d.Ledger(r.Context(), limit.QueryOf(q.Get("team"), days, by))
	if err != nil {
		http.Error(w, usageAway, http.StatusServiceUnavailable)
		return
	}
	report := NewUsageReport(d.Currency(), from, to, rows, q.Has("kinds"))
	if d.Teams != nil && report.AddLimits(r.Context(), d.Teams(), q.Get("team"), d.Inside) != nil {
		http.Error(w, usageAway, http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(report) // the client may have left
}
