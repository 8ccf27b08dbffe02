// Package simulator is the upstream model service without the models: it answers text, multimodal chat, synchronous
// images, asynchronous image tasks and their streams in the service's own wire format, enforces the service's rules,
// and misbehaves on demand.
//
// It is for tests of the gateway over real sockets, for the demo, and for writing a client without an account. A test
// does not tell it what to answer, only which fault to have. It imports nothing of the gateway, so it cannot share the
// gateway's reading of the specification.
//
// It promises that the same request gets the same text, that tokens are counted by one rule everywhere, that all work
// is recorded and billed whether or not the client waited for it, that its memory is bounded, and that it runs nothing
// in the background: a task's state follows from the clock when it is queried.
package simulator

import (
	"context"
	"net/http"

	"sluice/gateway/simulator/answer"
	"sluice/gateway/simulator/fault"
	"sluice/gateway/simulator/gallery"
	"sluice/gateway/simulator/rules"
	"sluice/gateway/simulator/task"
	"sluice/gateway/simulator/wire"
)

// LeakMark is part of the value of every response header that tells about the account. A gateway must let none of them
// through.
const LeakMark = answer.LeakMark

type (
	// Fault is one way for the service to misbehave.
	Fault = fault.Fault
	// FaultError is a refusal that a fault asks for.
	FaultError = fault.Error
	// FaultTask is the fate of a task that a fault asks for.
	FaultTask = fault.Task
)

// Simulator is the service. It is an http.Handler, safe for concurrent use.
type Simulator struct {
	cfg     Config
	keys    keys
	rules   rules.Book
	ledger  *ledger
	sender  wire.Sender
	tasks   *task.Store
	gallery *gallery.Gallery
	faults  fault.Set
	routes  map[string]handler
}

// New returns a running service.
func New(cfg Config) *Simulator {
	cfg = cfg.withDefaults()
	s := &Simulator{
		cfg:     cfg,
		rules:   cfg.rules(),
		ledger:  newLedger(cfg.KeepRequests),
		sender:  wire.Sender{HeaderPrefix: cfg.HeaderPrefix, FrameDelay: cfg.FrameDelay},
		gallery: gallery.New(cfg.TaskTTL),
	}
	s.keys.set(cfg.Keys)
	s.tasks = task.New(cfg.tasks(), func(model string, images int) {
		s.ledger.bill(model, answer.Cost{Images: int64(images)})
	})
	s.routes = s.handlers()
	return s
}

// SetKeys replaces the keys that the service knows; none accepts every key.
func (s *Simulator) SetKeys(keys ...string) { s.keys.set(keys) }

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
func (s *Simulator) Requests() []Received { return s.ledger.list() }

// Count returns how many requests an endpoint has had.
func (s *Simulator) Count(endpoint string) int { return s.Tally().Requests[endpoint] }

// Tally returns the sums since the start or the last Reset. Tasks that have ended by the clock are billed, queried or
// not.
func (s *Simulator) Tally() Tally {
	s.tasks.Settle(s.cfg.Now())
	return s.ledger.tally()
}

// Violations returns the first hundred faults of requests, such as two Authorization headers, one line each. A test
// expects none.
func (s *Simulator) Violations() []string { return s.ledger.listViolations() }

// Reset forgets requests, sums and faults. Tasks stay.
func (s *Simulator) Reset() {
	s.ledger.reset()
	s.SetFault()
}

// ServeHTTP answers as the service would.
func (s *Simulator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c, err := s.receive(r)
	s.ledger.add(c.received)
	defer func() { s.cfg.Log("%s %s %s", r.Method, r.URL.Path, c.received.ID) }()
	a, err := s.decide(c, err)
	x := wire.Exchange{
		Sender: &s.sender, Ctx: r.Context(), W: w, Fault: c.fault, RequestID: c.received.ID, Streams: c.streams(),
		Status: func(status int) { s.ledger.setStatus(c.received, status) }, Bill: s.ledger.bill,
	}
	if err != nil {
		x.Refuse(answer.AsRefusal(err))
		return
	}
	x.Send(a)
}
