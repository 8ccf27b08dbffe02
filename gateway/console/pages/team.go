package pages

import (
	"cmp"
	"context"
	"crypto/rand"
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

type teamView struct {
	teams.Spec
	figures.TeamFigures
	Coming                       bool     // not yet in force at this replica
	Shadow                       bool     // it, and what the team may use, have the file's defaults if the team is in force
	Models, Endpoints            []string // none: all models, and all endpoints but other
	Editable, MakesKeys, Adjusts bool
	Limits                       []limitRow
	Tags                         []limitRow    // of the tag's values, fullest first
	MoreTags                     int64         // hidden values
	KeyRows                      []limitRow    // of the keys with limits of their own, fullest first
	KeyForm                      teamform.Form // the own limits of a new key
	MoreKeys                     int64         // hidden rows of the month by key
	KeysURL                      string        // of the month by key
	Spend, Requests              chart.Figure
	Total                        figures.Use // of the days
	MoneyURL                     string
	At                           time.Time
	Midnight                     string     // for links to today's requests
	Soon                         time.Time  // keys that end before this are marked
	Error                        *fault     // of a form on this page
	Form                         url.Values // the typed values of that form
	Units                        [len(unit.Names)]unit.Name
	Once                         string // of what its forms order: sent twice, it counts once
}

// team shows one team.
func (s teamPages) team(r *http.Request, p access.Person) (out view, err error) {
	const raised = "raised"
	var ended bool
	var reading figures.Group
	reading.Go(func() (err error) { out, err = s.teamPage(r, p, nil); return err })
	if r.URL.Query().Get("done") == raised {
		reading.Go(func() error { ended = s.hasEnded(r, p); return nil })
	}
	if err = reading.Wait(); ended {
		out.undone = append(out.undone, raised)
	}
	return out, err
}

// readTeam reads a team and its figures concurrently. coming means that it is not in force yet.
func readTeam(ctx context.Context, deps *Deps, p access.Person, id string) (t teams.Spec, f figures.TeamFigures, coming bool, err error) {
	var errFigures error
	var reading figures.Group
	reading.Go(func() error { f, errFigures = deps.Figures.Team(ctx, p, id); return nil })
	t, err = deps.Teams.Show(ctx, p, id)
	_ = reading.Wait()
	if coming = err == nil && errors.Is(errFigures, figures.ErrAbsent); err == nil && !coming {
		err = errFigures
	}
	return t, f, coming, err
}

// teamPage returns the team's page, with the error of one of its forms.
func (s teamPages) teamPage(r *http.Request, p access.Person, about *fault) (view, error) {
	id := r.PathValue("team")
	t, f, coming, err := readTeam(r.Context(), &s.Deps, p, id)
	if err != nil {
		return view{}, err
	}
	v := teamView{
		Spec: t, Coming: coming, TeamFigures: f, At: s.Deps.Now(), Error: about, Form: r.PostForm, Units: unit.Names,
		Once: rand.Text(),
	}
	if about != nil { // its form may have been counted
		v.Once = cmp.Or(r.PostForm.Get("once"), v.Once)
	}
	v.Shadow, v.Models, v.Endpoints = t.Flag("shadow"), t.Words("models"), t.Words("endpoints")
	if f.Team != nil {
		v.Shadow, v.Models, v.Endpoints = f.Team.Shadow, words(f.Team.Models), words(f.Team.Endpoints)
	}
	directory := t.Owner == teams.OwnerDirectory
	v.Soon, v.Midnight = v.At.AddDate(0, 0, 14), midnight(v.At).Format(time.RFC3339)
	v.Editable, v.MakesKeys, v.Adjusts = directory && p.Changes(), directory && p.MakesKeys(id, t.Flag("self_service")), p.Changes()
	for i := range f.Report.Limits {
		v.Limits = append(v.Limits, newLimitRow(f.Report.Limits[i], f.Report.At, s.Currency().Word))
		v.Limits[i].raisable(f.Team, p.Changes())
		v.Limits[i].First = slices.Contains(f.Effective, i) && limitsOf(f.Report.Limits, f.Report.Limits[i].Unit) > 1
	}
	for _, c := range []limitRow{newCountRow("In flight at this replica", f.Concurrent), newCountRow("Open tasks", f.OpenTasks)} {
		if c.Limit > 0 { // 0: no limit
			v.Limits = append(v.Limits, c)
		}
	}
	if about != nil && strings.HasPrefix(about.form, "raise-") && // its limit may be gone
		!slices.ContainsFunc(v.Limits, func(l limitRow) bool { return about.Under(l.Form) }) {
		about.form = "raises"
	}
	v.Tags, v.MoreTags = partRows(f.Tags, v.At, s.Currency().Word)
	v.KeyRows, _ = partRows(f.KeyLimits, v.At, s.Currency().Word)
	if v.KeyForm = teamform.Key(); about.Under("mint") {
		v.KeyForm.Typed(r.PostForm)
		mark(v.KeyForm, about)
	}
	v.ByKey = f.ByKey[:min(len(f.ByKey), shownParts)]
	v.MoreKeys = int64(len(f.ByKey) - len(v.ByKey))
	v.KeysURL = "/money?" + url.Values{"team": {id}, "by": {"key"}}.Encode()
	ofDay := func(day string) string {
		return moneyURL("/money", figures.MoneyQuery{From: day, To: day, Team: id}, "model")
	}
	v.Spend, v.Requests = (&daily{days: f.Days, of: limit.Spend, in: s.Currency(), today: dayToday(v.At), link: ofDay}).figure(),
		(&daily{days: f.Days, of: limit.Requests, today: dayToday(v.At), link: ofDay}).figure()
	query := url.Values{"team": {id}, "by": {"day"}}
	if n := len(f.Days); n > 0 {
		query.Set("from", f.Days[0].Name)
		query.Set("to", f.Days[n-1].Name)
	}
	for i := range f.Days {
		v.Total = v.Total.Plus(f.Days[i].Use)
	}
	v.MoneyURL = "/money?" + query.Encode()
	out := view{page: "team", title: t.ID, data: v, back: &crumb{"Teams", "/teams"}}
	out.undone = append(undoneOfKey(&t, r.URL.Query().Get("key"), v.At),
		map[bool]string{true: "enabled", false: "disabled"}[t.Flag("disabled")])
	if len(t.Keys) > 0 {
		out.undone = append(out.undone, "created")
	}
	if about != nil {
		out.status = about.Status()
	}
	return out, nil
}

// words returns a list as texts.
func words[T ~string](list []T) (all []string) {
	for _, word := range list {
		all = append(all, string(word))
	}
	return all
}

// limitsOf counts the limits of a unit.
func limitsOf(limits []limit.Standing, unit unit.Name) (n int) {
	for i := range limits {
		if limits[i].Unit == unit {
			n++
		}
	}
	return n
}
