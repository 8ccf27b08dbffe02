package pages

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"time"

	"sluice/gateway/console/access"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// formUntil is the layout of a browser's time field, which has no zone.
const formUntil = "2006-01-02T15:04"

// raise raises a quota of a team for a while.
func (s teamPages) raise(r *http.Request, p access.Person) (view, error) {
	if !p.Changes() {
		return view{}, errForbidden
	}
	order := teams.RaiseOrder{
		Unit: unit.Name(r.PostFormValue("unit")), Period: teams.Period(r.PostFormValue("period")),
		Amount: r.PostFormValue("amount"), Once: r.PostFormValue("once"),
	}
	form := "raise-" + string(order.Unit) + "-" + string(order.Period)
	// A form that is sent after its period must not raise the next one.
	if text := cmp.Or(r.PostFormValue("until"), r.PostFormValue("ends")); text != "" {
		until, err := time.Parse(formUntil, text)
		if err != nil {
			return s.after(r, p, form, "", invalid("until", "give a moment such as "+s.Deps.Now().UTC().Format(formUntil)+", or leave it empty"))
		}
		order.Until = &until
	}
	team := r.PathValue("team")
	made, err := s.Raises.Add(r.Context(), actor(r, p), team, order)
	if err == nil {
		return view{to: address("/teams/"+url.PathEscape(team), map[string]string{"done": "raised", "raise": made.ID})}, nil
	}
	return s.after(r, p, form, "", err)
}

// hasEnded reports whether the raise that the address of a team's page tells of is known to have ended.
func (s teamPages) hasEnded(r *http.Request, p access.Person) bool {
	id := r.URL.Query().Get("raise")
	list, err := s.Raises.List(r.Context(), p, r.PathValue("team"))
	return err == nil && !slices.ContainsFunc(list, func(made teams.Raise) bool { return made.ID == id || id == "" })
}

// endRaise ends a raise before its time.
func (s teamPages) endRaise(r *http.Request, p access.Person) (view, error) {
	if !p.Changes() {
		return view{}, errForbidden
	}
	return s.after(r, p, "raises", "lowered", s.Raises.End(r.Context(), actor(r, p), r.PathValue("team"), r.PathValue("raise")))
}
