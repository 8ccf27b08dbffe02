package simulator

import (
	"net/http"
	"sync"
	"time"
)

// Received is what one request looked like when it arrived, and what became of it.
type Received struct {
	// ID is the request id that was answered, in body and header.
	ID string
	// At is the time by Config.Now.
	At time.Time
	// Method, Path (as on the wire, still escaped), Query and Host are the request line's.
	Method, Path, Query, Host string
	// Endpoint is one of the Endpoint words.
	Endpoint string
	// Header holds every header as received, Host not among them.
	Header http.Header
	// RemoteAddr is the other end of the connection.
	RemoteAddr string
	// Body is the body's beginning, at most Config.KeepBody bytes of it.
	Body []byte
	// BodySize is the whole body's length and BodySHA256 its hash in hex.
	BodySize   int64
	BodySHA256 string
	// Status is the HTTP status answered; zero until then, and for good if the connection ended without one.
	Status int
	// Executed reports that the work was done: text or images were made or a task was created.
	Executed bool
	// Violation tells what no request may look like, such as two Authorization headers; empty is right.
	Violation string
}

// recorder keeps the last requests in a ring, so that memory stays bounded however long a demo runs.
type recorder struct {
	mu         sync.Mutex
	ring       []*Received
	next       int
	requests   map[string]int
	executed   map[string]int
	violations []string
}

// maxViolations bounds the list of violations: the first ones tell enough.
const maxViolations = 100

func newRecorder(keep int) *recorder {
	r := &recorder{ring: make([]*Received, max(keep, 0))}
	r.reset()
	return r
}

func (r *recorder) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.ring)
	r.next = 0
	r.requests = map[string]int{}
	r.executed = map[string]int{}
	r.violations = nil
}

// add keeps rec, which is changed from now on under the recorder's lock only.
func (r *recorder) add(rec *Received) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests[rec.Endpoint]++
	if rec.Violation != "" && len(r.violations) < maxViolations {
		r.violations = append(r.violations, rec.Method+" "+rec.Path+": "+rec.Violation)
	}
	if len(r.ring) > 0 {
		r.ring[r.next%len(r.ring)] = rec
		r.next++
	}
}

func (r *recorder) setStatus(rec *Received, status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rec.Status = status
}

func (r *recorder) setExecuted(rec *Received) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !rec.Executed {
		rec.Executed = true
		r.executed[rec.Endpoint]++
	}
}

// list returns copies of what is kept, oldest first.
func (r *recorder) list() []Received {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []Received
	for i := range r.ring {
		if rec := r.ring[(r.next+i)%len(r.ring)]; rec != nil {
			out = append(out, *rec)
		}
	}
	return out
}
