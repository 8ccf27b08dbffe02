package recent

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Filter selects requests. The zero value selects all.
type Filter struct {
	Teams    []string  // of any of these; nil: of all, and those without a team
	ID       string    // of one request; empty: any
	Any      string    // an id of the request, of its answer, its trace, its task or its key, or the first [LeastID] bytes of it or more
	Status   int       // HTTP status; 0: any
	Class    Class     // of the status; empty: any
	Refusal  string    // stage/reason, or a stage, or [AnyRefusal]; empty: any outcome
	Model    string    // empty: any
	Key      string    // the key's id, or jwt: and a workload; empty: any
	Tag      string    // one pair, such as project=alpha, or all of them; empty: any
	Endpoint string    // empty: any
	Limit    string    // [Request.LimitName] of what refused it; empty: any
	Rule     string    // the id of a rule that refused it, or that it was warned of; empty: any
	NoPolls  bool      // without polls of tasks
	From     time.Time // that arrived then or later; zero: no bound
	To       time.Time // that arrived before; zero: no bound
	Cursor   string    // [Page.Next] of the page before; empty: the newest requests
	Size     int       // requests on a page; 0: 50; at most [MostLines]
	Suggest  bool      // the page has Names, too
}

// Class is a class of statuses.
type Class string

// The classes.
const (
	ClassClient Class = "4xx"
	ClassServer Class = "5xx"
	ClassFailed Class = "failed" // see [Failed]
)

// LeastID is how much of an id is enough to find it.
const LeastID = 8

const (
	defaultPage = 50
	largestPage = MostLines
)

// AnyRefusal selects every request that Sluice refused, as [Refused] counts.
const AnyRefusal = "any"

// Refused reports whether Sluice refused a request that ended with a refusal, or none. Refusals of the stage forward are failures of the
// exchange with the service.
func Refused(refusal string) bool { return refusal != "" && !strings.HasPrefix(refusal, "forward/") }

// Failed reports whether a request failed at the service, or on the way to it and back.
func Failed(refusal string, status int) bool {
	return refusal == "" && status >= 500 || strings.HasPrefix(refusal, "forward/")
}

// Page is a page of requests: those that ended last are first.
type Page struct {
	Requests []Request
	Next     string // the cursor of the next page; empty: this is the last one
	Names    Names  // of all requests of the teams of the filter, if it suggests
}

// ErrCursor is the error of a cursor that no page returned.
var ErrCursor = errors.New("the cursor does not come from a page")

// cursor is a place in the list: after the first skip requests that ended at a time.
type cursor struct {
	at   int64 // microseconds since 1970
	skip int
}

func (c cursor) String() string { return strconv.FormatInt(c.at, 36) + "-" + strconv.Itoa(c.skip) }

func readCursor(text string) (c cursor, err error) {
	at, skip, _ := strings.Cut(text, "-")
	var errAt, errSkip error
	c.at, errAt = strconv.ParseInt(at, 36, 64)
	c.skip, errSkip = strconv.Atoi(skip)
	if errAt != nil || errSkip != nil || c.skip < 1 {
		return cursor{}, fmt.Errorf("%w: %q", ErrCursor, text)
	}
	return c, nil
}

// page returns a page of lines, which were read and are sorted, oldest first.
func (f *Filter) page(lines []Line) (p Page, err error) {
	from := cursor{at: -1}
	if f.Cursor != "" {
		if from, err = readCursor(f.Cursor); err != nil {
			return p, err
		}
	}
	if f.Suggest {
		p.Names = f.names(lines)
	}
	size := min(f.Size, largestPage)
	if size < 1 {
		size = defaultPage
	}
	at, last := cursor{at: -1}, cursor{}
	for _, line := range slices.Backward(lines) {
		if !f.From.IsZero() && line.At.Before(f.From) { // it arrived still earlier
			break
		}
		if micros := line.At.UnixMicro(); at.at != micros {
			at = cursor{at: micros}
		}
		at.skip++
		if from.at >= 0 && (at.at > from.at || at.at == from.at && at.skip <= from.skip) || !f.admits(line.read) {
			continue
		}
		r, err := line.whole()
		if err != nil || f.Limit != "" && f.Limit != r.LimitName() || r.At.Before(f.From) || !f.To.IsZero() && !r.At.Before(f.To) { // an error: a line of a later version, perhaps
			continue
		}
		if len(p.Requests) == size {
			p.Next = last.String()
			break
		}
		p.Requests, last = append(p.Requests, *r), at
	}
	return p, nil
}

func (f *Filter) admits(l *fields) bool {
	return f.ofTeams(l) && f.ofOutcome(l) &&
		(f.ID == "" || f.ID == l.id) &&
		(f.Any == "" || l.has(f.Any)) &&
		(f.Model == "" || f.Model == l.model) &&
		(f.Key == "" || f.Key == l.key) &&
		(f.Tag == "" || f.Tag == l.tag || slices.Contains(strings.Split(l.tag, ","), f.Tag)) &&
		(f.Endpoint == "" || f.Endpoint == l.endpoint) &&
		(!f.NoPolls || !l.poll)
}

func (f *Filter) ofTeams(l *fields) bool { return f.Teams == nil || slices.Contains(f.Teams, l.team) }

// ofOutcome reports whether a request ended as the filter asks.
func (f *Filter) ofOutcome(l *fields) bool {
	switch f.Class {
	case ClassClient, ClassServer:
		if l.status/100 != int(f.Class[0]-'0') {
			return false
		}
	case ClassFailed:
		if !Failed(l.refusal, l.status) {
			return false
		}
	}
	return (f.Status == 0 || f.Status == l.status) &&
		(f.Rule == "" || slices.Contains(l.rules, f.Rule)) &&
		(f.Refusal == "" || f.Refusal == l.refusal || f.Refusal == AnyRefusal && Refused(l.refusal) || strings.HasPrefix(l.refusal, f.Refusal+"/"))
}

// has reports whether an id of the request is this one, or begins with it.
func (l *fields) has(id string) bool {
	return slices.ContainsFunc([]string{l.id, l.upstreamID, l.traceID, l.task, l.key}, func(own string) bool {
		return own == id || len(id) >= LeastID && strings.HasPrefix(own, id)
	})
}

// Names are the values that requests have, each once and sorted.
type Names struct{ Teams, Keys, Tags, Models, Endpoints, Refusals, Rules []string }

// mostNames is how many values of one sort are named.
const mostNames = 100

// names are those of the requests of the filter's teams.
func (f *Filter) names(lines []Line) (n Names) {
	found := [7]map[string]bool{}
	for i := range found {
		found[i] = map[string]bool{}
	}
	for i := range lines {
		l := lines[i].read
		if !f.ofTeams(l) {
			continue
		}
		for j, values := range [7][]string{{l.team}, {l.key}, strings.Split(l.tag, ","), {l.model}, {l.endpoint}, {l.refusal}, l.rules} {
			for _, value := range values {
				if value != "" && len(found[j]) < mostNames {
					found[j][value] = true
				}
			}
		}
	}
	for i, to := range [7]*[]string{&n.Teams, &n.Keys, &n.Tags, &n.Models, &n.Endpoints, &n.Refusals, &n.Rules} {
		*to = slices.Sorted(maps.Keys(found[i]))
	}
	return n
}
