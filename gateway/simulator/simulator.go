// Package simulator is the upstream model service without the models: it
// answers text, multimodal chat, synchronous images, asynchronous image tasks
// and their streams in the service's own wire format, enforces the service's
// rules, and misbehaves on demand.
//
// It is for tests of the gateway over real sockets, for the demo, and for
// anybody who wants to write a client without an account. It is no mock: a
// test does not tell it what to answer, only which fault to have. It imports
// nothing of this module, so it cannot share the gateway's reading of the
// specification.
//
// It promises that the same request gets the same text, that a token is
// counted the same way everywhere (see piece), that what it did is recorded
// and billed whether or not the client waited for it, that its memory is
// bounded, and that it starts no goroutine and no timer of its own: a task's
// state is worked out from the clock when somebody looks.
package simulator

import (
	"context"
	"crypto/rand"
	"net/http"
	"slices"
	"sync"
)

// Endpoint words, as in Received.Endpoint, Fault.On and Tally.
const (
	EndpointText       = "text"
	EndpointMultimodal = "multimodal"
	EndpointImage      = "image"
	EndpointSynthesis  = "synthesis" // the older image paths
	EndpointTask       = "task"
	EndpointCancel     = "cancel"
	EndpointList       = "list"
	EndpointUploads    = "uploads"
	EndpointPicture    = "picture"
	EndpointOther      = "other" // no such path
)

// LeakMark is part of the value of every response header that tells about
// the account. A gateway must let none of them through.
const LeakMark = "account-secret-4711"

// Simulator is the service. It is an http.Handler, safe for concurrent use.
type Simulator struct {
	cfg     Config
	records *recorder
	bill    bill
	stalls  stalls
	tasks   *tasks
	routes  map[string]handler
	drawing chan struct{} // a slot per picture drawn at once
	secret  []byte        // signs image addresses

	mu     sync.Mutex
	keys   []string
	faults []*armed
}

// New returns a running service.
func New(cfg Config) *Simulator {
	cfg = cfg.withDefaults()
	s := &Simulator{
		cfg:     cfg,
		records: newRecorder(cfg.KeepRequests),
		drawing: make(chan struct{}, maxDrawing),
		secret:  make([]byte, 32),
		keys:    slices.Clone(cfg.Keys),
	}
	rand.Read(s.secret) // never fails, see its documentation
	s.tasks = newTasks(&s.cfg, &s.bill)
	s.routes = s.handlers()
	return s
}

// SetKeys replaces the keys the service knows; none accepts every key.
func (s *Simulator) SetKeys(keys ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys = slices.Clone(keys)
}

// SetFault replaces the faults in force. The first one whose On, Skip and
// Times allow it applies to a request; none makes the service healthy.
func (s *Simulator) SetFault(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
	for _, f := range faults {
		s.faults = append(s.faults, &armed{fault: f})
	}
}

// Release lets every request that is stalled now go on. One that has not come
// so far yet will stall: await it first.
func (s *Simulator) Release() {
	s.stalls.release()
}

// AwaitStalled returns when n requests are stalled at the same time, or with
// the context's error.
func (s *Simulator) AwaitStalled(ctx context.Context, n int) error {
	return s.stalls.await(ctx, n)
}

// Requests returns the last requests received, oldest first. They are
// recorded once their body has been read.
func (s *Simulator) Requests() []Received {
	return s.records.list()
}

// Count returns how many requests an endpoint has had.
func (s *Simulator) Count(endpoint string) int {
	return s.Tally().Requests[endpoint]
}

// Tally returns the sums since the start or the last Reset. Tasks that have
// ended by the clock are billed by then, even if nobody ever looked.
func (s *Simulator) Tally() Tally {
	var t Tally
	s.tasks.settle(s.cfg.Now())
	s.records.tally(&t)
	s.bill.tally(&t)
	return t
}

// Violations returns what no request may look like, one line each: the first
// hundred. A test expects none.
func (s *Simulator) Violations() []string {
	s.records.mu.Lock()
	defer s.records.mu.Unlock()
	return slices.Clone(s.records.violations)
}

// Reset forgets requests, sums and faults. Tasks stay.
func (s *Simulator) Reset() {
	s.records.reset()
	s.bill.reset()
	s.SetFault()
}

// ServeHTTP answers as the service would.
func (s *Simulator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	to := find(r.URL.EscapedPath())
	c, err := s.receive(r)
	c.taskID = to.taskID
	s.record(c, to.endpoint)
	defer func() { s.cfg.Log("%s %s %s", r.Method, r.URL.Path, c.id) }()
	a, err := s.decide(c, to, err)
	if err != nil {
		s.refuse(w, c, asRefusal(err))
		return
	}
	s.send(w, c, a)
}
