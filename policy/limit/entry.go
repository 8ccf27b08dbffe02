package limit

import (
	"encoding/json"
	"fmt"
	"time"

	"sluice/policy"
	"sluice/policy/teams"
)

// DayForm is how reports write a day: 2026-11-21, in UTC.
const DayForm = time.DateOnly

// Days lists the days from one to another, both included, as the ledger numbers them. It reports false if either is not a day, if
// the second is before the first, or if they are more than [LedgerDays].
func Days(from, to string) (days []int, ok bool) {
	first, errFirst := time.Parse(DayForm, from)
	last, errLast := time.Parse(DayForm, to)
	if errFirst != nil || errLast != nil || last.Before(first) || last.Sub(first) >= LedgerDays*24*time.Hour {
		return nil, false
	}
	for day := first; !day.After(last); day = day.AddDate(0, 0, 1) {
		days = append(days, day.Year()*10000+int(day.Month())*100+day.Day())
	}
	return days, true
}

// Entry is one unit of a row of the ledger, as reports write it.
type Entry struct {
	Day       string          `json:"day"`
	Model     string          `json:"model,omitzero"`    // absent in the ledger of tags
	Endpoint  policy.Endpoint `json:"endpoint,omitzero"` // absent in the ledger of tags
	Tag       string          `json:"tag,omitzero"`      // in the ledger of tags alone
	Unit      teams.Unit      `json:"unit"`
	Used      json.Number     `json:"used"`      // units; spend in the currency
	Estimated json.Number     `json:"estimated"` // the estimated part of it
}

// Entries are the units of a row that are not 0.
func (r *Row) Entries() (entries []Entry) {
	day := fmt.Sprintf("%04d-%02d-%02d", r.Day/10000, r.Day/100%100, r.Day%100)
	for i, unit := range teams.Units {
		if r.Used[i] == 0 && r.Estimated[i] == 0 {
			continue
		}
		entries = append(entries, Entry{
			Day: day, Model: r.Model, Endpoint: r.Endpoint, Tag: r.Tag, Unit: unit,
			Used: json.Number(Written(unit, r.Used[i])), Estimated: json.Number(Written(unit, r.Estimated[i])),
		})
	}
	return entries
}
