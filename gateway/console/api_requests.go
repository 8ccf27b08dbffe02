package console

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"sluice/gateway/console/figures"
	"sluice/gateway/console/why"
	"sluice/policy/teams"
	"sluice/telemetry/recent"
)

// FilterNames are the parameters that select requests, of the API and the page.
var FilterNames = []string{"team", "key", "tag", "model", "endpoint", "rule", "limited", "status", "refusal", "from", "to", "polls"}

// ReadFilter reads parameters into a filter. value returns a parameter, empty if it is not given; moment parses a time. It returns a
// problem for each faulty parameter.
func ReadFilter(value func(name string) string, moment func(string) (time.Time, error)) (f recent.Filter, faults []*teams.Problem) {
	f = recent.Filter{
		Key: value("key"), Tag: value("tag"), Model: value("model"), Endpoint: value("endpoint"), Rule: value("rule"), Limit: value("limited"),
		Refusal: value("refusal"),
	}
	if team := value("team"); team != "" {
		f.Teams = []string{team}
	}
	switch class := recent.Class(value("status")); class {
	case "", recent.ClassClient, recent.ClassServer, recent.ClassFailed:
		f.Class = class
	default:
		var err error
		if f.Status, err = strconv.Atoi(string(class)); err != nil || f.Status < 100 || f.Status > 599 {
			faults = append(faults, invalid("status", "not such a status", "a number from 100 to 599, 4xx, 5xx or failed"))
		}
	}
	for name, to := range map[string]*time.Time{"from": &f.From, "to": &f.To} {
		if text := value(name); text != "" {
			var err error
			if *to, err = moment(text); err != nil {
				faults = append(faults, invalid(name, "not a moment", "one such as 2026-11-22T12:00:00Z"))
			}
		}
	}
	switch value("polls") {
	case "": // counts of refusals and failures have those of polls
		f.NoPolls = f.Refusal == "" && f.Rule == "" && f.Limit == "" && f.Class == "" && f.Status < http.StatusBadRequest
	case "false":
		f.NoPolls = true
	case "true":
	default:
		faults = append(faults, invalid("polls", "not such a word", "true or false"))
	}
	return f, faults
}

func readRFC3339(text string) (time.Time, error) { return time.Parse(time.RFC3339, text) }

func (a *api) requests(c *call) (err error) {
	f, faults := ReadFilter(c.query.Get, readRFC3339)
	if len(faults) > 0 {
		return faults[0]
	}
	if slices.ContainsFunc(f.Teams, func(team string) bool { return !c.who.Sees(team) }) {
		return errNoTeamOfQuery
	}
	if f.Cursor, f.Size, err = c.page(); err != nil {
		return err
	}
	found, err := a.Traffic.RequestList(c.r.Context(), c.who, f)
	if err != nil {
		return unread(err)
	}
	lines := make([]json.RawMessage, len(found.Requests))
	for i := range found.Requests {
		lines[i] = json.RawMessage(found.Requests[i].Line)
	}
	return c.write(http.StatusOK, list(lines, found.Next))
}

// ErrNoRequest is the problem of a request that cannot be found.
var ErrNoRequest = &teams.Problem{
	Code: teams.CodeMissing, Field: "request", Text: "this request is not among the newest 10,000, or it is not yours to see",
	Advice: "look for it in the log by its id",
}

// Explained is a request and why it ended as it did. Its line has the limit and the rules that refused it.
type Explained struct {
	why.Answer
	Request json.RawMessage `json:"request"` // its log line
}

// request explains one request.
func request(a *api, c *call) error {
	found, err := a.Traffic.Request(c.r.Context(), c.who, c.parts["request"])
	switch {
	case errors.Is(err, figures.ErrAbsent):
		return ErrNoRequest
	case err != nil:
		return unread(err)
	}
	return c.write(http.StatusOK, Explained{why.Of(&found), json.RawMessage(found.Line)})
}

// search finds requests, tasks, keys, teams, models and pages.
func search(a *api, c *call) error {
	if c.query.Get("q") == "" {
		return invalid("q", "nothing to search for", "an id or a name")
	}
	found, err := a.Traffic.Search(c.r.Context(), c.who, c.query.Get("q"))
	if err != nil {
		return unread(err)
	}
	if found == nil {
		found = []figures.Found{}
	}
	return c.write(http.StatusOK, found)
}
