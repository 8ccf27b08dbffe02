package console

import (
	"errors"
	"net/http"
	"slices"
	"time"

	"sluice/gateway/console/figures"
	"sluice/policy/event"
)

// refusedSpan is the default span.
const refusedSpan = time.Hour

// Refusals are the refusals with one value of a dimension.
type Refusals struct {
	Of    string    `json:"of"` // the reason, limit, rule or model; empty: requests without one
	Count int64     `json:"count"`
	Last  time.Time `json:"last"`
	Steps []int64   `json:"steps"`
}

// RefusalList are refusals by a dimension, most frequent first.
type RefusalList struct {
	By   string     `json:"by"`
	From time.Time  `json:"from"`
	Step int64      `json:"step_seconds"`
	Kept int        `json:"kept"` // kept refused requests, which data counts
	All  int64      `json:"all"`
	Data []Refusals `json:"data"`
}

// refusals groups the kept refused requests.
func refusals(a *api, c *call) error {
	q := figures.RefusedQuery{Team: c.query.Get("team"), By: c.query.Get("by"), To: a.Now()}
	if q.By == "" {
		q.By = figures.RefusedBy[0]
	}
	if !slices.Contains(figures.RefusedBy, q.By) {
		return invalid("by", "not a dimension", "reason, limit, rule or model")
	}
	if q.Team != "" && !c.who.Sees(q.Team) {
		return errNoTeamOfQuery
	}
	var err error
	if q.From, q.To, err = c.span(q.To, refusedSpan); err != nil {
		return err
	}
	found, err := a.Traffic.Refused(c.r.Context(), c.who, q)
	if err != nil {
		return unread(err)
	}
	list := RefusalList{
		By: q.By, From: found.From.UTC(), Step: int64(found.Step / time.Second), Kept: found.Kept, All: found.All,
		Data: []Refusals{},
	}
	for _, g := range found.Groups {
		list.Data = append(list.Data, Refusals{g.Name, g.Count, g.Last.UTC(), g.Steps})
	}
	return c.write(http.StatusOK, list)
}

// mostSpan is how long counts of minutes are kept.
const mostSpan = 48 * time.Hour

// span parses from and to. The default is the usual time until now.
func (c *call) span(now time.Time, usual time.Duration) (from, to time.Time, err error) {
	to = now
	if text := c.query.Get("to"); text != "" {
		if to, err = readRFC3339(text); err != nil {
			return from, to, invalid("to", "not a moment", "one such as 2026-11-22T12:00:00Z")
		}
	}
	from = to.Add(-usual)
	if text := c.query.Get("from"); text != "" {
		if from, err = readRFC3339(text); err != nil {
			return from, to, invalid("from", "not a moment", "one such as 2026-11-22T12:00:00Z")
		}
	}
	if !from.Before(to) || from.Before(now.Add(-mostSpan-time.Minute)) || to.After(now.Add(time.Hour)) {
		return from, to, invalid("from", "not a span of time that is kept", "from before to, within the last 48 hours")
	}
	return from, to, nil
}

// ReadEventQuery reads parameters into a query for deliveries, for the API and the page.
func ReadEventQuery(value func(name string) string) event.Query {
	return event.Query{Owner: value("team"), Hook: value("hook"), State: event.State(value("state")), Event: value("event")}
}

// EventProblem returns the problem of an error of the query for deliveries.
func EventProblem(err error) error {
	switch {
	case errors.Is(err, figures.ErrAbsent):
		return errNoTeamOfQuery
	case errors.Is(err, event.ErrState):
		return invalid("state", "not a state", "waiting, delivered or given_up")
	case errors.Is(err, event.ErrID):
		return invalid("event", "not an id of an event of this team", "one such as evt_01KB0E9800003J869JJ1KR4F5B")
	}
	return unread(err)
}

// deliveries lists deliveries to hooks.
func deliveries(a *api, c *call) error {
	found, err := a.Traffic.Deliveries(c.r.Context(), c.who, ReadEventQuery(c.query.Get))
	if err != nil {
		return EventProblem(err)
	}
	return c.write(http.StatusOK, found)
}
