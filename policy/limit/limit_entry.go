package limit

import (
	"encoding/json"
	"time"

	"sluice/policy/teams"
)

// LimitEntry is how an account stands to one limit, as reports write it. Amounts are units, spend is in the currency.
type LimitEntry struct {
	Unit   teams.Unit  `json:"unit"`
	Period string      `json:"period"` // a rate's per as the teams file writes it, or day or month
	Limit  json.Number `json:"limit"`
	Used   json.Number `json:"used"`
	Held   json.Number `json:"held"`
	Left   json.Number `json:"left"`
	Reset  string      `json:"reset"` // RFC 3339 in UTC: when a bucket is full, or the period ends
	Raises
}

// Entry writes the standing of a moment, without raises.
func (s *Standing) Entry(at time.Time) LimitEntry {
	number := func(n int64) json.Number { return json.Number(Written(s.Unit, n)) }
	return LimitEntry{
		Unit: s.Unit, Period: s.Per, Limit: number(s.Limit), Used: number(s.Used), Held: number(s.Held), Left: number(s.Left),
		Reset: at.Add(s.Reset).UTC().Format(time.RFC3339),
	}
}
