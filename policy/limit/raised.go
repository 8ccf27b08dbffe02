package limit

import (
	"encoding/json"
	"time"

	"sluice/policy/teams"
)

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
func RaisesOf(team *teams.Team, unit teams.Unit, period teams.Period) (r Raises) {
	list, base := team.RaisesOf(unit, period)
	for i := range list {
		r.Base = json.Number(team.Money.Written(unit, base))
		r.Raises = append(r.Raises, Raised{json.Number(list[i].Money.Written(unit, list[i].Amount)), list[i].Until.UTC(), list[i].Reason})
	}
	return r
}
