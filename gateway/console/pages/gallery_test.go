package pages_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"sluice/gateway/console"
	"sluice/gateway/console/access"
	"sluice/gateway/console/figures"
	"sluice/gateway/console/pages"
	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/policy/unit"
	"sluice/telemetry/recent"
)

// noon is the time of the gallery's pictures.
var noon = time.Date(2026, 11, 22, 12, 34, 56, 0, time.UTC)

// prefix is of the service's headers.
const prefix = "X-Service-"

// teamLine is a team of the gallery with its figures.
type teamLine struct {
	ID, Description  string
	Owner            teams.Owner
	Disabled, Shadow bool
	Keys             int
	Today            figures.Use
	Refused          int64
	Tightest         *limit.Standing
}

// gallery is data for every page: its teams and the audit. galleryFigures has the rest.
type gallery struct {
	file      *teams.File // nil: an empty one
	list      []teamLine
	now       figures.Now
	days      []figures.Row
	tasks     []figures.TaskLine
	requests  []recent.Request
	entries   []teams.Entry
	rules     figures.Rules
	accounts  figures.AccountList
	modes     policy.Modes
	limits    []limit.Standing // of every team that has some, without quotas of a tag; nil: of every kind
	config    pages.Config
	elsewhere bool                       // another person has changed every team
	refuse    *teams.Problem             // every change; nil: none
	away      bool                       // the directory and the figures cannot be read
	pictures  string                     // the address of tasks' pictures
	changed   []string                   // what was changed
	fields    map[string]json.RawMessage // of the last change
	minted    string                     // the team that has a new key; empty: none
}

var operator = access.Person{Name: "oidc:alice@example.com", Role: access.Operator}

// find hides other teams from a member, as implementations of the interfaces must.
func (g *gallery) find(p access.Person, id string) (*teamLine, error) {
	for i := range g.list {
		if g.list[i].ID == id && p.Sees(id) {
			return &g.list[i], nil
		}
	}
	return nil, missing("there is no such team, or it is not yours to see")
}

func missing(text string) error { return &teams.Problem{Code: teams.CodeMissing, Text: text} }

func (g *gallery) deps() pages.Deps {
	return pages.Deps{
		Teams: g, Raises: galleryRaises{g}, Figures: galleryFigures{g}, Config: func() pages.Config { return g.config }, Modes: g.modes,
		Prefix: prefix, File: func() *teams.File { return cmp.Or(g.file, new(teams.File)) },
		Currency: func() unit.Currency { return unit.Currency{Word: "CNY"} }, TraceURL: "https://traces.example/{trace}", Provider: "acme",
		Now: func() time.Time { return noon },
	}
}

// handler serves the pages to a person.
func (g *gallery) handler(p access.Person) http.Handler { return as(pages.New(g.deps()), p) }

func (g *gallery) Page(_ context.Context, p access.Person, _ string, _ int) (list []teams.Spec, more bool, err error) {
	if g.away {
		return nil, false, teams.Away("the directory cannot be used at the moment", nil)
	}
	return g.Known(p), false, nil
}

func (g *gallery) Known(p access.Person) (list []teams.Spec) {
	for i := range g.list {
		if p.Sees(g.list[i].ID) {
			list = append(list, g.spec(&g.list[i]))
		}
	}
	return list
}

func (g *gallery) Show(_ context.Context, p access.Person, id string) (teams.Spec, error) {
	line, err := g.find(p, id)
	if err != nil {
		return teams.Spec{}, err
	}
	return g.spec(line), nil
}

// spec is a team as its owner wrote it.
func (g *gallery) spec(line *teamLine) teams.Spec {
	t := teams.Spec{ID: line.ID, Owner: line.Owner, Used: map[string]time.Time{}, Members: map[string]json.RawMessage{
		"description": quoted(line.Description), "models": json.RawMessage(`["llm-*","gen2.6-*"]`), "tag_key": json.RawMessage(`"project"`),
		"members": json.RawMessage(`["team-` + line.ID + `","alice@example.com"]`),
		"rates":   json.RawMessage(`{"requests":{"per":"1m","limit":600,"burst":60}}`),
		"quotas":  json.RawMessage(`{"images":{"day":500},"spend":{"day":50.00,"month":800.00}}`),
		"rules":   json.RawMessage(`{"image.prompt.length":"refuse"}`),
	}}
	for name, set := range map[string]bool{"disabled": line.Disabled, "shadow": line.Shadow, "self_service": g.elsewhere} {
		if set {
			t.Members[name] = json.RawMessage("true")
		}
	}
	for i := range line.Keys {
		k := teams.Key{ID: fmt.Sprintf("7f3k9q2m4x%02d", i), Note: "the indexer"}
		used := noon.Add(-time.Duration(i) * 50 * time.Hour).Truncate(time.Hour)
		switch i % 4 {
		case 0:
			k.KeyLimits, k.Members = keyLimits, keyMembers
		case 1:
			k.Expires, k.Note = noon.AddDate(0, 0, 9), line.Description
		case 2:
			k.Expires, used = noon.AddDate(0, 3, 0), time.Time{}
		case 3:
			k.Expires = noon.AddDate(0, 0, -3)
		}
		t.Used[k.ID] = used
		t.Keys = append(t.Keys, k)
	}
	if line.ID == g.minted {
		t.Keys = append(t.Keys, teams.Key{ID: mintedKey})
	}
	return t
}

func quoted(text string) json.RawMessage {
	b, _ := json.Marshal(text)
	return b
}

// change notes a change, or refuses it.
func (g *gallery) change(what string) error {
	if g.refuse != nil {
		return g.refuse
	}
	g.changed = append(g.changed, what)
	return nil
}

func (g *gallery) Create(_ context.Context, _ access.Actor, team teams.Spec) (teams.Spec, error) {
	g.fields = team.Members
	return team, g.change("create " + team.ID)
}

func (g *gallery) Replace(ctx context.Context, a access.Actor, team teams.Spec, ifMatch string) (teams.Spec, error) {
	if was, err := g.Show(ctx, a.Person, team.ID); err != nil || ifMatch != "*" && ifMatch != was.ETag() {
		return team, &teams.Problem{Code: teams.CodeLost, Text: "the team was changed meanwhile"}
	}
	g.fields = team.Members
	return team, g.change("change " + team.ID)
}

func (g *gallery) Delete(_ context.Context, _ access.Actor, id, _ string) (teams.Spec, error) {
	return teams.Spec{}, g.change("remove " + id)
}

func (g *gallery) Adjust(_ context.Context, who access.Actor, id string, by console.Correction) (limit.Adjustment, error) {
	return limit.Adjustment{},
		g.change(strings.Join([]string{"adjust", id, string(by.Unit), by.Delta, by.Day, by.Account, who.Reason, who.Address}, " "))
}

func (g *gallery) Mint(ctx context.Context, _ access.Actor, team, ifMatch string, order teams.KeyOrder) (teams.NewKey, error) {
	if was, err := g.Show(ctx, operator, team); err == nil && g.elsewhere && ifMatch != was.ETag() {
		return teams.NewKey{}, &teams.Problem{Code: teams.CodeLost, Text: "the team was changed meanwhile"}
	}
	what, oldEnds := "mint "+team, time.Time{}
	if order.Replaces != "" {
		oldEnds = *order.OldEnds
		what = "rotate " + team + " " + order.Replaces + " " + order.OldEnds.Format(time.DateOnly)
	}
	g.fields = order.ByName()
	err := g.change(what)
	if err == nil {
		g.minted = team
	}
	key := "slk_" + mintedKey + "_" + strings.Repeat("mill", 8)
	return teams.NewKey{ID: mintedKey, Key: key, Expires: order.Expires, OldEnds: oldEnds}, err
}

func (g *gallery) ChangeKey(ctx context.Context, _ access.Actor, team, key string, members []byte, ifMatch string) (teams.Spec, error) {
	if was, err := g.Show(ctx, operator, team); err != nil || g.elsewhere && ifMatch != was.ETag() {
		return teams.Spec{}, &teams.Problem{Code: teams.CodeLost, Text: "the team was changed meanwhile"}
	}
	return teams.Spec{}, g.change("change key " + team + " " + key + " " + string(members) + " " + ifMatch)
}

// galleryRaises has the raises.
type galleryRaises struct{ *gallery }

func (g galleryRaises) List(_ context.Context, p access.Person, team string) ([]teams.Raise, error) {
	line, err := g.find(p, team)
	if err != nil || line.Tightest == nil {
		return nil, err
	}
	return raisedTeam(line.Description).Raises, nil
}

func (g galleryRaises) Add(_ context.Context, who access.Actor, team string, o teams.RaiseOrder) (teams.Raise, error) {
	until := "the end"
	if o.Until != nil {
		until = o.Until.Format(time.RFC3339)
	}
	return teams.Raise{ID: "5t8w1z4c7f0h"}, g.change(strings.Join([]string{"raise", team, string(o.Unit), string(o.Period), o.Amount, until, who.Reason}, " "))
}

func (g galleryRaises) End(_ context.Context, _ access.Actor, team, raise string) error {
	return g.change("end raise " + team + " " + raise)
}

func (g *gallery) EndKey(_ context.Context, _ access.Actor, team, key string) error {
	return g.change("remove key " + team + " " + key)
}

func (g *gallery) Cancel(_ context.Context, _ access.Actor, team, id string) error {
	return g.change("cancel " + team + " " + id)
}

func (g *gallery) Audit(_ context.Context, _ access.Person, f console.AuditFilter, before int64) (list []teams.Entry, more bool,
	err error) {
	for i := range g.entries {
		if (f.Team == "" || g.entries[i].Team == f.Team) && (before == 0 || g.entries[i].Seq < before) {
			list = append(list, g.entries[i])
		}
	}
	return list[:min(len(list), f.Most)], len(list) > f.Most, nil
}

func (g *gallery) Prove(context.Context, access.Person) (entries int64, head string, faults []string, err error) {
	return int64(len(g.entries)), strings.Repeat("9f86d081", 8), nil, nil
}

// galleryFigures has the figures, tasks and requests.
type galleryFigures struct{ *gallery }

func (g galleryFigures) Rules(context.Context, access.Person, bool) (figures.Rules, error) {
	return g.rules, nil
}

func (g galleryFigures) Lines(context.Context, access.Person) (map[string]figures.TeamUse, error) {
	lines := map[string]figures.TeamUse{}
	for _, line := range figured(g.list) {
		lines[line.ID] = line.TeamUse
	}
	if len(g.now.House) > 0 {
		lines[""] = figures.TeamUse{Nearest: nearOf(&g.now.House[1])}
	}
	return lines, nil
}

func (g galleryFigures) Now(context.Context, access.Person, bool) (figures.Now, error) {
	return g.now, nil
}

func (g galleryFigures) Team(_ context.Context, p access.Person, id string) (figures.TeamFigures, error) {
	line, err := g.find(p, id)
	if err != nil {
		return figures.TeamFigures{}, err
	}
	share := float64(line.Today.Used[limit.Requests]) / float64(max(g.now.Today.Used[limit.Requests], 1))
	f := figures.TeamFigures{Effective: []int{0, 1, 2, 3}, Report: limit.Report{At: noon}, Days: days(func(i int) int64 {
		return int64(share * float64(g.days[i].Used[limit.Requests]))
	})}
	if line.Tightest != nil {
		if f.Report.Limits = g.limits; g.limits == nil {
			f.Report.Limits, f.Team = standings(), raisedTeam(line.Description)
			f.TagKey, f.TagQuotas, f.Tags = "project", tagQuotas, tagStandings()
			f.ByKey, f.KeyLimits = keyUse(), keyStandings()
		}
		f.Concurrent, f.OpenTasks = figures.Count{Used: 3, Limit: 32}, figures.Count{Used: 19, Limit: 20}
	}
	if g.file != nil {
		f.Team = g.file.Team(id)
	}
	if line.Refused > 0 {
		f.Refusals = []figures.Refusal{{Name: "admit/quota", Count: line.Refused}, {Name: "inspect/rules", Count: 3},
			{Name: "admit/rate", Count: 1}}
	}
	for i := range g.tasks {
		if g.tasks[i].Team == id && g.tasks[i].Open {
			f.Tasks = append(f.Tasks, g.tasks[i])
		}
	}
	return f, nil
}

func (g galleryFigures) Key(ctx context.Context, p access.Person, team, id string) (figures.KeyFigures, error) {
	t, err := g.Team(ctx, p, team)
	k := figures.KeyFigures{Team: t.Team, Report: t.Report, Own: slices.DeleteFunc(t.KeyLimits,
		func(s limit.Standing) bool { return s.Of != id })}
	k.Days = t.Days[len(t.Days)-noon.Day():]
	if !strings.HasSuffix(id, "00") && !strings.HasPrefix(id, "jwt:") {
		for i := range k.Days {
			k.Days[i].Use = figures.Use{}
		}
	}
	return k, err
}

// Money divides the days among the teams in proportion to today's use, so that all sums agree.
func (g galleryFigures) Money(ctx context.Context, p access.Person, q figures.MoneyQuery) (m figures.Money, err error) {
	requests, week := int64(0), int64(0)
	for i, d := range g.days {
		n := d.Used[limit.Requests]
		if d.Name >= q.From && d.Name <= q.To {
			m.Days, requests = append(m.Days, d), requests+n
		}
		if d.Name >= "2026-11-01" {
			m.Month.Spent += d.Used[limit.Spend]
		}
		if last := len(g.days) - 1; i < last && i >= last-7 {
			week += d.Used[limit.Spend]
		}
	}
	m.Month.Name, m.Month.PerDay, m.Month.Days = "2026-11", week/7, 7
	m.Month.Forecast = m.Month.Spent + 8*m.Month.PerDay
	all, left := int64(0), requests
	for i := range g.list {
		all += g.list[i].Today.Used[limit.Requests]
	}
	for i := range g.list {
		t := &g.list[i]
		if n := requests * t.Today.Used[limit.Requests] / max(all, 1); p.Sees(t.ID) && n > 0 {
			m.Rows, left = append(m.Rows, figures.Row{Name: t.ID, Use: use(n)}), left-n
		}
	}
	if len(m.Rows) > 0 {
		m.Rows[0].Use = m.Rows[0].Plus(use(left))
	}
	for i := range m.Rows {
		m.Total = m.Total.Plus(m.Rows[i].Use)
	}
	switch q.By {
	case "kind":
		m.Rows = kindRows(m.Total)
	case "key":
		m.Rows = keyUse()
	}
	slices.SortFunc(m.Rows, func(a, b figures.Row) int { return int(b.Used[limit.Spend] - a.Used[limit.Spend]) })
	if q.Before != nil {
		was, _ := g.Money(ctx, p, *q.Before)
		m.Was = &was
		if today := noon.Format(time.DateOnly); q.To >= today {
			q.From, q.Before = today, nil
			running, _ := g.Money(ctx, p, q)
			m.Running = &running
		}
	}
	if q.By == "day" {
		return m, nil
	}
	for i := range min(len(m.Rows), figures.MostApart) {
		apart := make([]int64, len(m.Days))
		for n, d := range m.Days {
			apart[n] = int64(float64(d.Used[limit.Spend]) * float64(m.Rows[i].Used[limit.Spend]) / float64(m.Total.Used[limit.Spend]))
		}
		m.Apart = append(m.Apart, apart)
	}
	return m, nil
}

// kindRows divides use by kind.
func kindRows(total figures.Use) (rows []figures.Row) {
	if total == (figures.Use{}) {
		return nil
	}
	rest := total
	rest.Used[limit.Requests], rest.Estimated[limit.Requests] = 0, 0
	for i, name := range []string{"input", "cached", "cache_creation", "output", "thinking", "image 1048576", "image 1K"} {
		row := figures.Row{Name: name}
		unit := limit.Tokens
		if i > 4 {
			unit = limit.Images
		}
		row.Used[unit], row.Used[limit.Spend] = rest.Used[unit]/3, rest.Used[limit.Spend]/4
		rest.Used = rest.Used.Minus(row.Used)
		rows = append(rows, row)
	}
	return append(rows, figures.Row{Name: "unknown", Use: rest})
}

func (g galleryFigures) Bill(_ context.Context, p access.Person, q figures.MoneyQuery, take func([]limit.Row) error) error {
	if g.refuse != nil && g.refuse.Field == "" {
		return g.refuse
	}
	for i := range g.list {
		if t := &g.list[i]; p.Sees(t.ID) && (q.Team == "" || q.Team == t.ID) {
			if err := take([]limit.Row{{Team: t.ID, Day: 20261121, Model: "=llm", Endpoint: policy.EndpointText, Used: t.Today.Used}}); err != nil {
				return err
			}
		}
		if g.refuse != nil && i > 2 {
			return g.refuse
		}
	}
	return nil
}

func (g galleryFigures) TaskList(_ context.Context, p access.Person, f figures.TaskFilter) (list figures.TaskList, err error) {
	for i := range g.tasks {
		if t := g.tasks[i]; p.Sees(t.Team) && (f.Team == "" || f.Team == t.Team) && (f.State == "" || f.State == t.State) &&
			!t.Created.After(noon.Add(-f.Age)) {
			list.Tasks = append(list.Tasks, t)
		}
	}
	if len(list.Tasks) >= 100 {
		list.Next = "cursor"
	}
	return list, nil
}

func (g galleryFigures) Task(_ context.Context, p access.Person, team, id string) (figures.Task, error) {
	for i := range g.tasks {
		if t := g.tasks[i]; t.ID == id && t.Team == team && p.Sees(team) {
			out := figures.Task{TaskLine: t, Key: "7f3k9q2m4x1c", Request: "5f1f6f3a", TraceID: "4bf92f3577b34da6a3ce929d0e0e4736",
				Held: limit.Amounts{1, 0, 4, 800_000_000}}
			if t.State == "SUCCEEDED" {
				out.Pictures = []string{g.pictures + "/a.svg?x=1&y=2", g.pictures + "/b.svg"}
			}
			if t.State == "FAILED" {
				out.Message = t.Model + ": the prompt was refused"
			}
			return out, nil
		}
	}
	return figures.Task{}, missing("there is no such task, or it is not yours to see")
}

func (g galleryFigures) RequestList(_ context.Context, p access.Person, f recent.Filter) (list recent.Page, err error) {
	for i := range g.requests {
		r := &g.requests[i]
		if p.Sees(r.Team) && (f.Teams == nil || f.Teams[0] == r.Team) && (f.Status == 0 || f.Status == r.Status) &&
			(f.Key == "" || f.Key == r.Key) && (f.Refusal == "" || f.Refusal == r.Refusal ||
			f.Refusal == recent.AnyRefusal && recent.Refused(r.Refusal)) && !r.At.Before(f.From) {
			list.Requests = append(list.Requests, *r)
		}
	}
	if f.Suggest {
		list.Names = recent.Names{Teams: []string{"ads", "search"}, Models: []string{"llm-max", "llm-plus"}, Rules: []string{"text.top_p"},
			Tags: hostile[:2], Keys: []string{"7f3k9q2m4x00"}}
	}
	if len(list.Requests) >= 100 {
		list.Requests, list.Next = list.Requests[:100], "cursor"
	}
	return list, nil
}

func (g galleryFigures) Request(_ context.Context, p access.Person, id string) (recent.Request, error) {
	for i := range g.requests {
		if r := g.requests[i]; r.ID == id && p.Sees(r.Team) {
			r.Line = fmt.Sprintf(`{"time":%s,"level":"INFO","id":%s,"team":%s,"model":%s,"status":%d,"refusal":%s,`+
				`"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736",`+
				`"usage":{"input_tokens":1200,"output_tokens":340},"dur_ms":812.3}`,
				quoted(r.At.Format(time.RFC3339Nano)), quoted(r.ID), quoted(r.Team), quoted(r.Model), r.Status, quoted(r.Refusal))
			return r, nil
		}
	}
	return recent.Request{}, missing("this request is not among the newest 10,000, or it is not yours to see")
}

// Search finds the gallery's requests, teams and pages.
func (g galleryFigures) Search(_ context.Context, p access.Person, text string) (found []figures.Found, err error) {
	for i := range g.requests {
		if r := &g.requests[i]; p.Sees(r.Team) && strings.HasPrefix(r.ID, text) && len(found) < 20 {
			found = append(found, figures.Found{Kind: "request", ID: r.ID, Title: r.Model + " " + r.Refusal, Path: "/requests/" + r.ID})
		}
	}
	for i := range g.list {
		if t := &g.list[i]; p.Sees(t.ID) && strings.Contains(t.ID+t.Description, text) && len(found) < 20 {
			found = append(found, figures.Found{Kind: "team", ID: t.ID, Title: t.Description, Path: "/teams/" + t.ID})
		}
	}
	return found, nil
}

// Latency has the times of the gallery's models: one is slow.
func (g galleryFigures) Latency(_ context.Context, _ access.Person, q figures.LatencyQuery) (rows []figures.LatencyRow, err error) {
	if len(g.requests) == 0 {
		return nil, nil
	}
	for i, of := range []string{"gen2.6-image", g.requests[0].Model, "llm-max"} {
		for _, what := range recent.Whats {
			d := map[recent.What]time.Duration{recent.Service: 812 * time.Millisecond, recent.FirstByte: 240 * time.Millisecond,
				recent.Own: 310 * time.Microsecond, recent.Queue: 4 * time.Second, recent.Run: 26 * time.Second}[what] * time.Duration(i+1)
			if (what == recent.Queue || what == recent.Run) && i > 0 {
				continue
			}
			for at := q.From; at.Before(q.To); at = at.Add(q.Step) {
				rows = append(rows, figures.LatencyRow{Of: of, What: what, Start: at, Count: 40, P50: d, P95: d * 3,
					P99: d * time.Duration(4+at.Minute()/10)})
				if q.Step == 0 {
					break
				}
			}
		}
	}
	return rows, nil
}

func (g galleryFigures) FaultList(context.Context, access.Person) []figures.Fault {
	return g.now.Faults
}

// Refused groups the gallery's refused requests by the minute.
func (g galleryFigures) Refused(_ context.Context, p access.Person, q figures.RefusedQuery) (r figures.Refused, err error) {
	r = figures.Refused{From: noon.Truncate(time.Minute).Add(-59 * time.Minute), Step: time.Minute}
	groups := map[string]*figures.RefusedGroup{}
	for i := range g.requests {
		x := &g.requests[i]
		n := int(x.At.Sub(r.From) / time.Minute)
		if !recent.Refused(x.Refusal) || !p.Sees(x.Team) || n < 0 {
			continue
		}
		names := map[string][]string{"reason": {x.Refusal}, "limit": {x.LimitName()}, "rule": x.Rules, "model": {x.Model}}[q.By]
		for _, name := range names {
			if groups[name] == nil {
				groups[name] = &figures.RefusedGroup{Name: name, Last: x.At, Steps: make([]int64, 60)}
			}
			groups[name].Count++
			groups[name].Steps[n]++
		}
		r.Kept, r.All = r.Kept+1, r.All+3
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		r.Groups = append(r.Groups, *groups[name])
	}
	return r, nil
}

// ledgerOf has an answer of Money.
type ledgerOf struct {
	galleryFigures
	money figures.Money
}

func (l ledgerOf) Money(context.Context, access.Person, figures.MoneyQuery) (figures.Money, error) {
	return l.money, nil
}
