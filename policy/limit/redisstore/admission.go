package redisstore

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"sluice/policy/limit"
)

// roundMost is how many admissions make a round trip full.
const roundMost = 32

// Loan is the part of its replica's allowance that a call may take if a quota has no room left. The zero Loan is nothing.
type Loan struct {
	Name any         // the allowance's, a string; nil: no allowance
	Most limit.Stock // what may be taken
	Took limit.Stock // what was taken, set by Place
}

func (l *Loan) name() any {
	if l.Name == nil {
		return ""
	}
	return l.Name
}

// admission is one request of a call of admit.lua.
type admission struct {
	hold *limit.Hold
	held *limit.Held // as it is by the caller's clock if all of its rates are taken from
	loan *Loan
	team *team
	kind admissionKind
	seq  int64 // known

	lease int64
	key   string // of the hold
	text  wireText
	lent  wireText
	spans [limit.RateCount * limit.TeamScopes]int64 // how long the amounts take to refill, for each rate of the plan

	state versionedState
	err   error
}

// admissionKind is what the requests of one call share.
type admissionKind struct {
	plan  *plan // of one reading of a team's limits
	today *today
	epoch int64 // known
	loan  any   // the allowance's name
	task  bool
}

// admissions pools admissions, so that the next ones reuse their memory.
var admissions = sync.Pool{New: func() any { return new(admission) }}

// newAdmission returns a hold as a request of a call.
func newAdmission(t *team, day *today, h *limit.Hold, l *Loan, known version) *admission {
	a := admissions.Get().(*admission)
	a.team = t
	w := t.wired(h.Team, h.Key)
	a.hold, a.loan, a.seq, a.err = h, l, known.seq, nil
	a.kind = admissionKind{w.planFor(&h.Amounts), day, known.epoch, l.Name, h.Task}
	a.held = limit.HeldOf(h, &w.terms, &day.Calendar)
	a.held.Rates = a.kind.plan.rateSet
	a.lease, a.key, a.text = h.Lease.Microseconds(), a.team.hold+h.ID, appendHold(a.text[:0], a.held)
	a.lent = appendNumbers(a.lent[:0], l.Most[:])
	for i := range a.kind.plan.rates {
		rate := &a.kind.plan.rates[i]
		a.spans[i] = limit.Taking(rate.rate, h.Amounts[rate.unit])
	}
	return a
}

// sendAdmissions sends requests in one round trip, those of one kind in one call. Afterwards each has its reply or its error. It
// changes the list's order.
func (w *wire) sendAdmissions(ctx context.Context, list admissionGroup) {
	var room [roundMost]*call
	sent := room[:0]
	for rest := list; len(rest) > 0; {
		var first admissionGroup
		first, rest = rest.first()
		sent = append(sent, first.call(w))
	}
	w.send(ctx, sent...)
	for _, c := range sent {
		answered := list[:c.requests]
		list = list[c.requests:]
		answered.receive(w, c)
	}
}

// made is the hold as it was placed.
func (a *admission) made() *limit.Held {
	a.held.Day, a.held.Month = a.state.Date.Day, a.state.Date.Month
	if a.state.Outcome != limit.Admitted {
		a.held.Rates = 0
	}
	return a.held
}

// admissionGroup is requests of one kind, or of several.
type admissionGroup []*admission

// first separates the requests of the first one's kind from the rest.
func (g admissionGroup) first() (first, rest admissionGroup) {
	n := 1
	for i := 1; i < len(g); i++ {
		if g[i].kind == g[0].kind {
			g[n], g[i] = g[i], g[n]
			n++
		}
	}
	return g[:n], g[n:]
}

// call is the group's call of admit.lua.
func (g admissionGroup) call(w *wire) *call {
	a := g[0]
	k, p, t := &a.kind, a.kind.plan, a.team
	c := calls.Get().(*call).start(p.script(), 2+len(p.rates)+len(g))
	c.args = append(c.args, t.key, t.openKey)
	for i := range p.rates {
		c.args = append(c.args, p.rates[i].key)
	}
	c.requests, c.known = len(g), version{k.epoch, 0}
	for _, a := range g {
		c.args = append(c.args, &a.key)
		c.known.seq = max(c.known.seq, a.seq)
	}
	c.begun(w.Clock())
	c.args = append(c.args, &c.known.epoch, &c.known.seq, p.takes, p.tasksFor(k.task), p.shadow, k.today.dayText, k.today.monthText,
		k.today.startText, a.loan.name())
	c.args = append(c.args, p.fixed(k.today.Day)...)
	for _, a := range g {
		c.args = append(c.args, &a.lease, &a.text, &a.lent)
		for _, unit := range p.units {
			c.args = append(c.args, &a.hold.Amounts[unit])
		}
		for i := range p.rates {
			c.args = append(c.args, &a.spans[i])
		}
	}
	c.args = append(c.args, p.last...)
	return c
}

// receive sets each request's state, or its error, from the reply to their call.
func (g admissionGroup) receive(w *wire, c *call) {
	in, err := w.replyTo(c)
	if err == nil {
		g.read(in)
		err = in.end()
	}
	for _, a := range g {
		a.err = err
	}
	if err == nil { // after an error the client may still use it
		c.reuse()
	}
}

// read reads the states. Numbers that the reply lacks are 0.
func (g admissionGroup) read(in *reply) {
	p := g[0].kind.plan
	var s versionedState // before the next request
	_, s.epoch, s.At = in.next(), in.next(), time.UnixMicro(in.next()).UTC()
	s.seq, s.Tasks, s.Date = in.next(), in.next(), g[0].kind.today.of(s.At)
	for i := range p.quotas {
		s.Held[p.quota(i)] = in.next()
	}
	for i, most := range p.quotas {
		if most != "" {
			s.Used[p.quota(i)] = in.next()
			s.hasUsed |= 1 << p.quota(i)
		}
	}
	for _, a := range g {
		outcome, seq := limit.Outcome(in.next()), in.next()
		if seq > s.seq { // it was placed
			s.seq, s.Tasks = seq, s.Tasks+int64(flag(a.hold.Task))
			for i := range p.quotas {
				s.Held[p.quota(i)] += a.hold.Amounts[p.units[i/2]]
			}
		}
		a.state = s
		a.state.Outcome, a.state.Fault, a.state.Wait = outcome, p.limit(int(in.next())), micros(in.next())
		for i := range p.rates {
			a.state.Of(p.rates[i].kind).Rates[p.rates[i].unit] = limit.FillOf(p.rates[i].rate, in.next())
		}
		for _, s := range p.inner {
			b := a.state.Of(s.kind)
			b.Other = in.next() == 1
			for _, at := range s.quotas {
				b.Used[p.quota(at)], b.Held[p.quota(at)] = in.next(), in.next()
			}
		}
	}
	for i := 0; len(in.rest) > 0 && i < len(g); i++ {
		for _, unit := range p.units {
			g[i].state.took[unit] = in.next()
		}
		g[i].state.took[limit.StockTasks] = in.next()
	}
}

// moreTime is how much later than the sender's deadline a call's may be: the round ends at the sender's.
const moreTime = 5 * time.Millisecond

// batcher sends concurrent admissions in one round trip, those of one team in one call. It waits only for goroutines that are
// ready to run: a single caller sends immediately, and no call waits for the reply of an earlier round trip. With the library's
// own pipelining a call would take two round trips over a slow network.
type batcher struct {
	*wire
	callers atomic.Int32
	mu      sync.Mutex
	next    *round // nil: the next caller begins one
}

// round is the admissions of one round trip.
type round struct {
	list  admissionGroup
	until time.Time // the sender's deadline
	done  chan struct{}
}

// process sends the admissions of one request, and returns when each has its reply or its error. Deadlines hold. If ctx is cancelled
// earlier, other calls of the round may fail, too.
func (b *batcher) process(ctx context.Context, of admissionGroup) {
	defer b.callers.Add(-1)
	until, bounded := ctx.Deadline()
	if b.callers.Add(1) == 1 || !bounded {
		b.sendAdmissions(ctx, of)
		return
	}
	switch r, sends := b.enqueue(of, until); {
	case r == nil:
		b.sendAdmissions(ctx, of)
	case sends:
		b.sendRound(ctx, r)
	default:
		<-r.done
	}
}

// enqueue adds admissions to the next round, and reports whether its caller sends the round. It returns nil if the sender's deadline is
// later than this one's, or much earlier.
func (b *batcher) enqueue(of admissionGroup, until time.Time) (r *round, sends bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r = b.next; r == nil {
		b.next = &round{list: append(make(admissionGroup, 0, roundMost), of...), until: until, done: make(chan struct{})}
		return b.next, true
	}
	if until.Before(r.until) || until.Sub(r.until) > moreTime {
		return nil, false
	}
	if r.list = append(r.list, of...); len(r.list) >= roundMost {
		b.next = nil
	}
	return r, false
}

// sendRound sends a round after the goroutines that are ready to run have run.
func (b *batcher) sendRound(ctx context.Context, r *round) {
	defer close(r.done)
	runtime.Gosched()
	b.mu.Lock()
	if b.next == r {
		b.next = nil
	}
	b.mu.Unlock()
	b.sendAdmissions(ctx, r.list)
}
