package figures

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"sluice/gateway/console/access"
	"sluice/policy/event"
	"sluice/policy/teams"
	"sluice/telemetry/recent"
)

// Found is what a search found: a request, task, event, key, team, model or page.
type Found struct {
	Kind  string `json:"kind"`
	ID    string `json:"id"`
	Title string `json:"title"`
	Path  string `json:"path"` // of its page
}

// Page is a page of the console.
type Page struct {
	Name, Path string
	Restricted bool // not for members
	Within     bool // reached from another page, and not in the navigation
}

// Pages are the pages that a person may open, in the order of the navigation.
var Pages = []Page{
	{Name: "Now", Path: "/now"},
	{Name: "Teams", Path: "/teams"},
	{Name: "Tasks", Path: "/tasks"},
	{Name: "Requests", Path: "/requests"},
	{Name: "Refusals", Path: "/refusals", Within: true},
	{Name: "Deliveries", Path: "/events", Within: true},
	{Name: "Money", Path: "/money"},
	{Name: "Latency", Path: "/latency", Restricted: true},
	{Name: "Accounts", Path: "/accounts", Restricted: true},
	{Name: "Rules", Path: "/rules"},
	{Name: "Audit", Path: "/audit", Restricted: true},
	{Name: "Config", Path: "/config", Restricted: true},
}

// mostFound bounds the results of a search.
const mostFound = 20

// longestSearch bounds the searched text, in bytes.
const longestSearch = 256

// Search finds by id or name: requests by their own ids and those of their answer, trace, task and key, tasks, events, keys, teams, models
// and pages. It does not find what the person may not see. Matches of whole ids come first.
func (f *traffic) Search(ctx context.Context, p access.Person, text string) (found []Found, err error) {
	if text = strings.TrimSpace(text); text == "" || len(text) > longestSearch || p.Role == 0 {
		return nil, nil
	}
	var requests recent.Page
	var tasks []Found
	var reading Group
	reading.Go(func() (err error) {
		whose, _ := f.whose(p) // no error without asked teams
		requests, err = f.recent(ctx, recent.Filter{Teams: whose, Any: text, Size: mostFound, Suggest: true})
		return err
	})
	reading.Go(func() (err error) { tasks, err = f.task(ctx, p, text); return err })
	err = reading.Wait()
	visible, _ := f.deps.visible(p)
	found = slices.Concat(tasks, requestsFound(requests.Requests, text), eventsFound(p, visible, text), keysFound(visible, text),
		teamsFound(visible, text), modelsFound(requests.Names.Models, text), pagesFound(p, text))
	slices.SortStableFunc(found, func(a, b Found) int { return exact(b, text) - exact(a, text) })
	return found[:min(len(found), mostFound)], err
}

func exact(f Found, text string) int {
	if f.ID == text {
		return 1
	}
	return 0
}

// task returns the task with this id, of a team that the person sees.
func (f *traffic) task(ctx context.Context, p access.Person, id string) ([]Found, error) {
	team, known, err := f.deps.Tasks.Owner(ctx, id)
	if err != nil || !known || !p.Sees(team) || f.deps.Teams().Team(team) == nil {
		return nil, err
	}
	return []Found{{"task", id, "of team " + team, "/teams/" + url.PathEscape(team) + "/tasks/" + url.PathEscape(id)}}, nil
}

// requestsFound returns the requests, each with the kind of id that matched.
func requestsFound(requests []recent.Request, text string) (found []Found) {
	for i := range requests {
		r, by := &requests[i], ""
		for _, other := range [...]struct{ name, id string }{{"answer", r.UpstreamID}, {"trace", r.TraceID}, {"task", r.Task}, {"key", r.Key}} {
			if strings.HasPrefix(other.id, text) && !strings.HasPrefix(r.ID, text) {
				by = ", by its " + other.name
			}
		}
		status := strconv.Itoa(r.Status)
		if hidden := recent.Hidden(r.Status, r.Inner); hidden != 0 {
			status += " → " + strconv.Itoa(hidden)
		}
		title := strings.Join(strings.Fields(strings.Join([]string{
			r.At.UTC().Format("2 Jan 15:04:05 UTC"), r.Team, r.Model, status,
			cmp.Or(r.Refusal, r.Code),
		}, " ")), " ") + by
		found = append(found, Found{"request", r.ID, title, "/requests/" + url.PathEscape(r.ID)})
	}
	return found
}

// eventsFound returns the event, if its id is one of an owner whom the person sees.
func eventsFound(p access.Person, visible []*teams.Team, id string) (found []Found) {
	owners := idsOf(visible)
	if p.SeesAll() {
		owners = append(owners, event.Operators)
	}
	for _, owner := range owners {
		if _, err := event.ParseID(id, owner); err == nil {
			found = append(found, Found{"event", id, "of " + owner, "/events?" + url.Values{"team": {owner}, "event": {id}}.Encode()})
		}
	}
	return found
}

func keysFound(visible []*teams.Team, text string) (found []Found) {
	for _, team := range visible {
		for i := range team.Keys {
			if id := team.Keys[i].ID; id == text || len(text) >= 4 && strings.HasPrefix(id, text) {
				found = append(found, Found{"key", id, "of team " + team.ID, "/teams/" + url.PathEscape(team.ID) + "/keys/" + url.PathEscape(id)})
			}
		}
	}
	return found
}

func teamsFound(visible []*teams.Team, text string) (found []Found) {
	for _, team := range visible {
		if within(text, team.ID, team.Description) {
			found = append(found, Found{"team", team.ID, team.Description, "/teams/" + url.PathEscape(team.ID)})
		}
	}
	return found
}

func modelsFound(models []string, text string) (found []Found) {
	for _, model := range models {
		if within(text, model) {
			found = append(found, Found{"model", model, "its requests", "/requests?" + url.Values{"model": {model}}.Encode()})
		}
	}
	return found
}

func pagesFound(p access.Person, text string) (found []Found) {
	for _, page := range Pages {
		if within(text, page.Name) && (!page.Restricted || p.SeesAll()) {
			found = append(found, Found{"page", page.Name, "", page.Path})
		}
	}
	return found
}

// within reports whether one of the names contains a text, ignoring case.
func within(text string, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return strings.Contains(strings.ToLower(name), strings.ToLower(text)) })
}
