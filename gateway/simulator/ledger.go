package simulator

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Received records one request as it arrived.
type Received struct {
	// ID is the request id that was answered, in body and header.
	ID string
	// At is the time by Config.Now.
	At time.Time
	// Method, Path (as on the wire, still escaped), Query and Host are those of the request.
	Method, Path, Query, Host string
	// Endpoint is one of the Endpoint words.
	Endpoint string
	// Header holds every header as received, without Host.
	Header http.Header
	// Body is the body's beginning, at most Config.KeepBody bytes of it.
	Body []byte
	// BodySize is the whole body's length in bytes and BodySHA256 its hash in hex.
	BodySize   int64
	BodySHA256 string
}

// newReceived describes a request with that body, of which it keeps so many bytes. ID, At and Endpoint are left to the
// caller.
func newReceived(r *http.Request, body []byte, keep int) Received {
	path, _, _ := strings.Cut(r.RequestURI, "?")
	if path == "" { // a request made by httptest, which was never on a wire
		path = r.URL.EscapedPath()
	}
	sum := sha256.Sum256(body)
	return Received{
		Method: r.Method, Path: path, Query: r.URL.RawQuery, Host: r.Host, Header: r.Header.Clone(),
		Body:     slices.Clone(body[:min(len(body), max(keep, 0))]),
		BodySize: int64(len(body)), BodySHA256: hex.EncodeToString(sum[:]),
	}
}

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
	// Requests and Executed count arrivals and work done (text or images made, tasks created) by Endpoint word.
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

// ledger keeps the last requests, and counts and bills all of them. Work is billed when it is done, whether or not the
// client receives the answer.
type ledger struct {
	keep int

	mu         sync.Mutex
	last       []Received
	violations []string
	requests   map[string]int
	executed   map[string]int
	spent      map[Spend]int64 // by Spend with Amount zero
}

func newLedger(keep int) *ledger {
	l := &ledger{keep: max(keep, 0)}
	l.reset()
	return l
}

func (l *ledger) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last, l.violations = nil, nil
	l.requests, l.executed, l.spent = map[string]int{}, map[string]int{}, map[Spend]int64{}
}

// add records a request. A picture needs no key; any other request has exactly one Authorization header.
func (l *ledger) add(r Received) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests[r.Endpoint]++
	if len(r.Header.Values("Authorization")) != 1 && r.Endpoint != EndpointPicture && len(l.violations) < maxViolations {
		l.violations = append(l.violations, r.Method+" "+r.Path+": has not exactly one Authorization header")
	}
	l.last = append(l.last, r)
	l.last = l.last[max(0, len(l.last)-l.keep):] // append moves what is left to a new array, and so frees the rest
}

// execute counts a request whose work was done.
func (l *ledger) execute(endpoint string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.executed[endpoint]++
}

func (l *ledger) bill(model string, c cost) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.spent) >= maxBilled {
		model = "other"
	}
	for unit, n := range map[string]int{UnitInputTokens: c.input, UnitOutputTokens: c.output, UnitImages: c.images} {
		if n != 0 {
			l.spent[Spend{Model: model, Unit: unit}] += int64(n)
		}
	}
}

// list returns the requests that are kept, oldest first, and the violations.
func (l *ledger) list() ([]Received, []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.last), slices.Clone(l.violations)
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
