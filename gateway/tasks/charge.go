package tasks

import (
	"context"

	"sluice/cache"
	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/telemetry"
)

// charge charges what a task's creation holds, once, and calls taken when that is done, now or later: first says that
// it was not done before. It calls left where it will never be done; nil: nobody waits.
func (t *Tasks) charge(ctx context.Context, claim *cache.Claim, images int64, doubt bool, taken func(first bool), left func()) {
	if claim.Hold.ID == "" {
		taken(false)
		return
	}
	t.deps.Charge(ctx, &limit.Charge{
		Held: &limit.Held{
			ID: claim.Hold.ID, Team: claim.Team, Model: claim.Model, Endpoint: policy.Endpoint(claim.Hold.Endpoint), Task: true,
			Amounts: taskCost(&claim.Hold, claim.Hold.Images), Day: claim.Hold.Day, Month: claim.Hold.Month,
		},
		Amounts: taskCost(&claim.Hold, images), Estimated: doubt, Taken: taken, Left: left,
	})
}

// taskCost is what a task is charged that made so many images. One of a forwarded path costs its request, whatever it made.
func taskCost(hold *cache.Hold, images int64) limit.Amounts {
	if forwarded(hold) {
		images = 0
	}
	return limit.CostOf(policy.KindTask, limit.Usage{Images: images}, teams.Price{Image: hold.Price})
}

func forwarded(hold *cache.Hold) bool { return hold.Endpoint == string(policy.EndpointOther) }

// Cost writes amounts as the log has them.
func Cost(a limit.Amounts, flag string) telemetry.Cost {
	return telemetry.Cost{Known: true, Requests: a[limit.Requests], Tokens: a[limit.Tokens], Images: a[limit.Images], Spend: a[limit.Spend], Flag: flag}
}
