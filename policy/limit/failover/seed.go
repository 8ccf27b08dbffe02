package failover

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"sluice/policy/limit/redisstore"
)

// seeds says whether the account outside of the teams counts all that the teams used here. It does not after a request that was admitted
// without it: until then the teams file had no house.
type seeds struct {
	state   atomic.Int32
	memory  atomic.Int64 // of Redis, by link.memory, in which it counts all
	turn    *semaphore.Weighted
	account atomic.Pointer[string] // in whose list this replica is; nil: in none
	checked time.Time
}

// The states. Seeding ends in seeded unless a request was admitted without the account meanwhile.
const (
	fresh    int32 = iota // no request was admitted yet
	charging              // requests were admitted without the account
	seeding
	seeded
)

// checkEvery is how often a replica looks whether others charge the teams alone.
const checkEvery = time.Minute

// without notes that a request was admitted without an account outside of its team.
func (s *seeds) without() {
	if s.state.Load() != charging { // a load costs less than a store
		s.state.Store(charging)
	}
}

// counts reports whether the account counts all.
func (s *settler) counts() bool {
	return s.seeds.state.Load() == seeded && s.seeds.memory.Load() == s.memory.Load()
}

// seeded makes sure that an account outside of the teams counts what the teams used, before anything is admitted by it.
func (s *settler) seeded(ctx context.Context, account string) error {
	if s.counts() {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	return within(ctx, s.patience(), func(ctx context.Context) error {
		if err := s.seeds.turn.Acquire(ctx, 1); err != nil {
			return fmt.Errorf("%w: %w", redisstore.ErrNotDone, err)
		}
		defer s.seeds.turn.Release(1)
		if s.counts() { // another request has done it
			return nil
		}
		return s.seed(ctx, account)
	})
}

// seed seeds an account. Its caller has the turn.
func (s *settler) seed(ctx context.Context, account string) error {
	memory := s.memory.Load()
	was := s.seeds.state.Swap(seeding)
	err := redisstore.Seed(ctx, s.Store, account, was == charging)
	if s.heard(err); err != nil {
		s.seeds.state.CompareAndSwap(seeding, was)
		return fmt.Errorf("%w: what all teams used cannot be added up: %w", redisstore.ErrNotDone, err)
	}
	s.seeds.account.Store(&account)
	s.seeds.memory.Store(memory)
	s.seeds.state.CompareAndSwap(seeding, seeded)
	return nil
}

// checkSeeds looks once a minute whether another replica charged the teams alone, whose use is added then. A replica that does so itself
// leaves the list, so that the others notice.
func (s *settler) checkSeeds(ctx context.Context) error {
	account, now := s.seeds.account.Load(), s.Now()
	if account == nil || now.Sub(s.seeds.checked) < checkEvery || s.away.Load() != nil {
		return nil
	}
	s.seeds.checked = now
	return s.call(ctx, func(ctx context.Context) error {
		if err := s.seeds.turn.Acquire(ctx, 1); err != nil {
			return err
		}
		defer s.seeds.turn.Release(1)
		if s.seeds.state.Load() == charging {
			err := redisstore.Unlist(ctx, s.Store, *account)
			if err == nil {
				s.seeds.account.Store(nil)
			}
			return err
		}
		return redisstore.Seed(ctx, s.Store, *account, false)
	})
}
