package failover

import (
	"context"

	"sluice/policy/limit"
	"sluice/policy/limit/redisstore"
	"sluice/policy/teams"
)

// Adjust corrects what a team used in the running day and month, and the ledger, by delta, which may be below 0. id makes it happen
// once, and why is kept with it. What all teams used together, or on the account main, is corrected, too, if it was ever counted. It needs
// Redis.
func (s *Failover) Adjust(ctx context.Context, id, team string, unit teams.Unit, delta int64, why string) (done limit.Adjustment, err error) {
	err = s.ask(ctx, team, func(ctx context.Context) error {
		if done, err = s.Store.Adjust(ctx, id, team, unit, delta, why); err != nil || !done.Done {
			return err
		}
		for _, other := range limit.Adjusted {
			known, err := s.Store.Knows(ctx, other)
			if known && err == nil {
				_, err = s.Store.Adjust(ctx, id, other, unit, delta, why)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return done, err
}

// Open returns how many holds of a team are open: its requests in flight and its tasks that are not settled. It needs Redis.
func (s *Failover) Open(ctx context.Context, team string) (open int, err error) {
	err = s.ask(ctx, team, func(ctx context.Context) error {
		o, err := s.Store.OpenHolds(ctx, team)
		o.Add(s.teams.Get(team).openHolds())
		open = o.Count
		return err
	})
	return open, err
}

// First reports true to one caller for a name of an account, among all replicas. It needs Redis.
func (s *Failover) First(ctx context.Context, account, name string) (first bool, err error) {
	err = s.ask(ctx, account, func(ctx context.Context) error {
		first, err = redisstore.First(ctx, s.Store, account, name)
		return err
	})
	return first, err
}

// ask calls Redis about a team, once Redis has what this process knows of it.
func (a *accounts) ask(ctx context.Context, team string, do func(context.Context) error) error {
	return a.call(ctx, func(ctx context.Context) error {
		if err := a.ensureRestored(ctx, a.patience(), team, a.teams.Get(team)); err != nil {
			return err
		}
		return do(ctx)
	})
}
