package api

import (
	"encoding/json"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/gateway/console/registry"
	"sluice/policy/limit"
	"sluice/policy/teams"
)

// AdjustOrder is the body of a correction.
type AdjustOrder struct {
	Unit   teams.Unit     `json:"unit"`
	Delta  jsontext.Value `json:"delta"` // a number: what to add; spend is in the currency
	Reason string         `json:"reason"`
}

// Adjusted is what a team used before a correction and after it.
type Adjusted struct {
	Unit        teams.Unit  `json:"unit"`
	DayBefore   json.Number `json:"day_before"`
	Day         json.Number `json:"day"`
	MonthBefore json.Number `json:"month_before"`
	Month       json.Number `json:"month"`
}

func (a *api) adjust(c *call) error {
	id := c.parts["id"]
	if _, err := a.Registry.Show(c.r.Context(), c.who, id); err != nil { // as in replaceTeam
		return err
	}
	var o AdjustOrder
	if err := c.into(&o); err != nil {
		return err
	}
	if o.Delta != nil && o.Delta.Kind() != '0' {
		return errBody
	}
	actor := c.actor()
	actor.Reason = o.Reason
	done, err := a.Registry.Adjust(c.r.Context(), actor, id, registry.Correction{Unit: o.Unit, Delta: o.Delta.String()})
	if err != nil {
		return err
	}
	number := func(n int64) json.Number { return json.Number(limit.Written(o.Unit, n)) }
	return c.write(http.StatusOK, Adjusted{o.Unit, number(done.DayBefore), number(done.Day), number(done.MonthBefore), number(done.Month)})
}

func (a *api) cancel(c *call) error {
	if err := a.Registry.Cancel(c.r.Context(), c.actor(), c.parts["id"], c.parts["task"]); err != nil {
		return err
	}
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}
