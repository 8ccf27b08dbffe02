package pages

import (
	"cmp"
	"context"
	"math"
	"net/http"
	"net/url"
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
	Total      figures.Use // of those found
	Sort, Only string      // of the query
	Heads      map[string]choice
	Chips      []choice
}

// teamRow is a team as a row of the list.
type teamRow struct {
	teams.Spec
	figures.TeamUse
	Working int  // keys
	Nearest int  // per cent of the tightest quota that are used or held; -1: no quota
	Ends    bool // a key ends soon
}

// teamRows returns the teams that the person sees. It reads them and their figures concurrently.
func teamRows(ctx context.Context, deps *Deps, p access.Person) (rows []teamRow, err error) {
	var lines map[string]figures.TeamUse
	var errLines error
	reading := make(chan struct{})
	go func() {
		defer close(reading)
		lines, errLines = deps.Figures.Lines(ctx, p)
	}()
	all, _, err := deps.Teams.Page(ctx, p, "", math.MaxInt)
	<-reading
	now := deps.Now()
	for i := range all {
		row := teamRow{Spec: all[i], TeamUse: lines[all[i].ID], Nearest: -1}
		if l := row.Tightest; l != nil {
			most := l.Limit
			if l.Period == "" {
				most = l.Used + l.Left // a bucket has its burst
			}
			row.Nearest = int(100 * float64(l.Used+l.Held) / float64(max(most, 1)))
		}
		for _, k := range row.Keys {
			if !k.Disabled && (k.Expires.IsZero() || k.Expires.After(now)) {
				row.Working++
				row.Ends = row.Ends || !k.Expires.IsZero() && k.Expires.Before(now.AddDate(0, 0, 7))
			}
		}
		rows = append(rows, row)
	}
	return rows, cmp.Or(err, errLines)
}

// teams lists the teams that the person sees.
func (s teamPages) teams(r *http.Request, p access.Person) (view, error) {
	all, err := teamRows(r.Context(), &s.Deps, p)
	if err != nil {
		return view{}, err
	}
	q := r.URL.Query()
	v := teamsView{Find: asked(q, "find"), All: len(all), Sort: asked(q, "sort"), Only: asked(q, "only"), Heads: map[string]choice{}}
	if order := teamOrders[v.Sort]; order != nil {
		slices.SortStableFunc(all, func(a, b teamRow) int { return order(&a, &b) })
	}
	is := teamChips[v.Only]
	for i := range all {
		if t := &all[i]; contains(v.Find, t.ID, t.Word("description")) && (is == nil || is(t)) {
			v.Teams = append(v.Teams, *t)
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

// teamOrders are the orders of the list beside the one by id, by the query's value; numbers have the largest first.
var teamOrders = map[string]func(a, b *teamRow) int{
	"near": func(a, b *teamRow) int { return cmp.Compare(b.Nearest, a.Nearest) },
	"keys": func(a, b *teamRow) int { return cmp.Compare(b.Working, a.Working) },
	"requests": func(a, b *teamRow) int {
		return cmp.Compare(b.Today.Used[limit.Requests], a.Today.Used[limit.Requests])
	},
	"refused": func(a, b *teamRow) int { return cmp.Compare(b.Refused, a.Refused) },
	"spend":   func(a, b *teamRow) int { return cmp.Compare(b.Today.Used[limit.Spend], a.Today.Used[limit.Spend]) },
	"owner":   func(a, b *teamRow) int { return cmp.Compare(a.Owner, b.Owner) },
}

// teamChips choose some teams, by the query's value.
var teamChips = map[string]func(t *teamRow) bool{
	"near":     func(t *teamRow) bool { return t.Nearest >= 80 },
	"refused":  func(t *teamRow) bool { return t.Refused > 0 },
	"shadow":   func(t *teamRow) bool { return t.Flag("shadow") },
	"disabled": func(t *teamRow) bool { return t.Flag("disabled") },
	"ending":   func(t *teamRow) bool { return t.Ends },
}

func (v *teamsView) url(sort, only string) string {
	q := url.Values{}
	for name, value := range map[string]string{"find": v.Find, "sort": sort, "only": only} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return "/teams?" + q.Encode()
}

// links fills the headings, which sort, and the chips that choose any team.
func (v *teamsView) links(all []teamRow) {
	for name := range teamOrders {
		v.Heads[name] = choice{name, v.url(name, v.Only), v.Sort == name}
	}
	v.Heads[""] = choice{"", v.url("", v.Only), v.Sort == ""}
	for _, chip := range []struct{ name, words string }{
		{"near", "80 % of a quota"}, {"refused", "refused today"}, {"shadow", "shadow"}, {"disabled", "disabled"}, {"ending", "a key ends within 7 days"},
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
	for _, text := range texts {
		if strings.Contains(strings.ToLower(text), words) {
			return true
		}
	}
	return false
}
