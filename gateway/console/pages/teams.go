package pages

import (
	"cmp"
	"context"
	"math"
	"net/http"
	"slices"
	"strings"

	"sluice/gateway/console/access"
	"sluice/gateway/console/figures"
	"sluice/policy/limit"
	"sluice/policy/teams"
)

// teamPages are the pages of teams.
type teamPages struct{ Deps }

type teamsView struct {
	pager
	Teams      []teamRow
	Find       string
	Found, All int
	Refused    int64
	House      *limitRow   // the nearest limit of all teams together; nil: none
	Total      figures.Use // of the found teams
	Sort, Only string      // of the query
	Heads      map[string]choice
	Chips      []choice
	Described  bool // a found team has a description
	Away       bool // nothing could be read: the teams are those in force in this process
}

// teamRow is a team as a row of the list.
type teamRow struct {
	teams.Spec
	figures.TeamUse
	Working int       // keys
	Near    *limitRow // the nearest limit; nil: none
	Ends    bool      // a key ends soon
	Shadow  bool      // also by the file's defaults
}

// near returns the use of the nearest limit, in per cent; -1: there is none.
func (t *teamRow) near() int {
	if t.Nearest == nil {
		return -1
	}
	return t.Nearest.Percent
}

// state orders teams that do not work first, then those in shadow.
func (t *teamRow) state() int {
	return slices.IndexFunc([]string{"removing", "disabled", "shadow", ""},
		func(flag string) bool { return flag == "" || t.Flag(flag) || flag == "shadow" && t.Shadow })
}

// teamRows returns the teams that the person sees, and the house's nearest limit; nil: none. It reads teams and figures concurrently. With
// an error it returns the teams in force in this process, without figures.
func teamRows(ctx context.Context, deps *Deps, p access.Person) (rows []teamRow, house *limitRow, err error) {
	var lines map[string]figures.TeamUse
	var reading figures.Group
	reading.Go(func() (err error) { lines, err = deps.Figures.Lines(ctx, p); return err })
	all, _, err := deps.Teams.Page(ctx, p, "", math.MaxInt)
	errLines := reading.Wait()
	if err = cmp.Or(err, errLines); err != nil {
		all, lines = deps.Teams.Known(p), nil
	}
	now := deps.Now()
	for i := range all {
		row := teamRow{Spec: all[i], TeamUse: lines[all[i].ID]}
		if in := deps.File().Team(row.ID); in != nil {
			row.Shadow = in.Shadow
		}
		row.Near = newNearRow(row.Nearest)
		for _, k := range row.Keys {
			if !k.Disabled && (k.Expires.IsZero() || k.Expires.After(now)) {
				row.Working++
				row.Ends = row.Ends || !k.Expires.IsZero() && k.Expires.Before(now.AddDate(0, 0, 7))
			}
		}
		rows = append(rows, row)
	}
	return rows, newNearRow(lines[""].Nearest), err
}

// teams lists the teams that the person sees.
func (s teamPages) teams(r *http.Request, p access.Person) (view, error) {
	all, house, err := teamRows(r.Context(), &s.Deps, p)
	q := r.URL.Query()
	v := teamsView{
		Find: asked(q, "find"), All: len(all), House: house, Sort: asked(q, "sort"), Only: asked(q, "only"),
		Heads: map[string]choice{}, Away: err != nil,
	}
	if order := teamOrders[v.Sort]; order != nil {
		slices.SortStableFunc(all, func(a, b teamRow) int { return order(&a, &b) })
	}
	is := teamChips[v.Only]
	all = slices.DeleteFunc(all, func(t teamRow) bool { return !contains(v.Find, t.ID, t.Word("description")) })
	for i := range all {
		if t := &all[i]; is == nil || is(t) {
			v.Teams = append(v.Teams, *t)
			v.Described = v.Described || t.Word("description") != ""
			v.Total = v.Total.Plus(t.Today)
			v.Refused += t.Refused
		}
	}
	v.Found = len(v.Teams)
	var first, end int
	v.pager, first, end = newPager(r.URL.Query().Get("page"), v.Found, func(page string) string {
		return v.url(v.Sort, v.Only) + "&page=" + page
	})
	v.links(all)
	v.Teams = v.Teams[first:end]
	return view{page: "teams", title: "Teams", data: v}, nil
}

// teamOrders are the orders of the list other than by id, by the query's value; numbers descend.
var teamOrders = map[string]func(a, b *teamRow) int{
	"near":  func(a, b *teamRow) int { return cmp.Compare(b.near(), a.near()) },
	"state": func(a, b *teamRow) int { return cmp.Compare(a.state(), b.state()) },
	"about": func(a, b *teamRow) int {
		return cmp.Compare(strings.ToLower(a.Word("description")), strings.ToLower(b.Word("description")))
	},
	"keys": func(a, b *teamRow) int { return cmp.Compare(b.Working, a.Working) },
	"requests": func(a, b *teamRow) int {
		return cmp.Compare(b.Today.Used[limit.Requests], a.Today.Used[limit.Requests])
	},
	"refused": func(a, b *teamRow) int { return cmp.Compare(b.Refused, a.Refused) },
	"spend":   func(a, b *teamRow) int { return cmp.Compare(b.Today.Used[limit.Spend], a.Today.Used[limit.Spend]) },
	"owner":   func(a, b *teamRow) int { return cmp.Compare(a.Owner, b.Owner) },
}

// teamChips are filters of teams, by the query's value.
var teamChips = map[string]func(t *teamRow) bool{
	"near":     func(t *teamRow) bool { return t.near() >= 80 },
	"refused":  func(t *teamRow) bool { return t.Refused > 0 },
	"shadow":   func(t *teamRow) bool { return t.Shadow },
	"disabled": func(t *teamRow) bool { return t.Flag("disabled") },
	"ending":   func(t *teamRow) bool { return t.Ends },
}

func (v *teamsView) url(sort, only string) string {
	return address("/teams", map[string]string{"find": v.Find, "sort": sort, "only": only})
}

// links sets the headings, which sort, and the chips that select at least one of the teams.
func (v *teamsView) links(all []teamRow) {
	for name := range teamOrders {
		v.Heads[name] = choice{name, v.url(name, v.Only), v.Sort == name}
	}
	v.Heads[""] = choice{"", v.url("", v.Only), v.Sort == ""}
	for _, chip := range []struct{ name, words string }{
		{"near", "80 % of a limit"},
		{"refused", "refused today"},
		{"shadow", "shadow"},
		{"disabled", "disabled"},
		{"ending", "a key ends within 7 days"},
	} {
		n := int64(0)
		for i := range all {
			if teamChips[chip.name](&all[i]) {
				n++
			}
		}
		if n > 0 || v.Only == chip.name {
			v.Chips = append(v.Chips, choice{chip.words + " " + grouped(n), v.url(v.Sort, chip.name), v.Only == chip.name})
		}
	}
	if v.Chips != nil {
		v.Chips = append([]choice{{"all", v.url(v.Sort, ""), v.Only == ""}}, v.Chips...)
	}
}

// contains reports whether one of the texts has the words, ignoring case.
func contains(words string, texts ...string) bool {
	words = strings.ToLower(words)
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(strings.ToLower(text), words) })
}
