package simulator

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Fault is one way for the service to misbehave. The zero value does nothing; fields can be combined. A fault applies only to requests
// that may be served: a request without a valid key or to an unknown path is refused as usual.
type Fault struct {
	// Account limits the fault to the account with this id. Empty means every account.
	Account string
	// On limits it to an endpoint (one of the Endpoint words), or with EndpointModels to all that call a model. Empty means every endpoint.
	On string
	// Times limits it to this many requests. Zero means all.
	Times int

	// Delay passes before the answer begins.
	Delay time.Duration
	// Error is answered in place of a result.
	Error *FaultError
	// After is how many stream frames are sent before Error, Cut or Stall. If After is above zero, the first half of an answer
	// that is not a stream is sent before Cut or Stall.
	After int
	// Cut ends the answer there: "close" breaks the framing, "reset" does so with a TCP RST, "end" ends it like a
	// complete answer.
	Cut string
	// Stall makes the answer wait until Simulator.Release is called or the client leaves: "before" its first byte, after its
	// "headers", or in its "body" after After frames.
	Stall string
	// Drop ends the connection ("close" or "reset") without an answer, after the work was done and billed.
	Drop string

	// Informational is how many 103 answers are sent before the real one.
	Informational int
	// Upgrade answers 101 and then sends bytes that are not HTTP.
	Upgrade bool
	// Redirect answers 307 with this Location; nothing is executed.
	Redirect string
	// Endless never ends the body: a stream repeats itself, another answer continues with white space.
	Endless bool
	// Gzip compresses the body, also if the client does not accept it.
	Gzip bool
	// Body is sent in place of the answer's bytes, with status 200.
	Body *string
	// Header adds response headers.
	Header map[string]string
	// RetryAfter is the value of the header Retry-After.
	RetryAfter string
	// PadBytes is the size of an unknown member that is added to every frame or document.
	PadBytes int
	// NoUsage leaves out usage. It does not change what is billed.
	NoUsage bool
	// Usage is where the cached tokens are: "flat" in the usage itself, "input" in input_tokens_details. Empty: in
	// prompt_tokens_details.
	Usage string
	// TaskID replaces the task id in an answer.
	TaskID string

	// Task is the fate of the task that this request creates.
	Task *FaultTask
}

// FaultError is a refusal that a fault asks for. In a stream it is an event:error frame unless Plain is set.
type FaultError struct {
	// Status is the HTTP status. Zero follows from Code; without a Code it is 500.
	Status int
	// Code and Message are the body's; an empty Code follows from Status.
	Code, Message string
	// Plain answers with Status even if the request wants a stream, as every refusal of a key does.
	Plain bool
}

// FaultTask is the fate of a task that a fault asks for.
type FaultTask struct {
	// Outcome is "succeed" (also the empty string), "fail", "fail_pending" (FAILED straight from PENDING), "partial",
	// "cancel" (by the service itself, from RUNNING) or "never" (RUNNING without end).
	Outcome string
	// Failed is how many images of a partial outcome fail; zero is one.
	Failed int
	// ImageCount replaces usage.image_count, and is billed. NoImageCount leaves it out; the real count is billed.
	ImageCount   *int
	NoImageCount bool
}

// codes are the codes of a FaultError that gives only a status.
var codes = map[int]string{
	http.StatusBadRequest:            "InvalidParameter",
	http.StatusUnauthorized:          "InvalidApiKey",
	http.StatusForbidden:             "AccessDenied",
	http.StatusNotFound:              "ModelNotFound",
	http.StatusRequestEntityTooLarge: "BadRequest.TooLarge",
	http.StatusUnsupportedMediaType:  "InvalidParameter",
	http.StatusTooManyRequests:       "Throttling.RateQuota",
	http.StatusServiceUnavailable:    "ModelUnavailable",
}

// statuses are the statuses of a FaultError that gives only a code.
var statuses = map[string]int{
	"InvalidParameter":           http.StatusBadRequest,
	"DataInspectionFailed":       http.StatusBadRequest,
	"Arrearage":                  http.StatusBadRequest,
	"InvalidApiKey":              http.StatusUnauthorized,
	"AccessDenied":               http.StatusForbidden,
	"ModelNotFound":              http.StatusNotFound,
	"Throttling":                 http.StatusTooManyRequests,
	"Throttling.RateQuota":       http.StatusTooManyRequests,
	"Throttling.BurstRate":       http.StatusTooManyRequests,
	"Throttling.AllocationQuota": http.StatusTooManyRequests,
	"CommodityNotPurchased":      http.StatusTooManyRequests,
	"PrepaidBillOverdue":         http.StatusTooManyRequests,
	"PostpaidBillOverdue":        http.StatusTooManyRequests,
	"ModelUnavailable":           http.StatusServiceUnavailable,
	"ModelServingError":          http.StatusServiceUnavailable,
}

// refusal returns the refusal to answer.
func (e *FaultError) refusal() *refusal {
	status := cmp.Or(e.Status, statuses[e.Code], http.StatusInternalServerError)
	return &refusal{
		status: status, code: cmp.Or(e.Code, codes[status], "InternalError"),
		message: cmp.Or(e.Message, "This failure was asked for."), plain: e.Plain || status == http.StatusUnauthorized,
	}
}

// faults are the faults in force. They are safe for concurrent use; the zero value is empty.
type faults struct {
	mu   sync.Mutex
	list []Fault
}

func (fs *faults) set(list []Fault) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.list = slices.Clone(list)
}

// take returns the fault for an account's next request to endpoint: the first whose Account, On and Times match, else none. Requests for
// pictures have no account.
func (fs *faults) take(account, endpoint string) Fault {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	i := slices.IndexFunc(fs.list, func(f Fault) bool {
		return (f.Account == "" || f.Account == account) && covers(f.On, endpoint)
	})
	if i < 0 {
		return Fault{}
	}
	f := fs.list[i]
	if f.Times == 1 {
		fs.list = slices.Delete(fs.list, i, i+1)
	} else if f.Times > 1 {
		fs.list[i].Times--
	}
	return f
}

// stalls holds stalled requests. It is safe for concurrent use.
type stalls struct {
	mu       sync.Mutex
	waiting  int
	released chan struct{} // closed by the next release
	more     chan struct{} // closed when another request waits
}

func newStalls() *stalls { return &stalls{released: make(chan struct{}), more: make(chan struct{})} }

// wait blocks until release, or until the context ends; then it returns the context's error.
func (s *stalls) wait(ctx context.Context) error {
	s.mu.Lock()
	released := s.released
	s.waiting++
	close(s.more)
	s.more = make(chan struct{})
	s.mu.Unlock()
	select {
	case <-released:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.released == released { // else release has reset the count
		s.waiting--
	}
	return ctx.Err()
}

// release lets all waiting requests go on.
func (s *stalls) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.released)
	s.released, s.waiting = make(chan struct{}), 0
}

// await blocks until n requests wait together, or until the context ends; then it returns the context's error.
func (s *stalls) await(ctx context.Context, n int) error {
	for {
		s.mu.Lock()
		enough, more := s.waiting >= n, s.more
		s.mu.Unlock()
		if enough {
			return nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
