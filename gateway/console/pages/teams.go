package pages

import (
	"cmp"
	"context"
	"math"
	"net/http"
	"net/url"
	"strings"

	"sluice/gateway/console/access"
	"sluice/gateway/console/figures"
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
}

// teamRow is a team as a row of the list.
type teamRow struct {
	teams.Spec
	figures.TeamUse
	Working int // keys
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
		row := teamRow{Spec: all[i], TeamUse: lines[all[i].ID]}
		for _, k := range row.Keys {
			if !k.Disabled && (k.Expires.IsZero() || k.Expires.After(now)) {
				row.Working++
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
	v := teamsView{Find: strings.TrimSpace(r.URL.Query().Get("find")), All: len(all)}
	for i := range all {
		if t := &all[i]; contains(v.Find, t.ID, t.Word("description")) {
			v.Teams = append(v.Teams, *t)
			v.Total = v.Total.Plus(t.Today)
			v.Refused += t.Refused
		}
	}
	v.Found = len(v.Teams)
	var first, end int
	v.pager, first, end = newPager(r.URL.Query().Get("page"), v.Found, func(page string) string {
		return "/teams?" + url.Values{"find": {v.Find}, "page": {page}}.Encode()
	})
	v.Teams = v.Teams[first:end]
	return view{page: "teams", title: "Teams", data: v}, nil
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
