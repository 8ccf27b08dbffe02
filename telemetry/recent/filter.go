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
	Teams    []string  // nil: all teams, and requests without one
	ID       string    // the request's id; empty: any
	Any      string    // an id of the request, its answer, its trace, its task or its key, or a prefix of [LeastID] bytes or more; empty: any
	Status   int       // HTTP status, or the [Hidden] one; 0: any
	Class    Class     // of either status; empty: any
	Refusal  string    // stage/reason, or a stage, or [AnyRefusal], [NoRefusal] or [RefusedOrFailed]; empty: any outcome
	Model    string    // empty: any
	Key      string    // the key's id, or "jwt:" and a workload; empty: any
	Tag      string    // one pair, such as project=alpha, or all of them; empty: any
	Endpoint string    // empty: any
	Limit    string    // the limit that refused it, see [Request.LimitName]; empty: any
	Rule     string    // the id of a rule that refused it or of which the client was warned; empty: any
	NoPolls  bool      // leave out polls of tasks
	From     time.Time // the first time of arrival; zero: no bound
	To       time.Time // the end of the times of arrival, exclusive; zero: no bound
	Cursor   string    // [Page.Next] of the previous page; empty: the newest requests
	Size     int       // requests on a page; 0: 50; at most [MostLines]
	Suggest  bool      // also fill the page's Names
}

// Class is a class of statuses.
type Class string

// The classes.
const (
	ClassClient Class = "4xx"
	ClassServer Class = "5xx"
	ClassFailed Class = "failed" // see [Failed]
)

// LeastID is the least length of a prefix of an id, in bytes.
const LeastID = 8

const (
	defaultPage = 50
	largestPage = MostLines
)

// AnyRefusal selects every request that Sluice refused; see [Refused].
const AnyRefusal = "any"

// NoRefusal selects every request without a refusal: what the service answered.
const NoRefusal = "none"

// RefusedOrFailed also selects every request that failed; see [Failed].
const RefusedOrFailed = "all"

// Refused reports whether a refusal, "" for none, means that Sluice refused the request. Refusals of the stage forward are failures of
// the exchange with the service.
func Refused(refusal string) bool { return refusal != "" && !strings.HasPrefix(refusal, "forward/") }

// Failed reports whether a request failed at the service or on the way to it or back. inner is the status of the error inside its answer;
// 0: none.
func Failed(refusal string, status, inner int) bool {
	return refusal == "" && max(status, inner) >= 500 || strings.HasPrefix(refusal, "forward/")
}

// Hidden returns the status of the error inside an answer, inner, that began with a better one; 0: none.
func Hidden(status, inner int) int {
	if inner > status {
		return inner
	}
	return 0
}

// Page is a page of requests, by the time when they ended, newest first.
type Page struct {
	Requests []Request
	Next     string // the cursor of the next page; empty: this is the last one
	Names    Names  // of all requests of the filter's teams; only with Filter.Suggest
}

// ErrCursor is the error of a cursor that no page returned.
var ErrCursor = errors.New("the cursor does not come from a page")

// cursor is a position in the list: after the first skip requests that ended at a time.
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

// page returns a page of lines, whose fields are read and which are sorted, oldest first.
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
		if !f.From.IsZero() && line.At.Before(f.From) { // it ended before From, so it arrived before From
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
		if err != nil || f.Limit != "" && f.Limit != r.LimitName() || r.At.Before(f.From) || !f.To.IsZero() && !r.At.Before(f.To) {
			continue // an error: perhaps a later version wrote the line
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

// ofOutcome reports whether a request's outcome is one that the filter selects.
func (f *Filter) ofOutcome(l *fields) bool {
	hidden := Hidden(l.status, l.inner)
	switch f.Class {
	case ClassClient, ClassServer:
		if class := int(f.Class[0] - '0'); l.status/100 != class && hidden/100 != class {
			return false
		}
	case ClassFailed:
		if !l.failed() {
			return false
		}
	}
	return (f.Status == 0 || f.Status == l.status || f.Status == hidden) &&
		(f.Rule == "" || slices.Contains(l.rules, f.Rule)) &&
		(f.Refusal == "" || f.Refusal == l.refusal || f.Refusal == AnyRefusal && Refused(l.refusal) ||
			f.Refusal == NoRefusal && l.refusal == "" || f.Refusal == RefusedOrFailed && (Refused(l.refusal) || l.failed()) ||
			strings.HasPrefix(l.refusal, f.Refusal+"/"))
}

func (l *fields) failed() bool { return Failed(l.refusal, l.status, l.inner) }

// has reports whether one of the request's ids is id or has it as a prefix.
func (l *fields) has(id string) bool {
	return slices.ContainsFunc([]string{l.id, l.upstreamID, l.traceID, l.task, l.key}, func(own string) bool {
		return own == id || len(id) >= LeastID && strings.HasPrefix(own, id)
	})
}

// Names are the distinct values of requests' fields, sorted.
type Names struct{ Teams, Keys, Tags, Models, Endpoints, Refusals, Rules []string }

// maxNames bounds the values of one field.
const maxNames = 100

// names returns the names of the requests of the filter's teams.
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
				if value != "" && len(found[j]) < maxNames {
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
