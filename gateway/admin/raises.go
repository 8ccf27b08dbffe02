package admin

import (
	"encoding/json"

	"sluice/policy/limit"
	"sluice/policy/teams"
)

// UsageRaise is what a team's quota has more for a while.
type UsageRaise struct {
	Team   string       `json:"team"`
	Unit   teams.Unit   `json:"unit"`
	Period teams.Period `json:"period"`
	Base   json.Number  `json:"base"` // the quota without its raises; spend is in the currency
	limit.Raised
}

// UsageRaises lists the raises in force of one team, or of all, by team, unit and period, the one that ends first in front.
func UsageRaises(file *teams.File, team string) (list []UsageRaise) {
	for _, t := range file.List {
		if team != "" && t.ID != team {
			continue
		}
		for _, q := range t.Quotas {
			of := limit.RaisesOf(t, q.Unit, q.Period)
			for _, r := range of.Raises {
				list = append(list, UsageRaise{t.ID, q.Unit, q.Period, of.Base, r})
			}
		}
	}
	return list
}
