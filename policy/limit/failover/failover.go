// Package failover keeps the accounts in Redis and bridges its outages.
//
// It answers a request from Redis, with one call, or from what Redis has set aside for this process. Everything else runs in the
// background: it settles, renews allowances, sweeps, and posts what was spent without Redis. The accounts themselves are in packages
// limit and redisstore. It logs nothing.
//
// It promises that no quota is passed, whichever replicas are cut off, and that each charge arrives once. docs/limits.md says what
// can be lost, docs/architecture.md how it works.
package failover

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/semaphore"

	"sluice/policy/limit"
	"sluice/policy/limit/redisstore"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// Failover keeps the accounts in Redis, and goes on for a while without it. A request waits for one call, for at most
// Timeout after it is sent. Settlements wait in this process until Redis has taken them.
//
// While Redis is away a team spends its allowance: what Redis set aside for it at this replica. So no quota is passed,
// whichever replicas are cut off. Rates are checked by this replica's share of them. What was spent is reported when
// Redis is back; requests do not wait for that. Create it with [New]; it is safe for concurrent use.
type Failover struct {
	settler
	redisstore.Ledgers
	renewer renewer
	sweeper sweeper
}

// New starts the goroutines that settle. Close ends them.
func New(config Config) *Failover {
	if config.Bridge == 0 {
		config.Bridge = bridgeDefault
	}
	a := &accounts{
		link:  link{Config: &config, beating: semaphore.NewWeighted(1), fleet: limit.NewFleet(config.Replicas, config.Now)},
		teams: teams.PerTeam[books]{First: func(string) *books { return &books{restoring: semaphore.NewWeighted(1)} }},
	}
	s := &Failover{settler: settler{
		accounts: a, rates: limit.NewShares(a.divisor, config.Now),
		seeds: seeds{of: teams.PerTeam[seed]{First: newSeed}},
	}, Ledgers: a.Store.Ledgers}
	a.reached = s.rates.Opened
	a.fleet.Grant(0, limit.Beyond{}, config.Now().Add(partFor))
	s.queue = newQueue(s.post, a.whole, config.fenced)
	s.renewer = renewer{accounts: a, rates: s.rates, retain: s.queue.retain, seeded: s.counts}
	s.sweeper = sweeper{accounts: a, listed: map[string]bool{}}
	s.Store.Peer = redisstore.Peer{
		ID: rand.Text()[:12], Alive: a.most.Load, Gap: a.gap, Lease: s.Bridge,
		Aside: func(team string) (int64, []redisstore.SetAside) { return a.teams.Get(team).setAside() },
	}
	return s
}

// Look reports how much of each limit a team has used. It takes nothing.
func (s *Failover) Look(ctx context.Context, team *teams.Team) (limit.Report, error) {
	ctx = context.WithoutCancel(ctx)
	if err := s.ensureRestored(ctx, s.Timeout, team.ID, s.teams.Get(team.ID)); err != nil {
		return limit.Report{}, err
	}
	var st limit.State
	err := within(ctx, s.Timeout, func(ctx context.Context) (err error) {
		st, err = s.Store.Look(ctx, team)
		return err
	})
	s.observe(err)
	if err != nil {
		return limit.Report{}, err
	}
	t := limit.TermsOf(team)
	return st.Report(&t), nil
}

// LastKnown returns a team's use of its quotas by Redis's last answer about it, which is at most about ten seconds old
// if Redis is available. It makes no call of Redis.
func (s *Failover) LastKnown(team *teams.Team) limit.Report {
	st, t := s.lastKnown(team.ID, s.Now()), limit.TermsOf(team)
	return st.Report(&t).Quotas()
}

// Holds returns how many holds of all replicas were open when Maintain last counted them, about every minute, and when the oldest of them
// was made: zero if none is open. It makes no call of Redis. Holds in a part of Redis that is away count as last seen; those of this
// process without Redis count, too. The error is [limit.ErrUncounted] until the first count.
func (s *Failover) Holds(context.Context) (open int, oldest time.Time, err error) {
	if w := s.sweeper.walked.Load(); w != nil {
		return w.Count, w.Oldest, nil
	}
	return 0, time.Time{}, limit.ErrUncounted
}

// OpenTasks returns how many tasks of a team were open at Redis's last answer about it: a moment ago if the team is active here,
// else up to a minute ago. It makes no call of Redis.
func (s *Failover) OpenTasks(team string) int64 {
	w := s.sweeper.walked.Load()
	if w == nil {
		w = new(walk)
	}
	if s.teams.Get(team).answeredAfter(w.at) {
		return s.Store.Tasks(team)
	}
	return w.teams[team].Tasks
}

// Degraded reports whether Redis is away, or some local spending is not yet in Redis.
func (s *Failover) Degraded() bool { return s.away.Load() != nil || s.unreported() > 0 }

// State is nil without a failure; otherwise it names the failure, without secrets.
func (s *Failover) State() error {
	waiting, teams := s.queue.waiting(), s.unreported()
	if since := s.away.Load(); since != nil {
		then, why := "teams spend this process's allowances", error(nil)
		switch {
		case s.Refuse:
			then = "requests are refused"
		case !s.hasAllowances():
			then = "this process has no allowances, so requests that need one are refused"
		}
		if s.Why != nil {
			why = s.Why()
		}
		away := fmt.Sprintf("Redis has been away for %s", s.Now().Sub(*since).Round(time.Second))
		if why != nil {
			away += fmt.Sprintf(" (%v)", why)
		}
		return fmt.Errorf("%s; %s; %s", away, then, waits(waiting))
	}
	if teams > 0 {
		return fmt.Errorf("what %d %s spent without Redis is not reported to it yet; %s", teams, unit.Noun(int64(teams), "teams"), waits(waiting))
	}
	return s.miscounted()
}

func waits(settlements int) string {
	if settlements == 1 {
		return "1 settlement waits"
	}
	return fmt.Sprintf("%d settlements wait", settlements)
}

// Maintain does the background work: it posts what waits, reports to Redis what was spent without it, renews the allowances of active
// teams, lets holds expire, also of teams that were removed, and counts those that are open. One goroutine calls it, every second or
// so. Its errors are worth a log line; that Redis is away is not among them.
func (s *Failover) Maintain(ctx context.Context) error {
	errs := s.queue.lostError()
	// Each step runs even if another fails, or panics: in a cluster a part of Redis may be away.
	err := s.guarded(func() error {
		if err := s.beat(ctx); err != nil {
			return err
		}
		s.reportMiscounted()
		return s.restoreAll(ctx)
	})
	if s.Store.MoneyFault() != nil { // nothing here may be charged, and its owner was warned
		return errs
	}
	err = errors.Join(err, s.queue.retry(ctx))
	if s.away.Load() == nil || s.Store.Cluster { // else an allowance would only shrink
		err = errors.Join(err, s.guarded(func() error { return s.renewer.all(ctx) }))
	}
	err = errors.Join(err, s.guarded(func() error { return s.sweeper.sweep(ctx) }),
		s.guarded(func() error { return s.checkSeeds(ctx, false) }))
	if s.away.Load() != nil || errors.Is(err, limit.ErrAway) || errors.Is(err, limit.ErrBusy) {
		return errs // Changed reports that; the owner of the connections reports that all are busy
	}
	return errors.Join(errs, err)
}

// Close posts what waits and gives the allowances back. Its error says what could not be posted before ctx ended.
func (s *Failover) Close(ctx context.Context) error {
	s.queue.drain(ctx)
	err := errors.Join(s.guarded(func() error { return s.renewer.leave(ctx) }),
		s.guarded(func() error { return s.checkSeeds(ctx, true) }))
	// otherwise its part is free when it counts as dead
	_ = s.call(ctx, func(ctx context.Context) error { return redisstore.Leave(ctx, s.Store) })
	if lost := s.queue.waiting(); lost > 0 {
		err = errors.Join(err, fmt.Errorf("%d settlements were not posted; their holds are charged as estimated when their leases end", lost))
	}
	return err
}
