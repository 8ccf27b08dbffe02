// Package pulse judges from the last requests whether the service works: how many failed there or on the way to it, how, and since when.
//
// It informs people and the lines of the readiness probe. It decides nothing: no request is refused because of it.
package pulse

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"sluice/telemetry"
)

const (
	// Looked is how many of the last requests count.
	Looked = 25
	// lasts is how long a request counts.
	lasts = time.Hour
	// One failure in share requests is a fault, if at least leastFailed failed.
	share, leastFailed = 5, 3
)

// Outcome is how a request that was sent to the service ended.
type Outcome struct {
	At   time.Time
	Kind string // how it failed, in words; empty: it succeeded
}

// OutcomeOf returns the outcome of a finished request; false: it was not sent to the service. It looks at the record's times, refusal and
// statuses. An answer may begin well and then report an error. The client's status shows nothing about the service: a front answers 500 if
// a task was cancelled.
func OutcomeOf(r *telemetry.Record) (o Outcome, asked bool) {
	o.At = r.Time.Add(r.Duration)
	refusal, upstream := r.Refusal, r.UpstreamStatus
	switch worst := max(upstream, r.UpstreamError); {
	case refusal == "forward/unreachable":
		o.Kind = "could not be reached"
	case refusal == "forward/silent":
		o.Kind = "did not answer in time"
	case refusal == "forward/answer":
		o.Kind = "broke off the answer"
	case refusal == "forward/key":
		o.Kind = "refused the gateway’s key"
	case upstream == 0 || refusal != "" || r.Status == 0:
		return o, false
	case worst >= 500:
		o.Kind = fmt.Sprintf("answered %d", worst)
	}
	return o, true
}

// Fault is what is wrong with the service.
type Fault struct {
	Failed, Of int       // so many failed of so many last requests
	Text       string    // such as "25 of the last 25 requests failed, could not be reached"; without Since
	Since      time.Time // when the fault began, if that is known, else the first of the failures that count
}

// Judge judges outcomes, newest first; false: they show no fault.
func Judge(outcomes []Outcome, now time.Time) (f Fault, wrong bool) {
	kinds := map[string]int{}
	for _, o := range outcomes[:min(len(outcomes), Looked)] {
		if now.Sub(o.At) > lasts {
			break
		}
		if f.Of++; o.Kind != "" {
			f.Failed++
			f.Since = o.At
			kinds[o.Kind]++
		}
	}
	if f.Failed < leastFailed || !Many(int64(f.Failed), int64(f.Of)) {
		return Fault{}, false
	}
	f.Text = fmt.Sprintf("%d of the last %d requests failed, %s", f.Failed, f.Of, words(kinds, f.Failed))
	return f, true
}

// Many reports whether the share of failed requests means that the service does not work.
func Many(failed, of int64) bool { return failed > 0 && failed*share >= of }

// words lists the kinds of failures, most frequent first, with their numbers if there are several.
func words(kinds map[string]int, failed int) string {
	list := slices.SortedFunc(maps.Keys(kinds), func(a, b string) int {
		return cmp.Or(cmp.Compare(kinds[b], kinds[a]), strings.Compare(a, b))
	})
	for i, kind := range list {
		if kinds[kind] < failed {
			list[i] = fmt.Sprintf("%d %s", kinds[kind], kind)
		}
	}
	return strings.Join(list, ", ")
}

// Ring holds the last outcomes of this process. Its zero value is empty; it is safe for concurrent use.
type Ring struct {
	mu    sync.Mutex
	last  [Looked]Outcome
	noted int
	since time.Time // when the current fault began; zero: none
}

// Note takes a finished request.
func (r *Ring) Note(record *telemetry.Record) {
	o, asked := OutcomeOf(record)
	if !asked || record.Endpoint == "tasks" { // a poll may be about a task that ended long ago
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last[r.noted%Looked] = o
	r.noted++
	if o.Kind == "" && r.since.IsZero() {
		return // most requests end here
	}
	f, wrong := Judge(r.outcomes(), o.At)
	if !wrong {
		r.since = time.Time{}
	} else if r.since.IsZero() {
		r.since = f.Since
	}
}

// outcomes lists them, newest first.
func (r *Ring) outcomes() (list []Outcome) {
	for i := range min(r.noted, Looked) {
		list = append(list, r.last[(r.noted-1-i)%Looked])
	}
	return list
}

// Fault returns what is wrong, judged by the requests of this process only.
func (r *Ring) Fault(now time.Time) (Fault, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f, wrong := Judge(r.outcomes(), now)
	if wrong && !r.since.IsZero() {
		f.Since = r.since
	}
	return f, wrong
}

// State is nil if nothing is wrong, else the fault in words.
func (r *Ring) State(now time.Time) error {
	f, wrong := r.Fault(now)
	if !wrong {
		return nil
	}
	return errors.New(f.Text + ", since " + f.Since.UTC().Format("2 Jan 15:04 UTC"))
}
