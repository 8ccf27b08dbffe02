package tasks

import (
	"context"

	"sluice/cache"
	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/telemetry"
)

// charge charges a task's end to what its creation holds, once, and reports the task. It calls taken when that is done, now or
// later; first: it was not charged before. It calls left if it will never be done; left may be nil.
func (t *Tasks) charge(ctx context.Context, claim *cache.Claim, end *End, taken func(first bool), left func()) {
	if claim.Hold.ID == "" {
		taken(false)
		return
	}
	t.deps.Charge(ctx, &limit.Charge{
		Held: &limit.Held{
			ID: claim.Hold.ID, Team: claim.Team, Model: claim.Model, Endpoint: policy.Endpoint(claim.Hold.Endpoint), Tag: limit.Tag(claim.Hold.Tag), Task: true,
			Amounts: TaskCost(&claim.Hold, claim.Hold.Images), Day: claim.Hold.Day, Month: claim.Hold.Month,
		},
		Amounts: TaskCost(&claim.Hold, end.Images), Estimated: end.Estimated, Left: left,
		Taken: func(first bool) {
			if first {
				t.reportEnd(claim, end)
			}
			taken(first)
		},
	})
}

// TaskCost is the cost of a task with that many images. A task of a forwarded path costs its request alone.
func TaskCost(hold *cache.Hold, images int64) limit.Amounts {
	if forwarded(hold) {
		images = 0
	}
	return limit.CostOf(policy.KindTask, limit.Usage{Images: images}, teams.Price{Image: hold.Price})
}

func forwarded(hold *cache.Hold) bool { return hold.Endpoint == string(policy.EndpointOther) }

// Cost is amounts in the form of the log.
func Cost(a limit.Amounts, flag string) telemetry.Cost {
	return telemetry.Cost{Known: true, Requests: a[limit.Requests], Tokens: a[limit.Tokens], Images: a[limit.Images], Spend: a[limit.Spend], Flag: flag}
}

// reportEnd writes the metrics, the span and the log line of a task. Only the process that settles it does, so that each task
// is reported once.
func (t *Tasks) reportEnd(claim *cache.Claim, end *End) {
	t.deps.Metrics.Settlement(end.Outcome)
	charged := TaskCost(&claim.Hold, end.Images)
	t.deps.Metrics.Used(claim.Team, t.deps.Label(claim.Model), charged[limit.Images], charged[limit.Spend])
	task := telemetry.Task{
		Request: claim.Hold.ID, Creation: claim.Trace, Key: claim.Key, ID: claim.Task, Model: claim.Model, Team: claim.Team, Outcome: end.Outcome, Images: end.Images,
		Submitted: end.Answer.Submitted, Started: end.Answer.Scheduled, Ended: end.Answer.Ended,
		Usage: end.Usage, Cost: end.Cost(claim), Held: Cost(TaskCost(&claim.Hold, claim.Hold.Images), ""), Estimated: end.Estimated, SettledBy: end.By,
	}
	task.Served, task.Sent = claim.Polls()
	if task.Submitted.IsZero() {
		task.Submitted = claim.Created
	}
	if task.Ended.IsZero() {
		task.Ended = t.deps.Now()
	}
	t.Report(&task)
}

// Report writes the span and the log line of a task that has ended, and hands it to Ended.
func (t *Tasks) Report(task *telemetry.Task) {
	t.deps.Traces.Task(task)
	task.Log(t.deps.Logger, t.deps.Now())
	if t.deps.Ended != nil {
		t.deps.Ended(task)
	}
}
