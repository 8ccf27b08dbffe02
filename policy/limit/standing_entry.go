package limit

import (
	"encoding/json"
	"time"

	"sluice/policy/teams"
	"sluice/policy/unit"
)

// StandingEntry is how an account stands to one limit, as reports write it. Amounts are units, spend is in the currency.
type StandingEntry struct {
	Unit   unit.Name   `json:"unit"`
	Period string      `json:"period"` // a rate's per as the teams file writes it, or day or month
	Limit  json.Number `json:"limit"`
	Used   json.Number `json:"used"`
	Held   json.Number `json:"held"`
	Left   json.Number `json:"left"`
	Reset  string      `json:"reset"` // RFC 3339 in UTC: when a bucket is full, or the period ends
	Raises
}

// Entry writes the standing of a moment, without raises.
func (s *Standing) Entry(m unit.Money, at time.Time) StandingEntry {
	number := func(n int64) json.Number { return json.Number(m.Written(s.Unit, n)) }
	return StandingEntry{
		Unit: s.Unit, Period: s.Per, Limit: number(s.Limit), Used: number(s.Used), Held: number(s.Held), Left: number(s.Left),
		Reset: at.Add(s.Reset).UTC().Format(time.RFC3339),
	}
}

// Raised is what a quota has more for a while, as reports write it.
type Raised struct {
	Amount json.Number `json:"amount"` // spend is in the currency
	Until  time.Time   `json:"until"`  // in UTC
	Reason string      `json:"reason"`
}

// Raises are those of a quota that are in force, the one that ends first in front, and its limit without them; both absent: it has none.
type Raises struct {
	Base   json.Number `json:"base,omitempty"` // spend is in the currency
	Raises []Raised    `json:"raises,omitempty"`
}

// RaisesOf returns the raises of a team's quota.
func RaisesOf(team *teams.Team, unit unit.Name, period teams.Period) (r Raises) {
	list, base := team.RaisesOf(unit, period)
	for i := range list {
		r.Base = json.Number(team.Money.Written(unit, base))
		r.Raises = append(r.Raises, Raised{json.Number(list[i].Money.Written(unit, list[i].Amount)), list[i].Until.UTC(), list[i].Reason})
	}
	return r
}
