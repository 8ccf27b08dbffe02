package console

import (
	"encoding/json"
	"net/http"
	"strconv"

	"sluice/policy/teams"
)

// NearLimit is the limit of a team that is nearest.
type NearLimit struct {
	Team    string      `json:"team"`         // empty: all teams together
	Limit   string      `json:"limit"`        // as in the headers of a refusal: images-day, requests; concurrent, open_tasks
	Of      string      `json:"of,omitempty"` // the tag's value, or the key, whose limit it is
	Percent int         `json:"percent"`
	Used    json.Number `json:"used"`
	Held    json.Number `json:"held"`
	Most    json.Number `json:"most"` // of a rate its burst
}

// limits lists the nearest limit of each team, the nearest first.
func limits(a *api, c *call) error {
	least := 0
	if text := c.query.Get("percent"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return invalid("percent", "not a number", "a whole number from 0")
		}
		least = n
	}
	found, err := a.Traffic.NearList(c.r.Context(), c.who, least)
	if err != nil {
		return unread(err)
	}
	list, m := make([]NearLimit, len(found)), a.Currency().Money
	for i := range found {
		n := found[i].Nearest
		number := func(amount int64) json.Number {
			if n.Unit == teams.UnitSpend {
				return json.Number(m.Written(n.Unit, amount))
			}
			return json.Number(strconv.FormatInt(amount, 10))
		}
		list[i] = NearLimit{found[i].ID, n.Name, n.Of, n.Percent, number(n.Used), number(n.Held), number(n.Most())}
	}
	return c.write(http.StatusOK, list)
}
