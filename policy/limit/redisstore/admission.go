package redisstore

import (
	"context"
	"sync"
	"time"

	"sluice/policy/limit"
)

// admission is one request of a call of admit.lua.
type admission struct {
	hold *limit.Hold
	loan *Loan
	team *team
	kind admissionKind
	seq  int64 // known

	lease int64
	key   string // of the hold
	text  wireText
	lent  wireText
	spans [limit.RateCount]int64 // how long the amounts take to refill, for each rate of the plan

	reply admissionReply
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

// admissionReply is a request's part of the reply, and what all parts share. It is read by the request's own goroutine.
type admissionReply struct {
	head, own, took []int64
	placed          limit.Amounts // by the call's requests up to this one
	tasks           int64         // open
}

// wireText is an argument whose bytes are used again: unlike a string it costs no allocation.
type wireText []byte

// MarshalBinary implements the library's interface of arguments.
func (t *wireText) MarshalBinary() ([]byte, error) { return *t, nil }

// admissions are used admissions, whose memory the next ones use.
var admissions = sync.Pool{New: func() any { return new(admission) }}

// newAdmission returns a request as a call takes it.
func newAdmission(t *team, day *today, h *limit.Hold, l *Loan, known version) *admission {
	a := admissions.Get().(*admission)
	a.team = t
	w := a.team.wired(h.Team)
	a.hold, a.loan, a.seq, a.err, a.reply = h, l, known.seq, nil, admissionReply{}
	a.kind = admissionKind{w.planFor(a.team.teamKeys, &h.Amounts), day, known.epoch, l.Name, h.Task}
	a.lease, a.key, a.text = h.Lease.Microseconds(), a.team.hold+h.ID, appendHoldText(a.text[:0], h)
	a.lent = appendStock(a.lent[:0], &l.Most)
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
		heard := list[:c.requests]
		list = list[c.requests:]
		heard.hear(w, c)
	}
}

// admissionGroup is requests of one kind, or of several.
type admissionGroup []*admission

// first parts those of the first one's kind from the rest.
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
	c := w.beginIn(calls.Get().(*call), p.script(), 2+len(p.rates)+len(g)).add(t.shared[limit.RateCount:]...)
	for i := range p.rates {
		c.add(p.rates[i].key)
	}
	c.requests, c.known = len(g), version{k.epoch, 0}
	for _, a := range g {
		c.args = append(c.args, &a.key)
		c.known.seq = max(c.known.seq, a.seq)
	}
	c.begun(w.Clock())
	c.add(&c.known.epoch, &c.known.seq, p.takes, p.tasksFor(k.task), p.shadow, k.today.dayText, k.today.monthText, k.today.startText, a.loan.name()).add(p.fixed(k.today.Day)...)
	for _, a := range g {
		c.args = append(c.args, &a.lease, &a.text, &a.lent)
		for _, unit := range p.units {
			c.args = append(c.args, &a.hold.Amounts[unit])
		}
		for i := range p.rates {
			c.args = append(c.args, &a.spans[i])
		}
	}
	c.args = append(c.args, p.byTag...)
	return c
}

// hear gives each request its part of the reply to their call, or its error.
func (g admissionGroup) hear(w *wire, c *call) {
	p := g[0].kind.plan
	head, own, took := 5+2*len(p.units)+p.capped, 4+len(p.rates)+p.tagReply(), len(p.units)+1
	length := head + own*len(g)
	if all := length + took*len(g); len(c.reply.Val()) == 1+all {
		length = all
	}
	in, err := w.said(c, length)
	var last admissionReply
	if err == nil {
		last = admissionReply{head: in[:head], own: in[2:4], tasks: in[4]}
	}
	for i, a := range g {
		if a.err = err; err != nil {
			continue
		}
		seq := last.own[1]
		if last.own = in[head+own*i : head+own*(i+1)]; last.own[1] > seq { // it was placed
			last.placed = last.placed.Plus(a.hold.Amounts)
			last.tasks += int64(flag(a.hold.Task))
		}
		if rest := in[head+own*len(g):]; len(rest) > 0 {
			last.took = rest[took*i : took*(i+1)]
		}
		a.reply = last
	}
	if err == nil { // else the client may still use it
		clear(c.args)
		*c = call{args: c.args[:0]}
		calls.Put(c)
	}
}

// read reads the reply. What it lacks is 0.
func (p *plan) read(of admissionReply) (s standing) {
	own := of.own
	s.version, s.At = version{of.head[1], own[1]}, time.UnixMicro(of.head[2]).UTC()
	s.Date = limit.CalendarOf(s.At)
	s.Outcome, s.Fault, s.Wait = limit.Outcome(own[0]), p.limit(int(own[2])), micros(own[3])
	for i := range p.rates {
		rate := &p.rates[i]
		s.Rates[rate.unit] = limit.FillOf(rate.rate, own[4+i])
	}
	if p.byTag != nil {
		p.readTag(&s, own[4+len(p.rates):])
	}
	s.Tasks = of.tasks
	used := of.head[5+2*len(p.units):]
	for i, unit := range p.units {
		for period := range 2 {
			q := 2*unit + period
			s.Held[q] = of.head[5+2*i+period] + of.placed[unit]
			if p.quotas[2*i+period] != "" {
				s.Used[q], used = used[0], used[1:]
				s.hasUsed |= 1 << q
			}
		}
		if of.took != nil {
			s.took[unit] = of.took[i]
		}
	}
	if of.took != nil {
		s.took[limit.StockTasks] = of.took[len(p.units)]
	}
	return s
}

// tagReply is how many numbers of a request's part of the reply are about its tag.
func (p *plan) tagReply() int {
	if p.byTag == nil {
		return 0
	}
	return 1 + 2*len(p.tagged)
}

// readTag reads those numbers.
func (p *plan) readTag(s *standing, of []int64) {
	s.TagOther = of[0] == 1
	for i, at := range p.tagged {
		q := 2*p.units[at/2] + at%2
		s.TagUsed[q], s.TagHeld[q] = of[1+2*i], of[2+2*i]
	}
}

// limit is the number of the limit that admit.lua finds at fault.
func (p *plan) limit(fault int) int {
	switch {
	case fault >= limit.LimitTags:
		quota := fault - limit.LimitTags
		return limit.LimitTags + 2*p.units[quota/2] + quota%2
	case fault < 0 || fault >= limit.LimitTasks:
		return fault
	case fault < limit.LimitQuotas:
		return limit.LimitRates + p.rates[fault].unit
	}
	quota := fault - limit.LimitQuotas
	return limit.LimitQuotas + 2*p.units[quota/2] + quota%2
}
