package redisstore

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/semaphore"

	"sluice/policy/limit"
	"sluice/policy/teams"
)

// remembered is how long a settled hold is known, so that a settlement whose reply was lost can be sent again; one of which
// another may hear late, for lateTruth.
const remembered = 15 * time.Minute

// Store keeps the accounts in Redis, where every replica sees them. Every change is one script, so it happens whole or
// not at all, and knows its hold's id, so it may be sent again when its reply was lost. It is safe for concurrent use.
type Store struct {
	// Mixed is called when a reply belonged to another question: the connections have lost their place and must be
	// dropped. Nil: nothing is done. Set it before the first call.
	Mixed  func()
	client redis.UniversalClient
	flight batcher            // of admissions
	Clock  func() int64       // microseconds; 0: Redis's own. Tests set it
	Now    func() time.Time   // this process's own, which decides nothing
	keys   sync.Map           // team id → *teamKeys; grows with the teams file
	own    limit.PerTeam[own] // what this process knows of each team
	Peer   Peer               // what this process is among the replicas
	lost   atomic.Int64
	today  atomic.Pointer[today]
}

// New returns the accounts that client leads to. The client sees to time limits and to connections; it must not
// send anything twice by itself.
func New(client redis.UniversalClient) *Store {
	return &Store{
		client: client, flight: batcher{client: client}, Clock: func() int64 { return 0 }, Now: time.Now,
		own: limit.PerTeam[own]{First: func() *own { return &own{restoring: semaphore.NewWeighted(1)} }},
	}
}

// Part gives each admission a round trip of its own. A cluster needs it: one slow node would hold up what is asked of the
// others. Call it before the first.
func (r *Store) Part() { r.flight.apart = true }

// Parted reports whether Redis has parts that may be away, and forget, each for itself.
func (r *Store) Parted() bool { return r.flight.apart }

func (r *Store) keysOf(team string) *teamKeys {
	if k, ok := r.keys.Load(team); ok {
		return k.(*teamKeys)
	}
	k, _ := r.keys.LoadOrStore(team, keysOf(team))
	return k.(*teamKeys)
}

// admit places a hold, and begins the accounts where the caller knows none and there are none. Of the loan it takes what is
// missing at a limit. A hold without an id is none: it is only told how the team stands.
func (r *Store) admit(ctx context.Context, h *limit.Hold, l *Loan, known witness) (standing, error) {
	if !h.Amounts.Valid() {
		return standing{}, limit.ErrAmounts
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
	call = append(call, r.Clock(), number, known.epoch, known.seq, h.Lease.Microseconds(), w.takes, w.tasksFor(h), flag(w.terms.Shadow), h.ID, holdText(h),
		today.dayText, today.monthText, today.startText, l.name(), l.Most[limit.StockTasks], p.unitCount, p.fieldCount)
	for i, unit := range p.units {
		call = append(call, h.Amounts[unit], p.quotas[2*i], p.quotas[2*i+1], l.Most[unit])
	}
	call = append(call, p.names(today.Day)...)
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
func notDone(number int64, reply []int64, err error) (of limit.Outcome, not bool) {
	if err == nil && len(reply) == 4 && reply[0] == number {
		of = limit.Outcome(reply[1])
	}
	return of, of == lost || of == restoring
}

// tasksFor is how many open tasks there may be when a hold is placed, for admit.lua.
func (w *wiredTerms) tasksFor(h *limit.Hold) any {
	if !h.Task {
		return ""
	}
	return w.terms.Tasks
}

// holdText is what stands in the hold's text behind its month.
func holdText(h *limit.Hold) string {
	held := limit.Held{ID: h.ID, Team: h.Team.ID, Model: h.Model, Endpoint: h.Endpoint, Amounts: h.Amounts}
	return string(appendHold(make([]byte, 0, 160), &held))
}

// read reads the reply of admit.lua. What was not told is 0.
func (p *plan) read(in []int64) (s standing) {
	s.Outcome, s.epoch, s.At, s.seq = limit.Outcome(in[0]), in[1], time.UnixMicro(in[2]).UTC(), in[3]
	s.Date = limit.CalendarOf(s.At)
	s.Fault, s.Wait = p.limit(int(in[4])), micros(in[5])
	in = in[6:]
	for i := range p.rates {
		rate := &p.rates[i]
		s.Rates[rate.unit] = limit.Fill{Left: leftIn(rate.rate, in[i]), Full: micros(in[i])}
	}
	in = in[len(p.rates):]
	s.Tasks = in[0]
	for i, c := range p.told {
		switch c.of {
		case cellHeld:
			s.Held[c.quota] = in[1+i]
		case cellUsed:
			s.Used[c.quota] = in[1+i]
			s.tells |= 1 << c.quota
		}
	}
	if took := in[1+len(p.told):]; len(took) > 0 {
		for i, unit := range p.units {
			s.took[unit] = took[i]
		}
		s.took[limit.StockTasks] = took[len(p.units)]
	}
	return s
}

// limit is the number of the limit that admit.lua finds at fault.
func (p *plan) limit(fault int) int {
	switch {
	case fault < 0 || fault >= limit.LimitTasks:
		return fault
	case fault < limit.LimitQuotas:
		return limit.LimitRates + p.rates[fault].unit
	}
	quota := fault - limit.LimitQuotas
	return limit.LimitQuotas + 2*p.units[quota/2] + quota%2
}

// look tells how a team stands to all of its limits.
func (r *Store) look(ctx context.Context, team *teams.Team, known witness) (s standing, err error) {
	k, number := r.keysOf(team.ID), newNumber()
	w := k.wired(team)
	call := append(lookScript.call(len(k.shared), 4+len(w.rates)), k.shared...)
	call = append(append(append(call, r.Clock(), number, known.epoch), w.rates...), known.seq)
	reply, err := lookScript.run(ctx, r.client, call)
	s, rest, err := readStanding(number, reply, err, limit.RateCount)
	if err != nil || s.Outcome != limit.Admitted {
		return s, err
	}
	for i, full := range rest {
		if rate := w.terms.Rates[i]; rate.Limit > 0 {
			s.Rates[i] = limit.Fill{Left: leftIn(rate, full), Full: micros(full)}
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

// Extend gives an open hold a new lease, counted from now by Redis's clock. One that ends sooner changes nothing.
func (r *Store) Extend(ctx context.Context, h *limit.Held, lease time.Duration) error {
	k, number := r.keysOf(h.Team), newNumber()
	reply, err := extendScript.run(ctx, r.client, append(extendScript.call(2, 4), k.open, k.hold+h.ID, r.Clock(), h.ID, number, lease.Microseconds()))
	in, err := said(number, reply, err, 2)
	if err == nil && in[0] == 1 {
		r.own.Get(h.Team).extended(h.ID, time.UnixMicro(in[1]))
	}
	return err
}

// Sweep charges up to most holds of a team whose lease has ended, and says how many there were.
func (r *Store) Sweep(ctx context.Context, team string, most int) (int, error) {
	k, number := r.keysOf(team), newNumber()
	var from, to int64
	if r.Peer.Gap != nil {
		from, to = r.Peer.Gap()
	}
	call := append(sweepScript.call(3, 8), k.quota, k.open, k.aside, r.Clock(), most, k.hold, k.ledger, number, r.Peer.ID, from, to)
	reply, err := sweepScript.run(ctx, r.client, call)
	s, n, err := readStanding(number, reply, err, 1)
	if err != nil {
		return 0, err
	}
	r.own.Get(team).know(&s)
	return int(n[0]), nil
}
