package pages

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"sluice/gateway/console/access"
	"sluice/gateway/console/chart"
	"sluice/gateway/console/figures"
	"sluice/gateway/console/teamform"
	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// keyView is a key with its limits and its month.
type keyView struct {
	figures.KeyFigures
	ID        string // the key's, or "jwt:" and the subject of a token, or other
	TeamID    string
	Key       *teams.Key // nil: the team has no such key, only use under the id
	LastUsed  time.Time
	Owner     teams.Owner
	Version   string     // of the team
	Changes   bool       // the person may change the key
	Coming    bool       // the team is not in force yet at this replica
	TeamOff   bool       // the team is disabled, and the key with it
	Limits    []limitRow // its own, then those of its team
	Form      teamform.Form
	Used      []figures.Row // the days with use, newest first
	Total     figures.Use
	Requests  chart.Figure
	Spend     chart.Figure
	MoneyURL  string
	At, Soon  time.Time
	MonthName string
	Error     *fault
}

// IsToken reports whether the use is of a token's subject.
func (v keyView) IsToken() bool { return isToken(v.ID) }

func isToken(id string) bool { return strings.HasPrefix(id, "jwt:") }

// show shows a key.
func (s keyPages) show(r *http.Request, p access.Person) (view, error) { return s.keyPage(r, p, nil) }

// keyPage returns a key's page, with the error of one of its forms.
func (s keyPages) keyPage(r *http.Request, p access.Person, about *fault) (view, error) {
	team, id := r.PathValue("team"), r.PathValue("key")
	t, err := s.Teams.Show(r.Context(), p, team)
	if err != nil {
		return view{}, err
	}
	v := keyView{
		ID: id, TeamID: team, Owner: t.Owner, Version: t.ETag(), At: s.Deps.Now(), LastUsed: t.Used[id], Error: about,
		TeamOff: isOff(&t),
	}
	v.Key = keyOf(&t, id)
	v.KeyFigures, err = s.Figures.Key(r.Context(), p, team, id)
	if v.Coming = errors.Is(err, figures.ErrAbsent); err != nil && !v.Coming {
		return view{}, err
	}
	v.addUse(s.Currency())
	if v.Key == nil && len(v.Used) == 0 {
		return view{}, errAbsent
	}
	v.Soon, v.MonthName = v.At.AddDate(0, 0, 14), v.At.UTC().Format("January")
	v.addLimits(s.Currency().Word)
	if v.Changes = v.Key != nil && t.Owner == teams.OwnerDirectory && p.MakesKeys(team, t.Flag("self_service")); v.Changes {
		v.Form = teamform.Key()
		v.Form.Fill(v.Key.Members)
	}
	out := view{page: "key", title: "Key " + id, data: v, back: &crumb{team, "/teams/" + url.PathEscape(team)}}
	out.undone = undoneOfKey(&t, id, v.At)
	if about != nil {
		out.status = about.Status()
	}
	return out, nil
}

// addLimits adds the key's limits and its team's, which also apply.
func (v *keyView) addLimits(currency string) {
	for i := range v.Own {
		v.Limits = append(v.Limits, newLimitRow(v.Own[i], v.At, currency))
	}
	for i := range v.Report.Limits {
		row := newLimitRow(v.Report.Limits[i], v.Report.At, currency)
		row.raisable(v.Team, false)
		v.Limits = append(v.Limits, row)
	}
}

// addUse adds up the month, and lists its days.
func (v *keyView) addUse(in unit.Currency) {
	for i := range v.Days {
		if v.Total = v.Total.Plus(v.Days[i].Use); v.Days[i].Use != (figures.Use{}) {
			v.Used = append(v.Used, v.Days[i])
		}
	}
	slices.Reverse(v.Used)
	v.Spend, v.Requests = (&daily{days: v.Days, of: limit.Spend, in: in, today: dayToday(v.At)}).figure(),
		(&daily{days: v.Days, of: limit.Requests, today: dayToday(v.At)}).figure()
	v.MoneyURL = "/money?" + url.Values{"team": {v.TeamID}, "by": {"key"}}.Encode()
}

// undoneOfKey returns the texts about a change of a key that its state does not fit.
func undoneOfKey(t *teams.Spec, id string, now time.Time) []string {
	switch k := keyOf(t, id); {
	case k != nil && k.Disabled:
		return []string{"onkey"}
	case k == nil || stopped(t, k, now) != "":
		return []string{"onkey", "offkey"}
	}
	return []string{"offkey"}
}

// after shows the page with the form of a key again: the key's or its team's.
func (s keyPages) after(r *http.Request, p access.Person, form, what string, err error) (view, error) {
	team, key := r.PathValue("team"), r.PathValue("key")
	of := r.PostFormValue("from") == "key"
	switch {
	case err == nil && of:
		return view{to: keyURL(team, key) + "?done=" + what}, nil
	case err == nil:
		return view{to: address("/teams/"+url.PathEscape(team), map[string]string{"done": what, "key": key})}, nil
	case !of:
		return s.teamPages.after(r, p, form, what, err)
	}
	about := own(err)
	if about == nil {
		return view{}, err
	}
	about.form = form
	return s.keyPage(r, p, about)
}
