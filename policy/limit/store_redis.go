package limit

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/semaphore"

	"sluice/policy/teams"
)

// remembered is how long a settled hold is known, so that a settlement whose reply was lost can be sent again; one of which
// another may hear late, for lateTruth.
const remembered = 15 * time.Minute

// Redis keeps the accounts in Redis, where every replica sees them. Every change is one script, so it happens whole or
// not at all, and knows its hold's id, so it may be sent again when its reply was lost. It is safe for concurrent use.
type Redis struct {
	// Mixed is called when a reply belonged to another question: the connections have lost their place and must be
	// dropped. Nil: nothing is done. Set it before the first call.
	Mixed  func()
	client redis.UniversalClient
	flight flight           // of admissions
	clock  func() int64     // microseconds; 0: Redis's own. Tests set it
	now    func() time.Time // this process's own, which decides nothing
	keys   sync.Map         // team id → *teamKeys; grows with the teams file
	own    perTeam[own]     // what this process knows of each team
	peer   peer             // what this process is among the replicas
	lost   atomic.Int64
	today  atomic.Pointer[today]
}

// NewRedis returns the accounts that client leads to. The client sees to time limits and to connections; it must not
// send anything twice by itself.
func NewRedis(client redis.UniversalClient) *Redis {
	return &Redis{
		client: client, flight: flight{client: client}, clock: func() int64 { return 0 }, now: time.Now,
		own: perTeam[own]{first: func() *own { return &own{restoring: semaphore.NewWeighted(1)} }},
	}
}

// Part gives each admission a round trip of its own. A cluster needs it: one slow node would hold up what is asked of the
// others. Call it before the first.
func (r *Redis) Part() { r.flight.apart = true }

// parted reports whether Redis has parts that may be away, and forget, each for itself.
func (r *Redis) parted() bool { return r.flight.apart }

func (r *Redis) keysOf(team string) *teamKeys {
	if k, ok := r.keys.Load(team); ok {
		return k.(*teamKeys)
	}
	k, _ := r.keys.LoadOrStore(team, keysOf(team))
	return k.(*teamKeys)
}

// admit places a hold, and begins the accounts where the caller knows none and there are none. Of the loan it takes what is
// missing at a limit. A hold without an id is none: it is only told how the team stands.
func (r *Redis) admit(ctx context.Context, h *Hold, t *terms, l *Loan, known witness) (standing, error) {
	if !h.Amounts.valid() {
		return standing{}, errAmounts
	}
	if h.ID == "" {
		return r.look(ctx, h.Team, known)
	}
	k, number := r.keysOf(h.Team.ID), newNumber()
	w := k.wired(h.Team)
	p := w.planFor(k, &h.Amounts)
	room := admitScript.lent(3 + len(p.rates))
	call := append(*room, k.quota, k.open, k.hold+h.ID)
	for i := range p.rates {
		call = append(call, p.rates[i].key)
	}
	today := r.calendar()
	call = append(call, r.clock(), number, known.epoch, known.seq, h.Lease.Microseconds(), w.takes, w.tasksFor(h), flag(t.shadow), h.ID, holdText(h),
		today.dayText, today.monthText, today.startText, l.name(), l.Most[stockTasks], p.unitCount, p.fieldCount)
	for i, unit := range p.units {
		call = append(call, h.Amounts[unit], p.quotas[2*i], p.quotas[2*i+1], l.Most[unit])
	}
	call = append(call, p.names(today.day)...)
	for i := range p.rates {
		rate := &p.rates[i]
		call = append(call, rate.text, taking(rate.rate, h.Amounts[rate.unit]), rate.fullText, rate.ttl)
	}
	reply, err := admitScript.runShared(ctx, &r.flight, call)
	if *room = call; err == nil { // else somebody may still look at it
		giveBack(room)
	}
	if of, not := notDone(number, reply, err); not {
		return failed(of), nil
	}
	length := 7 + len(p.rates) + len(p.told)
	if took := length + len(p.units) + 1; len(reply) == 1+took {
		length = took
	}
	in, err := said(number, reply, err, length)
	if err != nil {
		return standing{}, err
	}
	return p.read(in), nil
}

// notDone reports whether a reply says that nothing was done, because the accounts known are gone or are being put back.
func notDone(number int64, reply []int64, err error) (of outcome, not bool) {
	if err == nil && len(reply) == 4 && reply[0] == number {
		of = outcome(reply[1])
	}
	return of, of == lost || of == restoring
}

// tasksFor is how many open tasks there may be when a hold is placed, for admit.lua.
func (w *wiredTerms) tasksFor(h *Hold) any {
	if !h.Task {
		return ""
	}
	return w.terms.tasks
}

// holdText is what stands in the hold's text behind its month.
func holdText(h *Hold) string {
	held := Held{ID: h.ID, Team: h.Team.ID, Model: h.Model, Endpoint: h.Endpoint, Amounts: h.Amounts}
	return string(appendHold(make([]byte, 0, 160), &held))
}

// read reads the reply of admit.lua. What was not told is 0.
func (p *plan) read(in []int64) (s standing) {
	s.outcome, s.epoch, s.at, s.seq = outcome(in[0]), in[1], time.UnixMicro(in[2]).UTC(), in[3]
	s.date = calendarOf(s.at)
	s.fault, s.wait = p.limit(int(in[4])), micros(in[5])
	in = in[6:]
	for i := range p.rates {
		rate := &p.rates[i]
		s.rates[rate.unit] = fill{left: leftIn(rate.rate, in[i]), full: micros(in[i])}
	}
	in = in[len(p.rates):]
	s.tasks = in[0]
	for i, c := range p.told {
		switch c.of {
		case cellHeld:
			s.held[c.quota] = in[1+i]
		case cellUsed:
			s.used[c.quota] = in[1+i]
			s.tells |= 1 << c.quota
		}
	}
	if took := in[1+len(p.told):]; len(took) > 0 {
		for i, unit := range p.units {
			s.took[unit] = took[i]
		}
		s.took[stockTasks] = took[len(p.units)]
	}
	return s
}

// limit is the number of the limit that admit.lua finds at fault.
func (p *plan) limit(fault int) int {
	switch {
	case fault < 0 || fault >= limitTasks:
		return fault
	case fault < limitQuotas:
		return limitRates + p.rates[fault].unit
	}
	quota := fault - limitQuotas
	return limitQuotas + 2*p.units[quota/2] + quota%2
}

// look tells how a team stands to all of its limits.
func (r *Redis) look(ctx context.Context, team *teams.Team, known witness) (s standing, err error) {
	k, number := r.keysOf(team.ID), newNumber()
	w := k.wired(team)
	call := append(lookScript.call(len(k.shared), 4+len(w.rates)), k.shared...)
	call = append(append(append(call, r.clock(), number, known.epoch), w.rates...), known.seq)
	reply, err := lookScript.run(ctx, r.client, call)
	s, rest, err := readStanding(number, reply, err, rateCount)
	if err != nil || s.outcome != admitted {
		return s, err
	}
	for i, full := range rest {
		if rate := w.terms.rates[i]; rate.Limit > 0 {
			s.rates[i] = fill{left: leftIn(rate, full), full: micros(full)}
		}
	}
	return s, nil
}

func flag(on bool) int {
	if on {
		return 1
	}
	return 0
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// extend gives an open hold a new lease and reports whether it is open.
func (r *Redis) extend(ctx context.Context, h *Held, lease time.Duration) (bool, error) {
	k, number := r.keysOf(h.Team), newNumber()
	reply, err := extendScript.run(ctx, r.client, append(extendScript.call(2, 4), k.open, k.hold+h.ID, r.clock(), h.ID, number, lease.Microseconds()))
	in, err := said(number, reply, err, 2)
	if err != nil || in[0] == 0 {
		return false, err
	}
	r.own.get(h.Team).extended(h.ID, time.UnixMicro(in[1]))
	return true, nil
}

func (r *Redis) sweep(ctx context.Context, team string, most int) (int, error) {
	k, number := r.keysOf(team), newNumber()
	var from, to int64
	if r.peer.gap != nil {
		from, to = r.peer.gap()
	}
	call := append(sweepScript.call(3, 8), k.quota, k.open, k.aside, r.clock(), most, k.hold, k.ledger, number, r.peer.id, from, to)
	reply, err := sweepScript.run(ctx, r.client, call)
	s, n, err := readStanding(number, reply, err, 1)
	if err != nil {
		return 0, err
	}
	r.own.get(team).know(&s)
	return int(n[0]), nil
}
