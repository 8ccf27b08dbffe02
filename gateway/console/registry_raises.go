package console

import (
	"context"
	"errors"
	"slices"
	"time"

	"sluice/gateway/console/access"
	"sluice/policy/teams"
)

// Raises shows and changes the raises of teams' quotas for a [access.Person], for teams of both owners.
type Raises struct{ registry *Registry }

// List returns a team's raises in force, by their end.
func (r Raises) List(ctx context.Context, p access.Person, team string) ([]teams.Raise, error) {
	d, err := r.registry.kept.open(ctx)
	if err == nil {
		_, err = r.registry.find(d, p, team)
	}
	if err != nil {
		return nil, err
	}
	list := teams.InForce(r.registry.kept.inForce(), r.registry.Now())
	return slices.DeleteFunc(list, func(r teams.Raise) bool { return r.Team != team }), nil
}

// Add raises a quota of a team, and returns the raise. The actor's reason becomes the raise's. A form that is sent again gets
// [ErrAgain].
func (r Raises) Add(ctx context.Context, a access.Actor, id string, order teams.RaiseOrder) (made teams.Raise, err error) {
	if err := r.registry.seen(ctx, a, id, a.Changes()); err != nil {
		return made, err
	}
	team := r.registry.File().Team(id)
	if team == nil {
		return made, teams.Away("the team is not in force yet", nil)
	}
	minted, err := teams.MintKey(r.registry.Random) // only its id is used
	if err != nil {
		return made, teams.Away("nothing can be raised at the moment", err)
	}
	order.Reason = a.Reason
	if made, err = order.Raise(minted.ID, team, r.registry.Now()); err != nil {
		return made, err
	}
	if order.Once != "" {
		until := made.Until.Format(time.RFC3339)
		made.ID = idOf(order.Once, team.ID, string(order.Unit), string(order.Period), order.Amount, until, order.Reason)[:len(made.ID)]
	}
	err = r.commit(ctx, a, teams.AddRaise{Raise: made})
	if errors.Is(err, teams.ErrMade) {
		err = ErrAgain
	}
	return made, err
}

// End ends a raise of a team before its time.
func (r Raises) End(ctx context.Context, a access.Actor, team, id string) error {
	if err := r.registry.seen(ctx, a, team, a.Changes()); err != nil {
		return err
	}
	return r.commit(ctx, a, teams.EndRaise{Team: team, ID: id})
}

// commit changes the raises, in turn.
func (r Raises) commit(ctx context.Context, a access.Actor, change teams.RaiseChange) error {
	k := &r.registry.kept
	return k.inTurn(ctx, func() error { return teams.CommitRaise(ctx, k.store(), orderOf(r.registry, a), change) })
}
