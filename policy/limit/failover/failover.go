package failover

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"sluice/policy/limit"
	"sluice/policy/limit/redisstore"
	"sluice/policy/teams"
)

// Config is what [New] needs.
type Config struct {
	Store    *redisstore.Store
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

// bridgeDefault is the default of Config.Bridge.
const bridgeDefault = 10 * time.Minute

// Failover keeps the accounts in Redis and goes on for a while where it is away. A request waits for one call, of Timeout at
// most; settlements wait behind the requests, in this process, until Redis has taken them.
//
// While Redis is away a team spends its allowance here: what Redis set aside for it at this replica. So no quota is passed,
// whichever replicas are cut off. Rates are kept by buckets that live as long as the process, each replica's share of them,
// and are debited while all is well, too. What was spent is reported when Redis is back; requests do not wait for that.
// Create it with [New]; it is safe for concurrent use.
type Failover struct {
	Config
	id       string        // of this process, among the replicas
	rates    *limit.Shares // the rates without Redis
	teams    limit.PerTeam[books]
	queue    *queue
	away     atomic.Pointer[time.Time] // since when no call has come through; nil: the last one did
	told     atomic.Bool               // Changed was
	reached  atomic.Bool               // some call ever came through
	ahead    atomic.Int64              // nanoseconds that Redis's clock is ahead of this process's
	tended   tended
	replicas replicas
	walked   atomic.Pointer[walk] // nil: not yet
}

// New starts the goroutines that settle. Close ends them.
func New(config Config) *Failover {
	if config.Bridge == 0 {
		config.Bridge = bridgeDefault
	}
	s := &Failover{
		Config: config, id: rand.Text()[:12], rates: limit.NewShares(config.Replicas, config.Now), tended: tended{named: map[string]bool{}},
		teams:    limit.PerTeam[books]{First: func() *books { return &books{meeting: semaphore.NewWeighted(1)} }},
		replicas: replicas{under: semaphore.NewWeighted(1)},
	}
	s.Store.Peer = redisstore.Peer{ID: s.id, Alive: s.replicas.most.Load, Gap: func() (int64, int64) { return s.replicas.away(s.Now()) }, Lease: s.Bridge, Aside: func(team string) (int64, []redisstore.SetAside) { return s.teams.Get(team).setAside() }}
	s.queue = newQueue(s)
	return s
}

// tellAfter is how long Redis is away before anybody is told: a call that was too slow is no outage.
const tellAfter = time.Second

// heard notes whether a call came through.
func (s *Failover) heard(err error) {
	if s.Store.Away(err) {
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
		s.rates.Opened()
	}
}

// dated is a moment by Redis's clock, as far as that was known last.
func (s *Failover) dated(now time.Time) limit.Calendar {
	return limit.CalendarOf(now.Add(time.Duration(s.ahead.Load())))
}

// Admit places a hold in all of its units at once, or refuses it and takes nothing. An error means that Redis is away and
// the team's allowance here does not suffice.
func (s *Failover) Admit(ctx context.Context, h *limit.Hold) (limit.Verdict, error) {
	if !h.Amounts.Valid() {
		return limit.Verdict{}, limit.ErrAmounts
	}
	t := limit.TermsOf(h.Team)
	if v, never := h.NeverFits(&t); never {
		return v, nil
	}
	b, now := s.teams.Get(h.Team.ID), s.Now()
	date := s.dated(now)
	l := b.see(h, date.Day, now)
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Timeout)
	defer cancel()
	var v limit.Verdict
	var at time.Time
	err := limit.ErrAway
	if call.Err() == nil { // else nothing is asked that could not be answered in time
		err = s.meet(call, h.Team.ID, b)
	}
	if err == nil {
		v, at, err = s.Store.Place(call, h, &l.Loan)
		s.heard(err)
	}
	if err != nil {
		return s.admitHere(b, &l, h, &t, err)
	}
	now = s.Now()
	s.ahead.Store(int64(at.Sub(now)))
	b.answered(&l, l.Took, v.Held, now)
	if v.Owed != nil {
		s.queue.keep(job{charge: v.Owed, tried: now})
	}
	if v.Held != nil && !s.Refuse {
		s.rates.Debit(h, v.Held, &t)
	}
	return v, nil
}

// Settle charges a hold, once, with what the request used, and reports whether this call did. What cannot be charged
// now is kept and charged later, although an error is returned.
func (s *Failover) Settle(ctx context.Context, c *limit.Charge) (bool, error) {
	if s.settleHere(c) {
		return true, nil
	}
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Timeout)
	defer cancel()
	done, err := s.Store.Settle(call, c)
	j := job{charge: c}
	s.came(&j, redisstore.Result{Done: done, Err: err}, s.Now())
	if err != nil {
		s.queue.keep(j)
	}
	return done, err
}

// SettleLater charges a hold without making its request wait. Nothing is lost while the process lives: what cannot be
// charged is kept until it can. Where more waits than the queue holds, the caller waits after all.
func (s *Failover) SettleLater(c *limit.Charge) {
	if !s.settleHere(c) {
		s.queue.add(job{charge: c})
	}
}

// came notes what came of a charge, and tells who waits for it. Where the reply of an earlier try was lost, the hold that
// is settled now was settled by that one, most likely.
func (s *Failover) came(j *job, of redisstore.Result, sent time.Time) {
	s.heard(of.Err)
	if of.Done && !j.charge.Sum && !s.Refuse {
		s.rates.Settle(j.charge)
	}
	if b := s.teams.Get(j.charge.Held.Team); of.Err == nil && j.charge.Sum {
		b.posted(j.charge.Held.Day, j.charge.Amounts)
	} else if of.Err == nil {
		b.settledInRedis(j.charge.Held.ID)
	}
	if of.Done || of.Err == nil {
		j.charge.Tell(of.Done || !j.tried.IsZero() && !j.old(sent))
	}
	if of.Err != nil && j.tried.IsZero() && !redisstore.NotDone(of.Err) {
		j.tried = sent
	}
}

// Extend gives an open hold a new lease, soon. One that ends sooner than the one it has changes nothing.
func (s *Failover) Extend(_ context.Context, h *limit.Held, lease time.Duration) error {
	if s.teams.Get(h.Team).extend(h.ID, s.Now().Add(lease)) {
		s.queue.add(job{extend: h, lease: lease})
	}
	return nil
}

// Look reports how a team stands, and takes nothing.
func (s *Failover) Look(ctx context.Context, team *teams.Team) (limit.Report, error) {
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Timeout)
	defer cancel()
	if err := s.meet(call, team.ID, s.teams.Get(team.ID)); err != nil {
		return limit.Report{}, err
	}
	st, err := s.Store.Look(call, team)
	s.heard(err)
	if err != nil {
		return limit.Report{}, err
	}
	t := limit.TermsOf(team)
	return st.Report(&t), nil
}

// Ledger returns the rows of one team, or of all where team is empty, for the days, each yyyymmdd.
func (s *Failover) Ledger(ctx context.Context, team string, days []int) ([]limit.Row, error) {
	return s.Store.Ledger(ctx, team, days)
}

// TeamLedger returns the rows of one team for the days, each yyyymmdd, where they are at most so many; else [ErrRows].
func (s *Failover) TeamLedger(ctx context.Context, team string, days []int, most int) ([]limit.Row, error) {
	return s.Store.TeamLedger(ctx, team, days, most)
}

// Degraded reports whether Redis is away, or was not told yet of all that was spent while it was.
func (s *Failover) Degraded() bool { return s.away.Load() != nil || s.spending() > 0 }

// spending counts the teams that have spent here what Redis was not told.
func (s *Failover) spending() (n int) {
	s.teams.Each(func(_ string, b *books) {
		if b.spending() {
			n++
		}
	})
	return n
}

// State is nil when all is well; else it says what is wrong, in words without secrets.
func (s *Failover) State() error {
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
func (s *Failover) Close(ctx context.Context) error {
	s.queue.drain(ctx)
	err := s.leave(ctx)
	if lost := s.queue.waiting(); lost > 0 {
		err = errors.Join(err, fmt.Errorf("%d settlements were not posted; their holds are charged as estimated when their leases end", lost))
	}
	return err
}
