// Package simulator is the upstream model service without the models: it answers text, multimodal chat, synchronous
// images, asynchronous image tasks and their streams in the service's own wire format, enforces the service's rules, and
// misbehaves on demand.
//
// It is for tests of the gateway over real sockets, for the demo, and for writing a client without an account. A test does
// not tell it what to answer, only which fault to have. It imports nothing of the gateway, so it cannot share the gateway's
// reading of the specification.
//
// It promises that the same request gets the same text, that tokens are counted by one rule everywhere, that all work is recorded
// and billed whether or not the client waited for it, that its memory is bounded, and that nothing runs in the background: a
// task's state follows from the clock when it is queried.
//
// A request becomes a call (request.go), is judged (rules*.go), becomes an answer (chat.go, images.go, tasks.go), and is
// sent with its fault (send.go).
package simulator

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"sluice/gateway/simulator/billing"
)

// Simulator is the service. It is an http.Handler, safe for concurrent use.
type Simulator struct {
	cfg      Config
	ledger   *ledger
	faults   faults
	stalls   *stalls
	pictures *pictures
	tasks    *tasks
	limits   map[string]*limiter // of the operations on tasks, by endpoint

	mu   sync.Mutex
	keys []string // of the account; none accepts every key
}

// New returns a running service.
func New(cfg Config) *Simulator {
	cfg = cfg.withDefaults()
	s := &Simulator{cfg: cfg, ledger: &ledger{book: billing.Book{List: cfg.Prices}}, stalls: newStalls(), pictures: newPictures(), limits: map[string]*limiter{}}
	s.ledger.reset()
	s.tasks = &tasks{cfg: &s.cfg, pictures: s.pictures, ledger: s.ledger, byID: map[string]*task{}}
	for _, endpoint := range []string{EndpointTask, EndpointList, EndpointCancel} {
		s.limits[endpoint] = &limiter{passed: make([]time.Time, max(cfg.TaskRate, 0))}
	}
	s.SetKeys(cfg.Keys...)
	return s
}

// SetKeys replaces the keys that the service knows; none accepts every key.
func (s *Simulator) SetKeys(keys ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys = slices.Clone(keys)
}

// SetFault replaces the faults in force. The first one whose On and Times allow it applies to a request; none makes the
// service healthy.
func (s *Simulator) SetFault(list ...Fault) { s.faults.set(list) }

// Release lets every stalled request go on. A request that has not arrived yet will stall: call AwaitStalled first.
func (s *Simulator) Release() { s.stalls.release() }

// AwaitStalled returns when n requests are stalled at the same time, or with the context's error.
func (s *Simulator) AwaitStalled(ctx context.Context, n int) error { return s.stalls.await(ctx, n) }

// Requests returns the last requests received, oldest first. They are recorded once their body has been read.
func (s *Simulator) Requests() []Received {
	last, _ := s.ledger.list()
	return last
}

// Violations returns the first hundred requests without exactly one Authorization header, one line each. A test expects
// none.
func (s *Simulator) Violations() []string {
	_, violations := s.ledger.list()
	return violations
}

// Count returns how many requests an endpoint has had.
func (s *Simulator) Count(endpoint string) int { return s.ledger.tally().Requests[endpoint] }

// Tally returns the sums since the start or the last Reset. Tasks that have ended by the clock are billed, queried or not.
func (s *Simulator) Tally() Tally {
	s.tasks.settle(s.cfg.Now())
	return s.ledger.tally()
}

// Bill writes the service's bill since the start or the last Reset as CSV, with the same work as Tally.
func (s *Simulator) Bill(w io.Writer) error {
	s.tasks.settle(s.cfg.Now())
	return s.ledger.writeBill(w)
}

// Reset forgets requests, sums and faults. Tasks stay.
func (s *Simulator) Reset() {
	s.ledger.reset()
	s.SetFault()
}

// ServeHTTP answers as the service would.
func (s *Simulator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c, err := receive(r, &s.cfg)
	s.ledger.add(c.Received, max(s.cfg.KeepRequests, 0))
	defer s.cfg.Log("%s %s %s", r.Method, r.URL.Path, c.ID)
	var a *answer
	if err = s.admit(c, err); err == nil {
		a, err = s.work(c)
	}
	x := &exchange{call: c, ctx: r.Context(), w: w, ledger: s.ledger, stalls: s.stalls}
	if err == nil {
		x.send(a)
		return
	}
	refused, ok := errors.AsType[*refusal](err)
	if !ok {
		refused = &refusal{500, "InternalError", "An internal error has occurred.", false}
	}
	x.refuse(refused)
}

// admit judges a request by path, method, key and body, and gives it its fault. received is the error of receiving it.
func (s *Simulator) admit(c *call, received error) error {
	switch open := c.endpoint == EndpointPicture; {
	case c.endpoint == EndpointOther:
		return errNotFound
	case c.r.Method != c.method && !(open && c.r.Method == http.MethodHead):
		return errMethod
	case !open && !s.accepts(c.r.Header.Values("Authorization")):
		return errKey
	case received != nil:
		return received
	}
	if c.method == http.MethodPost && c.endpoint != EndpointCancel {
		if err := c.parse(); err != nil {
			return err
		}
	}
	c.fault = s.faults.take(c.endpoint)
	return nil
}

// accepts reports whether there is exactly one Authorization header, with a key of the account.
func (s *Simulator) accepts(values []string) bool {
	if len(values) != 1 {
		return false
	}
	scheme, key, _ := strings.Cut(values[0], " ")
	key = strings.TrimSpace(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.EqualFold(scheme, "Bearer") && key != "" && (len(s.keys) == 0 || slices.Contains(s.keys, key))
}

// work answers an admitted call, unless its fault refuses it.
func (s *Simulator) work(c *call) (*answer, error) {
	f := &c.fault
	if f.Redirect != "" || f.Upgrade {
		return &answer{}, nil
	}
	if f.Error != nil && (f.After == 0 || !c.streams()) {
		return nil, f.Error.refusal()
	}
	if limit := s.limits[c.endpoint]; limit != nil && s.cfg.TaskRate > 0 && !limit.allow(c.At) {
		return nil, errRate
	}
	a, err := s.serve(c)
	switch {
	case err != nil:
		return nil, err
	case f.Error != nil && a.frames == nil: // a whole answer has no middle
		return nil, f.Error.refusal()
	case a.worked:
		s.ledger.execute(c.endpoint)
	}
	return a, nil
}

// serve answers a call by its endpoint.
func (s *Simulator) serve(c *call) (*answer, error) {
	switch c.endpoint {
	case EndpointText:
		return serveChat(c, false)
	case EndpointMultimodal:
		return s.serveMultimodal(c)
	case EndpointImage:
		return s.tasks.createImage(c)
	case EndpointSynthesis:
		return s.tasks.createOlder(c)
	case EndpointTask:
		return s.tasks.query(c)
	case EndpointCancel:
		return s.tasks.cancel(c)
	case EndpointList:
		return s.tasks.list(c)
	case EndpointUploads:
		return serveUploads(c)
	}
	return s.pictures.draw(c.r.Context(), c.r.URL, c.At)
}

// serveMultimodal answers the path that chat, synchronous images and interleaved streams share.
func (s *Simulator) serveMultimodal(c *call) (*answer, error) {
	interleaved := c.sse || get[bool](c.param, "stream") || get[bool](c.param, "enable_interleave")
	switch {
	case drawsAtOnce(c.model):
		return serveSyncImage(c, s.pictures)
	case edits(c.model) && interleaved:
		return serveInterleaved(c, s.pictures)
	}
	return serveChat(c, true)
}

// serveUploads answers the one action that clients use. The host that it names takes no uploads.
func serveUploads(c *call) (*answer, error) {
	q := c.r.URL.Query()
	switch {
	case q.Get("action") != "getPolicy":
		return nil, invalid("action must be getPolicy")
	case q.Get("model") == "":
		return nil, invalid("model is required")
	}
	return &answer{doc: object{"request_id": c.ID, "data": object{
		"policy": "eyJjb25kaXRpb25zIjpbXX0=", "signature": "c2ltdWxhdGVk",
		"upload_dir": "instant/" + c.ID, "upload_host": "https://uploads.invalid",
		"expire_in_seconds": 300, "max_file_size_mb": "100", "x_oss_object_acl": "private",
	}}}, nil
}

// limiter lets as many calls pass in any one second as passed is long, wherever the second begins: the strictest reading of
// "20 per second". A token bucket, such as that of golang.org/x/time/rate, would let up to twice as many pass.
type limiter struct {
	mu     sync.Mutex
	passed []time.Time // a ring of the last passes
	next   int
}

// allow reports whether a call at now passes.
func (l *limiter) allow(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if oldest := l.passed[l.next]; !oldest.IsZero() && now.Sub(oldest) < time.Second {
		return false
	}
	l.passed[l.next] = now
	l.next = (l.next + 1) % len(l.passed)
	return true
}
