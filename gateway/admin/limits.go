package admin

import (
	"context"
	"encoding/json"
	"time"

	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// UsageRaise is a raise of a team's quota for a while.
type UsageRaise struct {
	Team   string       `json:"team"`
	Unit   unit.Name    `json:"unit"`
	Period teams.Period `json:"period"`
	Base   json.Number  `json:"base"` // the quota without its raises; spend is in the currency
	limit.Raised
}

// UsageKey is a key's standing at one of its own limits.
type UsageKey struct {
	Team string `json:"team"`
	Key  string `json:"key"`
	limit.StandingEntry
}

// Inside returns the standings of the parts of a team at a moment: with [limit.ScopeKey] those of its keys that have limits of their own.
type Inside func(ctx context.Context, team *teams.Team, k limit.ScopeKind, at time.Time) ([]limit.Standing, error)

// AddLimits adds what a report has beside the ledger, for one team or all: the raises, and the standings of keys at their own limits.
func (u *UsageReport) AddLimits(ctx context.Context, file *teams.File, team string, inside Inside) error {
	u.Raises = usageRaises(file, team)
	now := time.Now()
	for _, t := range file.List {
		if team != "" && t.ID != team || t.CountedKeys() == nil {
			continue
		}
		list, err := inside(ctx, t, limit.ScopeKey, now)
		if err != nil {
			return err
		}
		for i := range list {
			u.Keys = append(u.Keys, UsageKey{t.ID, list[i].Of, list[i].Entry(t.Money, now)})
		}
	}
	return nil
}

// usageRaises lists the raises in force of one team, or of all, by team, unit and period, the first to end first.
func usageRaises(file *teams.File, team string) (list []UsageRaise) {
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
