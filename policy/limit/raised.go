package limit

import (
	"encoding/json"
	"time"

	"sluice/policy/teams"
)

// Raised is a temporary raise of a quota, as reports write it.
type Raised struct {
	Amount json.Number `json:"amount"` // spend is in the currency
	Until  time.Time   `json:"until"`  // in UTC
	Reason string      `json:"reason"`
}

// Raises are a quota's raises in force, the first to end first, and the quota's limit without them; both absent: none is in force.
type Raises struct {
	Base   json.Number `json:"base,omitempty"` // spend is in the currency
	Raises []Raised    `json:"raises,omitempty"`
}

// RaisesOf returns the raises of a team's quota.
func RaisesOf(team *teams.Team, unit teams.Unit, period teams.Period) (r Raises) {
	list, base := team.RaisesOf(unit, period)
	for i := range list {
		r.Base = json.Number(team.Money.Written(unit, base))
		r.Raises = append(r.Raises, Raised{json.Number(list[i].Money.Written(unit, list[i].Amount)), list[i].Until.UTC(), list[i].Reason})
	}
	return r
}
