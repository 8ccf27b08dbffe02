package console

import (
	"net/http"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/policy/teams"
)

// RaiseOrder is the body of a raise.
type RaiseOrder struct {
	Unit   teams.Unit     `json:"unit"`
	Period teams.Period   `json:"period"`
	Amount jsontext.Value `json:"amount"` // a number: what to add; spend is in the currency
	Until  *time.Time     `json:"until"`  // nil: the end of the period
	Reason string         `json:"reason"`
}

func (a *api) raises(c *call) error {
	all, err := a.Registry.Raises.List(c.r.Context(), c.who, c.parts["id"])
	if err != nil {
		return err
	}
	return c.write(http.StatusOK, list(all, ""))
}

func (a *api) raise(c *call) error {
	id := c.parts["id"]
	if _, err := a.Registry.Show(c.r.Context(), c.who, id); err != nil { // as in replaceTeam
		return err
	}
	var o RaiseOrder
	if err := c.into(&o); err != nil {
		return err
	}
	if o.Amount != nil && o.Amount.Kind() != '0' {
		return errBody
	}
	order := teams.RaiseOrder{Unit: o.Unit, Period: o.Period, Amount: o.Amount.String(), Until: o.Until}
	made, err := a.Registry.Raises.Add(c.r.Context(), c.who.By(c.r.RemoteAddr, o.Reason), id, order)
	if err != nil {
		return err
	}
	return c.write(http.StatusCreated, made)
}

func (a *api) endRaise(c *call) error {
	return c.done(a.Registry.Raises.End(c.r.Context(), c.actor(), c.parts["id"], c.parts["raise"]))
}
