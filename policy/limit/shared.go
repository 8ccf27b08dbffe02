package limit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"sluice/policy"
)

// SharedConfig is what [NewShared] needs.
type SharedConfig struct {
	Redis    *Redis
	Timeout  time.Duration // of one call while a request waits for it
	Refuse   bool          // without Redis nothing is admitted; else by this process's share of the limits
	Replicas int           // how many processes share the limits; at least 1
	Now      func() time.Time
	// Changed is told when Redis goes away, and when it is back, for how long it was away. Nil: nobody is.
	Changed func(away bool, lasted time.Duration)
}

// Shared keeps the accounts in Redis and bridges the time in which it is away. A request waits for one call, of
// Timeout at most, also where it comes while its team is brought back; settlements wait behind the requests, in this process, until Redis has taken them.
//
// While Redis is away a team spends its share of what was left when it was last seen, by buckets that live as long as
// the process and are debited while all is well too, so that an outage is no fresh start. What it spends is posted when
// Redis is back, before the team is asked for there again. It is dated by Redis's clock, as far as that was known last. Create it with [NewShared]; it is safe for concurrent use.
type Shared struct {
	SharedConfig
	standby *Memory
	teams   sync.Map // team id → *bridge; grows with the teams file
	queue   *queue
	away    atomic.Pointer[time.Time] // since when no call has come through; nil: the last one did
	told    atomic.Bool               // Changed was
	reached atomic.Bool               // some call ever came through
	tended  tended
	walked  atomic.Pointer[walk] // nil: not yet
}

// NewShared starts the goroutines that settle. Close ends them.
func NewShared(config SharedConfig) *Shared {
	s := &Shared{SharedConfig: config, standby: NewMemory(config.Now), tended: tended{named: map[string]bool{}}}
	s.standby.dry.Store(true) // until Redis was seen, nobody knows what was spent a moment ago
	s.queue = newQueue(s)
	s.standby.late = func(h *Held) { // Redis may know it too, and so charge it once
		s.queue.keep(job{charge: &Charge{Held: h, Team: s.bridge(h.Team).team.Load(), Amounts: h.Amounts, Estimated: true, lapsed: true}})
	}
	return s
}

func (s *Shared) bridge(team string) *bridge {
	if b, ok := s.teams.Load(team); ok {
		return b.(*bridge)
	}
	b, _ := s.teams.LoadOrStore(team, &bridge{id: team})
	return b.(*bridge)
}

// tellAfter is how long Redis is away before anybody is told: a call that was too slow is no outage.
const tellAfter = time.Second

// heard notes whether a call came through.
func (s *Shared) heard(err error) {
	if errors.Is(err, errMixed) && s.Redis.Mixed != nil {
		s.Redis.Mixed()
	}
	if err != nil {
		if s.away.Load() == nil {
			now := s.Now()
			s.away.CompareAndSwap(nil, &now)
		}
		if since := s.away.Load(); since != nil && s.Now().Sub(*since) >= tellAfter && s.told.CompareAndSwap(false, true) && s.Changed != nil {
			s.Changed(true, 0)
		}
		return
	}
	if since := s.away.Swap(nil); since != nil && s.told.CompareAndSwap(true, false) && s.Changed != nil {
		s.Changed(false, s.Now().Sub(*since))
	}
	if !s.reached.Load() {
		s.reached.Store(true)
		s.standby.dry.Store(false)
	}
}

// Admit places a hold in all of its units at once, or refuses it and takes nothing. An error means that nobody knows
// what the team may still spend.
func (s *Shared) Admit(ctx context.Context, h *Hold) (Verdict, error) {
	if !h.Amounts.valid() {
		return Verdict{}, errAmounts
	}
	t := termsOf(h.Team)
	if v, never := h.neverFits(&t); never {
		return v, nil
	}
	b := s.bridge(h.Team.ID)
	b.see(h.Team, s.Now())
	// The wait for a team that is brought back counts, too: a request waits for Redis no longer than this, all in all.
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Timeout)
	defer cancel()
	if b.stays() || call.Err() != nil { // nothing is asked that could not be answered in time
		return s.admitLocally(b, h, &t, ErrAway)
	}
	v, err := s.Redis.place(call, h, &t)
	s.heard(err)
	if err != nil {
		return s.admitLocally(b, h, &t, err)
	}
	s.fresh(b)
	if v.owed != nil {
		s.queue.keep(job{charge: v.owed, tried: s.Now()})
	}
	if v.Held != nil && !s.Refuse {
		s.debit(h, v.Held, &t)
	}
	return v, nil
}

// Settle charges a hold, once, with what the request used, and reports whether this call did. What cannot be charged
// now is kept and charged later, although an error is returned.
func (s *Shared) Settle(ctx context.Context, c *Charge) (bool, error) {
	if s.settleLocally(c) {
		c.tell(true)
		return true, nil
	}
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Timeout)
	defer cancel()
	done, err := s.Redis.Settle(call, c)
	j := job{charge: c}
	s.came(&j, result{done, err}, s.Now())
	if err != nil {
		s.queue.keep(j)
	}
	return done, err
}

// SettleLater charges a hold without making its request wait. Nothing is lost while the process lives: what cannot be
// charged is kept until it can. Where more waits than the queue holds, the caller waits after all.
func (s *Shared) SettleLater(c *Charge) {
	if s.settleLocally(c) {
		c.tell(true)
	} else {
		s.queue.add(job{charge: c})
	}
}

// came notes what came of a charge, and tells who waits for it. Where the reply of an earlier try was lost, the hold that
// is settled now was settled by that one, most likely.
func (s *Shared) came(j *job, of result, sent time.Time) {
	s.heard(of.err)
	if of.done {
		s.correct(j.charge)
	}
	if of.done || of.err == nil {
		j.charge.tell(of.done || !j.tried.IsZero() && !j.old(sent))
	}
	if of.err != nil && j.tried.IsZero() && !errors.Is(of.err, ErrAway) {
		j.tried = sent
	}
}

// Extend gives an open hold a new lease, soon. One that ends sooner than the one it has changes nothing.
func (s *Shared) Extend(_ context.Context, h *Held, lease time.Duration) error {
	if s.standby.extendHere(h, lease) {
		s.queue.add(job{extend: h, lease: lease})
	}
	return nil
}

// Look reports how a team stands, and takes nothing.
func (s *Shared) Look(ctx context.Context, team *policy.Team) (Report, error) {
	b := s.bridge(team.ID)
	if b.local.Load() {
		return Report{}, ErrAway
	}
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Timeout)
	defer cancel()
	report, err := s.Redis.Look(call, team)
	s.heard(err)
	if err == nil {
		s.fresh(b)
	}
	return report, err
}

// Ledger returns the rows of one team, or of all where team is empty, for the days, each yyyymmdd.
func (s *Shared) Ledger(ctx context.Context, team string, days []int) ([]Row, error) {
	return s.Redis.Ledger(ctx, team, days)
}

// TeamLedger returns the rows of one team for the days, each yyyymmdd, where they are at most so many; else [ErrRows].
func (s *Shared) TeamLedger(ctx context.Context, team string, days []int, most int) ([]Row, error) {
	return s.Redis.TeamLedger(ctx, team, days, most)
}

// Degraded reports whether some team is not limited by the shared state at the moment.
func (s *Shared) Degraded() bool { return s.away.Load() != nil || s.localTeams() > 0 }

// State is nil when all is well; else it says what is wrong, in words without secrets.
func (s *Shared) State() error {
	waiting := s.queue.waiting()
	teams := s.localTeams()
	then := "teams spend their share of this process"
	if s.Refuse {
		then = "requests are refused"
	}
	if since := s.away.Load(); since != nil {
		return fmt.Errorf("Redis has been away for %s; %s; %d settlements wait", s.Now().Sub(*since).Round(time.Second), then, waiting)
	}
	if teams > 0 {
		return fmt.Errorf("Redis answers, but not for %d teams; %s; %d settlements wait", teams, then, waiting)
	}
	return nil
}

func (s *Shared) localTeams() (n int) {
	s.teams.Range(func(_, b any) bool {
		if b.(*bridge).local.Load() {
			n++
		}
		return true
	})
	return n
}

// Close posts what waits, and returns an error that tells what could not be posted before ctx ended.
func (s *Shared) Close(ctx context.Context) error {
	s.queue.drain(ctx)
	err := s.joinAll(ctx)
	if lost := s.queue.waiting(); lost > 0 {
		err = errors.Join(err, fmt.Errorf("%d settlements were not posted; their holds are charged as estimated when their leases end", lost))
	}
	return err
}
