package tasks

import (
	"sluice/cache"
	"sluice/policy/limit"
	"sluice/telemetry"
)

// tellOfTask counts a task that this process has settled, and tells its span and its line of the log. Whoever settles
// tells, so that it is told once.
func (t *Tasks) tellOfTask(claim *cache.Claim, end *End) {
	t.deps.Metrics.Settlement(end.Outcome)
	charged := taskCost(&claim.Hold, end.Images)
	t.deps.Metrics.Used(claim.Team, t.deps.Label(claim.Model), charged[limit.Images], charged[limit.Spend])
	task := telemetry.Task{
		Request: claim.Hold.ID, Creation: claim.Trace, Key: claim.Key, ID: claim.Task, Model: claim.Model, Team: claim.Team, Outcome: end.Outcome, Images: end.Images,
		Submitted: end.Answer.Submitted, Started: end.Answer.Scheduled, Ended: end.Answer.Ended,
		Usage: end.Usage, Cost: end.Cost(claim), Held: Cost(taskCost(&claim.Hold, claim.Hold.Images), ""), Estimated: end.Doubt, SettledBy: end.By,
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

// Report tells the span and the line of the log of a task that has ended.
func (t *Tasks) Report(task *telemetry.Task) {
	t.deps.Traces.Task(task)
	task.Log(t.deps.Logger, t.deps.Now())
}
