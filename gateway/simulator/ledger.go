package simulator

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"sluice/gateway/simulator/answer"
)

// Units of a Spend.
const (
	UnitInputTokens  = "input_tokens"
	UnitOutputTokens = "output_tokens"
	UnitImages       = "images"
)

// Spend is the cost of one model in one unit: the figure to which a gateway's ledger is compared.
type Spend struct {
	Model  string
	Unit   string
	Amount int64
}

// Tally counts the events since the start or the last Reset.
type Tally struct {
	// Requests and Executed count arrivals and work done by Endpoint word.
	Requests map[string]int
	Executed map[string]int
	// Spent is ordered by model and unit, without zeros.
	Spent []Spend
	// Tokens (input and output) and Images are the sums over all models.
	Tokens, Images int64
}

// Bounds of a ledger's memory.
const (
	maxBilled     = 3000 // lines of Spent; models beyond share the line "other"
	maxViolations = 100
)

// ledger keeps the last requests in a ring, and counts and bills all of them. Work is billed when it is done, whether
// or not the client receives the answer.
type ledger struct {
	mu         sync.Mutex
	ring       []*Received
	next       int
	violations []string
	requests   map[string]int
	executed   map[string]int
	spent      map[Spend]int64 // by Spend with Amount zero
}

// newLedger keeps so many requests.
func newLedger(keep int) *ledger {
	l := &ledger{ring: make([]*Received, max(keep, 0))}
	l.reset()
	return l
}

func (l *ledger) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.ring)
	l.next, l.violations = 0, nil
	l.requests, l.executed, l.spent = map[string]int{}, map[string]int{}, map[Spend]int64{}
}

// add keeps r, which is changed from now on under the ledger's lock only.
func (l *ledger) add(r *Received) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests[r.Endpoint]++
	if r.Violation != "" && len(l.violations) < maxViolations {
		l.violations = append(l.violations, r.Method+" "+r.Path+": "+r.Violation)
	}
	if len(l.ring) > 0 {
		l.ring[l.next%len(l.ring)] = r
		l.next++
	}
}

func (l *ledger) setStatus(r *Received, status int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.Status = status
}

func (l *ledger) setExecuted(r *Received) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !r.Executed {
		r.Executed = true
		l.executed[r.Endpoint]++
	}
}

func (l *ledger) bill(model string, c answer.Cost) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.spent) >= maxBilled {
		model = "other"
	}
	for unit, n := range map[string]int64{UnitInputTokens: c.Input, UnitOutputTokens: c.Output, UnitImages: c.Images} {
		if n != 0 {
			l.spent[Spend{Model: model, Unit: unit}] += n
		}
	}
}

// list returns copies of the requests that are kept, oldest first.
func (l *ledger) list() []Received {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []Received
	for i := range l.ring {
		if r := l.ring[(l.next+i)%len(l.ring)]; r != nil {
			out = append(out, *r)
		}
	}
	return out
}

func (l *ledger) listViolations() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.violations)
}

func (l *ledger) tally() Tally {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := Tally{Requests: maps.Clone(l.requests), Executed: maps.Clone(l.executed)}
	for line, n := range l.spent {
		line.Amount = n
		t.Spent = append(t.Spent, line)
		if line.Unit == UnitImages {
			t.Images += n
		} else {
			t.Tokens += n
		}
	}
	slices.SortFunc(t.Spent, func(a, b Spend) int {
		return cmp.Or(cmp.Compare(a.Model, b.Model), cmp.Compare(a.Unit, b.Unit))
	})
	return t
}
