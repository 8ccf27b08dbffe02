package limit

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"sluice/policy/teams"

	"golang.org/x/sync/semaphore"
)

// SharedConfig is what [NewShared] needs.
type SharedConfig struct {
	Redis    *Redis
	Timeout  time.Duration // of one call while a request waits for it
	Refuse   bool          // without Redis nothing is admitted; else what Redis has set aside for this process
	Replicas int           // how many processes share the rates; at least 1
	// Bridge is how long an allowance may be spent after it was last renewed: outages as long as this are bridged, as far as
	// allowances reach. 0: 10 minutes.
	Bridge time.Duration
	Now    func() time.Time
	// Changed is told when Redis goes away, and when it is back, for how long it was away. Nil: nobody is.
	Changed func(away bool, lasted time.Duration)
	// Miscounted is told once when other replicas are alive than Replicas says. Nil: nobody is.
	Miscounted func(err error)
}

// bridgeDefault is the default of SharedConfig.Bridge.
const bridgeDefault = 10 * time.Minute

// Shared keeps the accounts in Redis and goes on for a while where it is away. A request waits for one call, of Timeout at
// most; settlements wait behind the requests, in this process, until Redis has taken them.
//
// While Redis is away a team spends its allowance here: what Redis set aside for it at this replica. So no quota is passed,
// whichever replicas are cut off. Rates are kept by buckets that live as long as the process, each replica's share of them,
// and are debited while all is well, too. What was spent is reported when Redis is back; requests do not wait for that.
// Create it with [NewShared]; it is safe for concurrent use.
type Shared struct {
	SharedConfig
	id       string  // of this process, among the replicas
	rates    *shares // the rates without Redis
	teams    perTeam[books]
	queue    *queue
	away     atomic.Pointer[time.Time] // since when no call has come through; nil: the last one did
	told     atomic.Bool               // Changed was
	reached  atomic.Bool               // some call ever came through
	ahead    atomic.Int64              // nanoseconds that Redis's clock is ahead of this process's
	tended   tended
	replicas replicas
	walked   atomic.Pointer[walk] // nil: not yet
}

// NewShared starts the goroutines that settle. Close ends them.
func NewShared(config SharedConfig) *Shared {
	if config.Bridge == 0 {
		config.Bridge = bridgeDefault
	}
	s := &Shared{
		SharedConfig: config, id: rand.Text()[:12], rates: newShares(config.Replicas, config.Now), tended: tended{named: map[string]bool{}},
		teams:    perTeam[books]{first: func() *books { return &books{meeting: semaphore.NewWeighted(1)} }},
		replicas: replicas{under: semaphore.NewWeighted(1)},
	}
	s.Redis.peer = peer{id: s.id, alive: s.replicas.most.Load, gap: func() (int64, int64) { return s.replicas.away(s.Now()) }, lease: s.Bridge, aside: func(team string) (int64, []setAside) { return s.teams.get(team).setAside() }}
	s.queue = newQueue(s)
	return s
}

// tellAfter is how long Redis is away before anybody is told: a call that was too slow is no outage.
const tellAfter = time.Second

// heard notes whether a call came through.
func (s *Shared) heard(err error) {
	if s.Redis.away(err) {
		if s.away.Load() == nil {
			now := s.Now()
			s.away.CompareAndSwap(nil, &now)
		}
		if since := s.away.Load(); since != nil && s.Now().Sub(*since) >= tellAfter && s.told.CompareAndSwap(false, true) && s.Changed != nil {
			s.Changed(true, 0)
		}
	}
	if err != nil { // it tells of one team's accounts
		return
	}
	if since := s.away.Swap(nil); since != nil && s.told.CompareAndSwap(true, false) && s.Changed != nil {
		s.Changed(false, s.Now().Sub(*since))
	}
	if !s.reached.Load() {
		s.reached.Store(true)
		s.rates.opened()
	}
}

// dated is a moment by Redis's clock, as far as that was known last.
func (s *Shared) dated(now time.Time) calendar {
	return calendarOf(now.Add(time.Duration(s.ahead.Load())))
}

// Admit places a hold in all of its units at once, or refuses it and takes nothing. An error means that Redis is away and
// the team's allowance here does not suffice.
func (s *Shared) Admit(ctx context.Context, h *Hold) (Verdict, error) {
	if !h.Amounts.valid() {
		return Verdict{}, errAmounts
	}
	t := termsOf(h.Team)
	if v, never := h.neverFits(&t); never {
		return v, nil
	}
	b, now := s.teams.get(h.Team.ID), s.Now()
	date := s.dated(now)
	l := b.see(h, date.day, now)
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Timeout)
	defer cancel()
	var v Verdict
	var at time.Time
	err := ErrAway
	if call.Err() == nil { // else nothing is asked that could not be answered in time
		err = s.meet(call, h.Team.ID, b)
	}
	if err == nil {
		v, at, err = s.Redis.place(call, h, &t, &l.Loan)
		s.heard(err)
	}
	if err != nil {
		return s.admitHere(b, &l, h, &t, err)
	}
	now = s.Now()
	s.ahead.Store(int64(at.Sub(now)))
	b.answered(&l, l.Took, v.Held, now)
	if v.owed != nil {
		s.queue.keep(job{charge: v.owed, tried: now})
	}
	if v.Held != nil && !s.Refuse {
		s.rates.debit(h, v.Held, &t)
	}
	return v, nil
}

// Settle charges a hold, once, with what the request used, and reports whether this call did. What cannot be charged
// now is kept and charged later, although an error is returned.
func (s *Shared) Settle(ctx context.Context, c *Charge) (bool, error) {
	if s.settleHere(c) {
		return true, nil
	}
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Timeout)
	defer cancel()
	done, err := s.Redis.Settle(call, c)
	j := job{charge: c}
	s.came(&j, result{done: done, err: err}, s.Now())
	if err != nil {
		s.queue.keep(j)
	}
	return done, err
}

// SettleLater charges a hold without making its request wait. Nothing is lost while the process lives: what cannot be
// charged is kept until it can. Where more waits than the queue holds, the caller waits after all.
func (s *Shared) SettleLater(c *Charge) {
	if !s.settleHere(c) {
		s.queue.add(job{charge: c})
	}
}

// came notes what came of a charge, and tells who waits for it. Where the reply of an earlier try was lost, the hold that
// is settled now was settled by that one, most likely.
func (s *Shared) came(j *job, of result, sent time.Time) {
	s.heard(of.err)
	if of.done && !j.charge.sum && !s.Refuse {
		s.rates.settle(j.charge)
	}
	if b := s.teams.get(j.charge.Held.Team); of.err == nil && j.charge.sum {
		b.posted(j.charge.Held.Day, j.charge.Amounts)
	} else if of.err == nil {
		b.settledInRedis(j.charge.Held.ID)
	}
	if of.done || of.err == nil {
		j.charge.tell(of.done || !j.tried.IsZero() && !j.old(sent))
	}
	if of.err != nil && j.tried.IsZero() && !certain(of.err) {
		j.tried = sent
	}
}

// Extend gives an open hold a new lease, soon. One that ends sooner than the one it has changes nothing.
func (s *Shared) Extend(_ context.Context, h *Held, lease time.Duration) error {
	if s.teams.get(h.Team).extend(h.ID, s.Now().Add(lease)) {
		s.queue.add(job{extend: h, lease: lease})
	}
	return nil
}

// Look reports how a team stands, and takes nothing.
func (s *Shared) Look(ctx context.Context, team *teams.Team) (Report, error) {
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Timeout)
	defer cancel()
	if err := s.meet(call, team.ID, s.teams.get(team.ID)); err != nil {
		return Report{}, err
	}
	st, err := s.Redis.Look(call, team)
	s.heard(err)
	if err != nil {
		return Report{}, err
	}
	t := termsOf(team)
	return st.report(&t), nil
}

// Ledger returns the rows of one team, or of all where team is empty, for the days, each yyyymmdd.
func (s *Shared) Ledger(ctx context.Context, team string, days []int) ([]Row, error) {
	return s.Redis.Ledger(ctx, team, days)
}

// TeamLedger returns the rows of one team for the days, each yyyymmdd, where they are at most so many; else [ErrRows].
func (s *Shared) TeamLedger(ctx context.Context, team string, days []int, most int) ([]Row, error) {
	return s.Redis.TeamLedger(ctx, team, days, most)
}

// Degraded reports whether Redis is away, or was not told yet of all that was spent while it was.
func (s *Shared) Degraded() bool { return s.away.Load() != nil || s.spending() > 0 }

// spending counts the teams that have spent here what Redis was not told.
func (s *Shared) spending() (n int) {
	s.teams.each(func(_ string, b *books) {
		if b.spending() {
			n++
		}
	})
	return n
}

// State is nil when all is well; else it says what is wrong, in words without secrets.
func (s *Shared) State() error {
	waiting, teams := s.queue.waiting(), s.spending()
	if since := s.away.Load(); since != nil {
		then := "teams spend their allowances of this process"
		if s.Refuse {
			then = "requests are refused"
		}
		return fmt.Errorf("Redis has been away for %s; %s; %d settlements wait", s.Now().Sub(*since).Round(time.Second), then, waiting)
	}
	if teams > 0 {
		return fmt.Errorf("Redis was not told yet what %d teams spent without it; %d settlements wait", teams, waiting)
	}
	return s.miscounted()
}

// Close posts what waits, gives the allowances back, and returns an error that tells what could not be posted before ctx
// ended.
func (s *Shared) Close(ctx context.Context) error {
	s.queue.drain(ctx)
	err := s.leave(ctx)
	if lost := s.queue.waiting(); lost > 0 {
		err = errors.Join(err, fmt.Errorf("%d settlements were not posted; their holds are charged as estimated when their leases end", lost))
	}
	return err
}
