package feed

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"sluice/policy"
	"sluice/policy/event"
)

// Query is what a client wants to read.
type Query struct {
	Team  string
	After event.ID        // the last event that it has; the zero Millis: it wants events from now on
	Types []event.Pattern // that it wants; nil: all
}

// ReadQuery reads a request's query and the values of its header Last-Event-ID. Its error says what is allowed.
func ReadQuery(team, query string, last []string) (q Query, err error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return q, errors.New("the query cannot be read; allowed: types")
	}
	q = Query{Team: team, After: event.ID{Owner: team}}
	for name, list := range values {
		if name != "types" {
			return q, fmt.Errorf("query: given %s, allowed: types", policy.Brief(name))
		}
		for word := range strings.SplitSeq(strings.Join(list, ","), ",") {
			if !event.IsPattern(word) {
				return q, fmt.Errorf("query types: given %s, allowed, with commas between them: %s", policy.Brief(word), words())
			}
			q.Types = append(q.Types, event.Pattern(word))
		}
	}
	if len(last) == 0 || len(last) == 1 && last[0] == "" {
		return q, nil
	}
	if q.After, err = event.ParseID(last[0], team); err != nil || len(last) > 1 {
		return q, fmt.Errorf("header Last-Event-ID: given %s, allowed: the id of an event of team %s, once", policy.Brief(last[0]), team)
	}
	return q, nil
}

// words lists the patterns that select events.
func words() string {
	var all []string
	for _, t := range event.Types {
		family, _, _ := strings.Cut(string(t), ".")
		all = append(all, family+".*", string(t))
	}
	slices.Sort(all)
	return "*, " + strings.Join(slices.Compact(all), ", ")
}

// wants reports whether the client gets events of a type.
func (q *Query) wants(t event.Type) bool {
	if q.Types == nil {
		return event.Pattern("*").Matches(t)
	}
	return slices.ContainsFunc(q.Types, func(p event.Pattern) bool { return p.Matches(t) })
}
