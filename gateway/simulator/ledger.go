package simulator

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
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
	// Account is the id of the key's account. Empty: it had no known key.
	Account string
	// Executed reports that its work was done, also if the answer was lost.
	Executed bool
	// Header holds every header as received, without Host.
	Header http.Header
	// Body is the body's beginning, at most Config.KeepBody bytes of it.
	Body []byte
	// BodySize is the whole body's length in bytes and BodySHA256 its hash in hex.
	BodySize   int64
	BodySHA256 string
}

// newReceived describes a request and keeps the first bytes of its body. The caller sets ID, At, Endpoint and Account.
func newReceived(r *http.Request, body []byte, keep int) *Received {
	path, _, _ := strings.Cut(r.RequestURI, "?")
	if path == "" { // a request made by httptest, which was never on a wire
		path = r.URL.EscapedPath()
	}
	sum := sha256.Sum256(body)
	return &Received{
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

// ledger keeps the last requests, and counts and bills all requests. Work is billed when it is done, whether or not the client receives the
// answer.
type ledger struct {
	mu         sync.Mutex
	last       []*Received
	violations []string
	sums       map[string]*Tally // by account
	book       billing.Book
}

func (l *ledger) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last, l.violations, l.sums = nil, nil, map[string]*Tally{}
	l.book.Reset()
}

// sum returns the sums of an account.
func (l *ledger) sum(account string) *Tally {
	if l.sums[account] == nil {
		l.sums[account] = &Tally{Requests: map[string]int{}, Executed: map[string]int{}}
	}
	return l.sums[account]
}

// add records a request, and keeps the last ones. Any request but for a picture must have exactly one Authorization header.
func (l *ledger) add(r *Received, keep int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sum(r.Account).Requests[r.Endpoint]++
	if len(r.Header.Values("Authorization")) != 1 && r.Endpoint != EndpointPicture {
		l.note(r, "has not exactly one Authorization header")
	}
	l.last = append(l.last, r)
	l.last = l.last[max(0, len(l.last)-keep):] // the next append that grows frees the dropped ones
}

// violated records a violation of a request.
func (l *ledger) violated(r *Received, what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note(r, what)
}

func (l *ledger) note(r *Received, what string) {
	if len(l.violations) < maxViolations {
		l.violations = append(l.violations, r.Method+" "+r.Path+": "+what)
	}
}

// execute counts a request whose work was done.
func (l *ledger) execute(r *Received) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.Executed = true
	l.sum(r.Account).Executed[r.Endpoint]++
}

func (l *ledger) bill(w billing.Work) {
	l.mu.Lock()
	defer l.mu.Unlock()
	sum := l.sum(w.Account)
	sum.Tokens += int64(w.Tokens())
	sum.Images += int64(w.Images)
	l.book.Add(w)
}

func (l *ledger) writeBill(w io.Writer, accounts []string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.book.Write(w, accounts...)
}

// list returns the kept requests, oldest first, and the violations.
func (l *ledger) list() ([]Received, []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var last []Received
	for _, r := range l.last {
		last = append(last, *r)
	}
	return last, slices.Clone(l.violations)
}

// tally returns the sums of the accounts; none: of all.
func (l *ledger) tally(accounts []string) Tally {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := Tally{Requests: map[string]int{}, Executed: map[string]int{}}
	for account, sum := range l.sums {
		if len(accounts) == 0 || slices.Contains(accounts, account) {
			all.add(sum)
		}
	}
	return all
}

func (t *Tally) add(more *Tally) {
	for endpoint, n := range more.Requests {
		t.Requests[endpoint] += n
	}
	for endpoint, n := range more.Executed {
		t.Executed[endpoint] += n
	}
	t.Tokens += more.Tokens
	t.Images += more.Images
}

// twice describes the bodies that were executed more than once.
func twice(list []Received) (lines []string) {
	accounts := map[string][]string{} // that executed a body
	for _, r := range list {
		if r.Executed {
			accounts[r.BodySHA256] = append(accounts[r.BodySHA256], r.Account)
		}
	}
	for _, r := range list {
		if by := accounts[r.BodySHA256]; len(by) > 1 {
			lines = append(lines, r.Method+" "+r.Path+": the body "+r.BodySHA256+" was executed by "+strings.Join(by, ", "))
			delete(accounts, r.BodySHA256)
		}
	}
	return lines
}
