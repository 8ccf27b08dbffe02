package redisstore

import (
	"context"
	"strconv"
	"sync"
	"time"

	"sluice/policy/limit"
)

// admission is one request of a call of admit.lua.
type admission struct {
	hold *limit.Hold
	team *team
	kind admissionKind
	seq  int64    // known
	args wireText // its part of the arguments

	state standing
	err   error
}

// admissionKind is what the requests of one call share.
type admissionKind struct {
	terms *wiredTerms // of one reading of a team's limits
	units uint        // that they are charged in: a bit for each
	today *today
	epoch int64 // known
	loan  any   // the allowance's name
	task  bool
}

// charged reports whether the requests are charged in a unit.
func (k *admissionKind) charged(unit int) bool { return k.units&(1<<unit) != 0 }

// admissions are used admissions, whose memory the next ones use.
var admissions = sync.Pool{New: func() any { return new(admission) }}

// newAdmission returns a request as a call takes it.
func newAdmission(t *team, day *today, h *limit.Hold, l *Loan, known version) *admission {
	a := admissions.Get().(*admission)
	a.team, a.hold, a.seq, a.err = t, h, known.seq, nil
	a.kind = admissionKind{t.wired(h.Team), 0, day, known.epoch, l.Name, h.Task}
	for u, n := range h.Amounts {
		if n > 0 {
			a.kind.units |= 1 << u
		}
	}
	var room [192]byte
	b := appendText(append(a.args[:0], `{"id":`...), h.ID)
	b = strconv.AppendInt(append(b, `,"lease":`...), h.Lease.Microseconds(), 10)
	b = appendText(append(b, `,"text":`...), appendHoldText(room[:0], h))
	if l.Name != nil {
		b = appendNumbers(append(b, `,"lent":`...), l.Most[:])
	}
	a.args = append(appendNumbers(append(b, `,"amounts":`...), h.Amounts[:]), '}')
	return a
}

// sendAdmissions sends requests in one round trip, those of one kind in one call. Afterwards each has its state or its error. It
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
	k := &g[0].kind
	seq := int64(0)
	for _, a := range g {
		seq = max(seq, a.seq)
	}
	c := calls.Get().(*call)
	b := strconv.AppendInt(append(c.body[:0], `{"epoch":`...), k.epoch, 10)
	b = strconv.AppendInt(append(b, `,"seq":`...), seq, 10)
	b = strconv.AppendBool(append(append(b, k.today.args...), `,"task":`...), k.task)
	b = append(b, `,"units":[`...)
	for u := range k.terms.terms.Rates {
		if k.charged(u) {
			b = append(strconv.AppendInt(b, int64(u)+1, 10), ',')
		}
	}
	if b[len(b)-1] == ',' {
		b = b[:len(b)-1]
	}
	loan, _ := k.loan.(string)
	b = appendText(append(b, `],"loan":`...), loan)
	b = append(append(append(b, `,"terms":`...), k.terms.args...), `,"holds":[`...)
	for i, a := range g {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, a.args...)
	}
	c.body, c.requests = append(b, `]}`...), len(g)
	script := admitScript
	if k.terms.terms.ByTag {
		script = admitTagsScript
	}
	return w.beginIn(c, script, g[0].team.key)
}

// hear gives each request its state by the reply to their call, or its error.
func (g admissionGroup) hear(w *wire, c *call) {
	in, err := w.said(c)
	if err == nil {
		g.read(in)
		err = in.end()
	}
	for _, a := range g {
		a.err = err
	}
	if err == nil { // else the client may still use it
		clear(c.args)
		*c = call{args: c.args[:0], body: c.body}
		calls.Put(c)
	}
}

// read reads the states. What a reply lacks is 0.
func (g admissionGroup) read(in *reply) {
	k := &g[0].kind
	t := &k.terms.terms
	var s standing
	_, s.epoch, s.At = in.next(), in.next(), time.UnixMicro(in.next()).UTC()
	s.seq, s.Tasks, s.Date = in.next(), in.next(), k.today.of(s.At)
	for q := range s.Held {
		if k.charged(q / 2) {
			s.Held[q] = in.next()
		}
	}
	for q := range s.Used {
		if k.charged(q/2) && t.Quotas[q] != limit.None {
			s.Used[q] = in.next()
			s.hasUsed |= 1 << q
		}
	}
	for _, a := range g {
		outcome, seq := limit.Outcome(in.next()), in.next()
		if seq > s.seq { // it was placed
			s.seq = seq
			for q := range s.Held {
				s.Held[q] += a.hold.Amounts[q/2]
			}
			s.Tasks += int64(flag(k.task))
		}
		a.state = s
		a.state.Outcome, a.state.Fault, a.state.Wait = outcome, int(in.next()), micros(in.next())
		a.state.readOwn(k, in)
	}
	for i := 0; len(in.rest) > 0 && i < len(g); i++ {
		for u := range g[i].state.took {
			g[i].state.took[u] = in.next()
		}
	}
}

// readOwn reads the buckets that a request was taken from, and the quotas of its value of the tag.
func (s *standing) readOwn(k *admissionKind, in *reply) {
	t := &k.terms.terms
	for u := range t.Rates {
		if k.charged(u) && t.Rates[u].Limit > 0 {
			s.Rates[u] = limit.FillOf(t.Rates[u], in.next())
		}
	}
	if !t.ByTag {
		return
	}
	s.TagOther = in.next() == 1
	for q, most := range t.TagQuotas {
		if k.charged(q/2) && most != limit.None {
			s.TagUsed[q], s.TagHeld[q] = in.next(), in.next()
		}
	}
}
