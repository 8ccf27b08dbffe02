package teams

import (
	"cmp"
	"time"

	"sluice/policy/strictyaml"
)

const (
	longestWait  = time.Minute
	defaultDepth = 100
	maxDepth     = 10_000
	maxShare     = 1_000
)

// Queue is how a team's requests wait for what only time brings: a rate, a slot among concurrent requests, an account
// that is cooling. The zero Queue has the default depth, and only requests that ask for it wait.
type Queue struct {
	// Wait is how long a request waits by default: whole seconds, 1s to 60s. 0: it does not wait.
	Wait time.Duration
	// Depth is how many requests may wait in each process. 0: 100. See [Queue.Most].
	Depth int
}

// Most is how many requests may wait in each process.
func (q Queue) Most() int { return cmp.Or(q.Depth, defaultDepth) }

// Weight is the team's share of what it waits for with other teams.
func (t *Team) Weight() float64 { return float64(max(t.Share, 1)) }

// patience is how long requests wait. Clients state their preference in whole seconds, too.
var patience = strictyaml.Form[time.Duration]{Allowed: `whole seconds from "1s" to "60s"`, Parse: func(text string) (time.Duration, bool) {
	wait, err := time.ParseDuration(text)
	return wait, err == nil && wait >= time.Second && wait <= longestWait && wait%time.Second == 0
}}

// fields are those of a queue, which replace those of the defaults.
func (q *Queue) fields() []strictyaml.Field {
	return []strictyaml.Field{
		strictyaml.May("wait", strictyaml.OneOrNone(&q.Wait, patience)),
		strictyaml.May("depth", strictyaml.OneOrNone(&q.Depth, strictyaml.Whole(1, maxDepth))),
	}
}
