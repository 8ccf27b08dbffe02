package api

import (
	"net/http"
	"time"

	"sluice/gateway/console/registry"
)

// KeyOrder is the body that makes a key. Every member may be left out.
type KeyOrder struct {
	Expires  *time.Time `json:"expires"`
	Note     string     `json:"note"`
	Replaces string     `json:"replaces"`
	OldEnds  *time.Time `json:"old_ends"`
}

func (a *api) keys(c *call) error {
	keys, err := a.Registry.Keys(c.r.Context(), c.who, c.parts["id"])
	if err != nil {
		return err
	}
	return c.write(http.StatusOK, list(keys, ""))
}

func (a *api) mintKey(c *call) error {
	id := c.parts["id"]
	if _, err := a.Registry.Show(c.r.Context(), c.who, id); err != nil { // as in replaceTeam
		return err
	}
	var o KeyOrder
	if err := c.into(&o); err != nil {
		return err
	}
	if o.OldEnds != nil && o.Replaces == "" {
		return &registry.Error{Field: "old_ends", Text: "no key is replaced", Allowed: "together with replaces"}
	}
	for field, at := range map[string]*time.Time{"expires": o.Expires, "old_ends": o.OldEnds} {
		if at != nil && at.IsZero() { // which would be read as if it was not given
			return &registry.Error{Field: field, Text: "a moment in the past", Allowed: "one after now, or no such member"}
		}
	}
	order := registry.KeyOrder{Note: o.Note, Replaces: o.Replaces}
	if o.Expires != nil {
		order.Expires = *o.Expires
	}
	if o.OldEnds != nil {
		order.Ends = *o.OldEnds
	}
	made, err := a.Registry.Mint(c.r.Context(), c.actor(), id, order)
	if err != nil {
		return err
	}
	return c.write(http.StatusCreated, made)
}

func (a *api) endKey(c *call) error {
	if err := a.Registry.EndKey(c.r.Context(), c.actor(), c.parts["id"], c.parts["key"]); err != nil {
		return err
	}
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}
