package failover

import (
	"context"

	"sluice/policy/limit"
	"sluice/policy/limit/redisstore"
)

// Adjust makes a correction as [redisstore.Store.Adjust] does. It needs Redis.
func (s *Failover) Adjust(ctx context.Context, c limit.Correction) (done limit.Adjustment, err error) {
	if err = s.ensureRestored(ctx, s.patience(), c.Team, s.teams.Get(c.Team)); err == nil {
		done, err = redisstore.Adjust(s.Store, c, func(do func(context.Context) error) error { return s.call(ctx, do) })
	}
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

// ask calls Redis about a team, once Redis has what this process knows of it.
func (a *accounts) ask(ctx context.Context, team string, do func(context.Context) error) error {
	if err := a.ensureRestored(ctx, a.patience(), team, a.teams.Get(team)); err != nil {
		return err
	}
	return a.call(ctx, do)
}
