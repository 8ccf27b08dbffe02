package failover

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"sluice/policy/limit/redisstore"
	"sluice/policy/teams"
)

// seeds says which accounts outside of the teams count all that the teams used of them here.
type seeds struct{ of teams.PerTeam[seed] }

// seed is the state of one account. An account without quotas is not charged: a request that is admitted without it
// makes its count incomplete.
type seed struct {
	state  atomic.Int32
	memory atomic.Int64 // the number (link.memory) of the memory of Redis in which it counts all
	turn   *semaphore.Weighted
	listed atomic.Bool // this replica is in its list

	checked time.Time // when checkSeeds looked last
}

func newSeed(string) *seed { return &seed{turn: semaphore.NewWeighted(1)} }

// The states. Seeding ends in seeded unless a request was admitted without the account meanwhile.
const (
	fresh    int32 = iota // no request was admitted yet
	charging              // requests were admitted without the account
	seeding
	seeded
)

// How often a replica checks whether others charge only the teams. For an account at the service the check may read the
// month's ledger, even if the others merely had no request on it. Seeding such an account reads it, too, and may take
// seedTime.
const (
	checkEvery     = time.Minute
	checkAtService = 10 * time.Minute
	seedTime       = 30 * time.Second
)

// without notes that a request was admitted without an account outside of its team.
func (s *seeds) without(account string) {
	if of := s.of.Get(account); of.state.Load() != charging { // a load costs less than a store
		of.state.Store(charging)
	}
}

// counts reports whether an account counts all use.
func (s *settler) counts(account string) bool {
	of := s.seeds.of.Get(account)
	return of.state.Load() == seeded && of.memory.Load() == s.memory.Load()
}

// seeded makes sure that an account outside of the teams counts what the teams used, before anything is admitted by it.
func (s *settler) seeded(ctx context.Context, account string) error {
	if s.counts(account) {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	of := s.seeds.of.Get(account)
	if err := within(ctx, s.patience(), func(ctx context.Context) error { return of.turn.Acquire(ctx, 1) }); err != nil {
		return fmt.Errorf("%w: %w", redisstore.ErrNotDone, err)
	}
	defer of.turn.Release(1)
	if s.counts(account) { // another request has done it
		return nil
	}
	return within(ctx, seedTimeOf(account, s.patience()), func(ctx context.Context) error { return s.seed(ctx, account, of) })
}

// seedTimeOf is how long seeding an account may take: patience, unless it reads the ledger.
func seedTimeOf(account string, patience time.Duration) time.Duration {
	return unlessAtService(account, patience, max(patience, seedTime))
}

// unlessAtService returns usual, or at if the account holds the quotas of an account at the service.
func unlessAtService(account string, usual, at time.Duration) time.Duration {
	if _, is := teams.AccountOfQuotas(account); is {
		return at
	}
	return usual
}

// seed seeds an account. Its caller has the turn.
func (s *settler) seed(ctx context.Context, account string, of *seed) error {
	memory := s.memory.Load()
	was := of.state.Swap(seeding)
	err := redisstore.Seed(ctx, s.Store, account, was == charging)
	if s.observe(err); err != nil {
		of.state.CompareAndSwap(seeding, was)
		return fmt.Errorf("%w: what all teams used cannot be added up: %w", redisstore.ErrNotDone, err)
	}
	of.listed.Store(true)
	of.memory.Store(memory)
	of.state.CompareAndSwap(seeding, seeded)
	return nil
}

// checkSeeds checks at intervals whether another replica admitted requests without the account, and then adds their
// use to it. A replica that admits such requests itself leaves the account's list at once, so that the others notice,
// although it may end soon; an ending one does only that.
func (s *settler) checkSeeds(ctx context.Context, ending bool) (errs error) {
	if s.away.Load() != nil {
		return nil
	}
	now := s.Now()
	s.seeds.of.Each(func(account string, of *seed) {
		due := !ending && now.Sub(of.checked) >= unlessAtService(account, checkEvery, checkAtService)
		if of.listed.Load() && (due || of.state.Load() == charging) {
			of.checked = now
			errs = errors.Join(errs, s.checkSeed(ctx, account, of))
		}
	})
	return errs
}

func (s *settler) checkSeed(ctx context.Context, account string, of *seed) error {
	err := within(ctx, seedTimeOf(account, s.patience()), func(ctx context.Context) error {
		if err := of.turn.Acquire(ctx, 1); err != nil {
			return err
		}
		defer of.turn.Release(1)
		if of.state.Load() != charging {
			return redisstore.Seed(ctx, s.Store, account, false)
		}
		err := redisstore.Unlist(ctx, s.Store, account)
		if err == nil {
			of.listed.Store(false)
		}
		return err
	})
	if err == nil || ctx.Err() == nil {
		s.observe(err)
	}
	return err
}
