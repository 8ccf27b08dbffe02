package console

import (
	"errors"
	"net/http"

	"sluice/gateway/console/figures"
	"sluice/policy/event"
	"sluice/policy/teams"
)

// ReadEventQuery reads parameters into a query for deliveries, for the interface and the page.
func ReadEventQuery(value func(name string) string) event.Query {
	return event.Query{Owner: value("team"), Hook: value("hook"), State: event.State(value("state")), Event: value("event")}
}

// EventProblem is the problem of an error of the query for deliveries.
func EventProblem(err error) error {
	switch {
	case errors.Is(err, figures.ErrAbsent):
		return &teams.Problem{Code: teams.CodeMissing, Field: "team", Text: errNoTeam.Text, Advice: errNoTeam.Advice}
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
