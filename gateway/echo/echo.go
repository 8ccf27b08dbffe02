// Package echo answers requests that only test the path between a client and Sluice: what an ingress does to a stream, to a wait, and to a
// request whose answer does not come. They do not reach the service, and cost nothing.
//
// It knows no key and no limit. It promises that a team has at most [PerTeam] of these requests under way, and that none lasts
// longer than [Longest].
package echo

import (
	"crypto/rand"
	"errors"
	"net/url"
	"strconv"
	"sync"
	"time"
)

const (
	// PerTeam is how many trials of a team may be under way at a time.
	PerTeam = 8
	// Longest is the longest silence in a stream: more than the default idle limits of proxies, which are 60 s.
	Longest = 120 * time.Second

	mostNoted = 256 // dropped requests that are counted; the oldest is forgotten
	longestID = 64  // bytes
)

// trial is what a client wants to test.
type trial struct {
	silence time.Duration // before the last frame of a stream; 0: it wants no stream
	drop    string        // an id: the connection ends without an answer, and the arrival is counted; empty: it is answered
	count   string        // an id: the answer has how often the dropped request has arrived; empty: no count
}

// Errors of a request that is not answered.
var (
	// ErrQuery is the error of a query that names no trial.
	ErrQuery = errors.New("allowed: nothing, silence= with whole seconds from 1 to 120, or with at most 64 characters drop= or count=")
	// ErrBusy is the error of a team that has [PerTeam] trials under way.
	ErrBusy = errors.New("too many trials are under way")
)

// read reads the query of a request.
func read(query string) (t trial, err error) {
	values, err := url.ParseQuery(query)
	if err != nil || len(values) > 1 {
		return t, ErrQuery
	}
	for name, list := range values {
		value := list[0]
		seconds, notNumber := strconv.ParseUint(value, 10, 16)
		switch {
		case len(list) > 1 || value == "" || len(value) > longestID:
			return t, ErrQuery
		case name == "drop":
			t.drop = value
		case name == "count":
			t.count = value
		case name == "silence" && notNumber == nil && seconds >= 1 && seconds <= uint64(Longest/time.Second):
			t.silence = time.Duration(seconds) * time.Second
		default:
			return t, ErrQuery
		}
	}
	return t, nil
}

// Trials counts the trials under way, and the arrivals of dropped requests. Create it with [New]; it is safe for concurrent use.
type Trials struct {
	replica string // the name of this process, new at each start

	mu      sync.Mutex
	running map[string]int // by team
	noted   []arrivals     // the oldest first
}

// arrivals counts those of one request of a team.
type arrivals struct {
	team, id string
	times    int
}

// New returns Trials without any.
func New() *Trials { return &Trials{replica: rand.Text()[:8], running: map[string]int{}} }

// enter begins a trial of a team, and reports false if the team has too many under way. A trial that has begun MUST leave, once.
func (t *Trials) enter(team string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running[team] >= PerTeam {
		return false
	}
	t.running[team]++
	return true
}

// leave ends a trial.
func (t *Trials) leave(team string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running[team]--; t.running[team] == 0 {
		delete(t.running, team)
	}
}

// note counts an arrival of a request that is dropped.
func (t *Trials) note(team, id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if a := t.find(team, id); a != nil {
		a.times++
		return
	}
	if len(t.noted) == mostNoted {
		t.noted = append(t.noted[:0], t.noted[1:]...)
	}
	t.noted = append(t.noted, arrivals{team, id, 1})
}

// arrived is how often a dropped request of a team has arrived.
func (t *Trials) arrived(team, id string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if a := t.find(team, id); a != nil {
		return a.times
	}
	return 0
}

func (t *Trials) find(team, id string) *arrivals {
	for i := range t.noted {
		if a := &t.noted[i]; a.team == team && a.id == id {
			return a
		}
	}
	return nil
}
