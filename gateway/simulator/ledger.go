package simulator

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"sluice/gateway/simulator/billing"
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

// newReceived describes a request with that body, of which it keeps the first bytes. ID, At and Endpoint are left to the caller.
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

// Tally counts the events since the start or the last Reset.
type Tally struct {
	// Requests and Executed count arrivals and work done (text or images made, tasks created) by Endpoint word.
	Requests map[string]int
	Executed map[string]int
	// Tokens (input and output) and Images are what the service bills: the figures to which a gateway's ledger is compared.
	Tokens, Images int64
}

// maxViolations bounds the memory of a ledger.
const maxViolations = 100

// ledger keeps the last requests, and counts and bills all of them. Work is billed when it is done, whether or not the
// client receives the answer.
type ledger struct {
	mu         sync.Mutex
	last       []Received
	violations []string
	sums       Tally
	book       billing.Book
}

func (l *ledger) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last, l.violations, l.sums = nil, nil, Tally{Requests: map[string]int{}, Executed: map[string]int{}}
	l.book.Reset()
}

// add records a request, and keeps the last ones. A picture needs no key; any other request has exactly one Authorization header.
func (l *ledger) add(r Received, keep int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sums.Requests[r.Endpoint]++
	if len(r.Header.Values("Authorization")) != 1 && r.Endpoint != EndpointPicture && len(l.violations) < maxViolations {
		l.violations = append(l.violations, r.Method+" "+r.Path+": has not exactly one Authorization header")
	}
	l.last = append(l.last, r)
	l.last = l.last[max(0, len(l.last)-keep):] // append moves what is left to a new array, and so frees the rest
}

// execute counts a request whose work was done.
func (l *ledger) execute(endpoint string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sums.Executed[endpoint]++
}

func (l *ledger) bill(w billing.Work) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sums.Tokens += int64(w.Tokens())
	l.sums.Images += int64(w.Images)
	l.book.Add(w)
}

func (l *ledger) writeBill(w io.Writer) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.book.Write(w)
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
	t := l.sums
	t.Requests, t.Executed = maps.Clone(t.Requests), maps.Clone(t.Executed)
	return t
}
