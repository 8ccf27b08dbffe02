// Package simulator is the upstream model service without the models: it answers text, multimodal chat, synchronous
// images, asynchronous image tasks and their streams in the service's own wire format, enforces the service's rules,
// and misbehaves on demand.
//
// It is for tests of the gateway over real sockets, for the demo, and for anybody who wants to write a client without
// an account. It is no mock: a test does not tell it what to answer, only which fault to have. It imports nothing of
// this module, so it cannot share the gateway's reading of the specification.
//
// It promises that the same request gets the same text, that a token is counted the same way everywhere (see piece),
// that what it did is recorded and billed whether or not the client waited for it, that its memory is bounded, and that
// it starts no goroutine and no timer of its own: a task's state is worked out from the clock when somebody looks.
package simulator

import (
	"context"
	"net/http"
	"slices"
	"sync"

	"sluice/gateway/simulator/answer"
	"sluice/gateway/simulator/fault"
	"sluice/gateway/simulator/gallery"
	"sluice/gateway/simulator/rules"
	"sluice/gateway/simulator/task"
	"sluice/gateway/simulator/wire"
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

// LeakMark is part of the value of every response header that tells about the account. A gateway must let none of them
// through.
const LeakMark = answer.LeakMark

// Faults of the service, see package fault.
type (
	Fault      = fault.Fault
	FaultError = fault.Error
	FaultTask  = fault.Task
)

// Simulator is the service. It is an http.Handler, safe for concurrent use.
type Simulator struct {
	cfg     Config
	rules   rules.Book
	records *recorder
	bill    bill
	sender  wire.Sender
	tasks   *task.Store
	gallery *gallery.Gallery
	faults  fault.Set
	routes  map[string]handler

	mu   sync.Mutex
	keys []string
}

// New returns a running service.
func New(cfg Config) *Simulator {
	cfg = cfg.withDefaults()
	s := &Simulator{
		cfg:     cfg,
		rules:   cfg.rules(),
		records: newRecorder(cfg.KeepRequests),
		sender:  wire.Sender{HeaderPrefix: cfg.HeaderPrefix, FrameDelay: cfg.FrameDelay},
		gallery: gallery.New(cfg.TaskTTL),
		keys:    slices.Clone(cfg.Keys),
	}
	s.tasks = task.New(cfg.tasks(), func(model string, images int) {
		s.bill.add(model, answer.Cost{Images: int64(images)})
	})
	s.routes = s.handlers()
	return s
}

// SetKeys replaces the keys the service knows; none accepts every key.
func (s *Simulator) SetKeys(keys ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys = slices.Clone(keys)
}

// SetFault replaces the faults in force. The first one whose On, Skip and Times allow it applies to a request; none
// makes the service healthy.
func (s *Simulator) SetFault(faults ...Fault) { s.faults.Replace(faults...) }

// Release lets every request go on that is stalled now. A request that has not come so far will stall: call
// AwaitStalled first.
func (s *Simulator) Release() { s.sender.Stalls.Release() }

// AwaitStalled returns when n requests are stalled at the same time, or with the context's error.
func (s *Simulator) AwaitStalled(ctx context.Context, n int) error {
	return s.sender.Stalls.Await(ctx, n)
}

// Requests returns the last requests received, oldest first. They are recorded once their body has been read.
func (s *Simulator) Requests() []Received { return s.records.list() }

// Count returns how many requests an endpoint has had.
func (s *Simulator) Count(endpoint string) int { return s.Tally().Requests[endpoint] }

// Tally returns the sums since the start or the last Reset. Tasks that have ended by the clock are billed, queried or
// not.
func (s *Simulator) Tally() Tally {
	var t Tally
	s.tasks.Settle(s.cfg.Now())
	s.records.tally(&t)
	s.bill.tally(&t)
	return t
}

// Violations returns the first hundred faults that no request may have, one line each. A test expects none.
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
	c, err := s.receive(r)
	s.record(c)
	defer func() { s.cfg.Log("%s %s %s", r.Method, r.URL.Path, c.id) }()
	a, err := s.decide(c, err)
	x := wire.Exchange{
		Sender: &s.sender, Ctx: r.Context(), W: w, Fault: c.fault, RequestID: c.id, Streams: c.streams(),
		Status: func(status int) { s.records.setStatus(c.rec, status) }, Bill: s.bill.add,
	}
	if err != nil {
		x.Refuse(answer.AsRefusal(err))
		return
	}
	x.Send(a)
}
