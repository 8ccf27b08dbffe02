package gateway

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"sluice/cache"
	"sluice/policy"
	"sluice/policy/limit"
	"sluice/telemetry"
)

var errNoTask = errors.New("upstream's answer to a task's creation names no task")

// claimWhole reads a creation's answer whole and claims the task before a byte of it leaves: a client that knows the
// id may ask for it in the same instant.
func (g *Gateway) claimWhole(kept *http.Response, c *call) error {
	text, err := readWhole(kept)
	if err != nil {
		return err
	}
	g.upstreamKey.Load().redactKeys(text) // a task may have failed already
	answer := cache.ReadAnswer(text, g.TaskZone)
	if !isTaskID(answer.Task) {
		return refuse(refuseAnswer).say("The service's answer to the task's creation could not be read; whether a task runs is unknown.").because(errNoTask)
	}
	g.claim(c, answer, text)
	return nil
}

func (g *Gateway) claim(c *call, answer cache.Answer, body []byte) {
	c.Task, c.claimed, c.creation = answer.Task, true, c.exchange.Recorded()
	claim := cache.Claim{Team: c.Team, Key: c.Key, Task: answer.Task, Model: c.Model, Answer: answer, Body: body, Trace: c.creation}
	if c.held != nil {
		claim.Hold = cache.Hold{ID: c.held.ID, Endpoint: string(c.route.endpoint), Day: c.held.Day, Month: c.held.Month, Images: c.size[limit.Images], Price: c.price.Image}
	}
	g.Claims.Put(context.Background(), claim)
}

// taskLease is how long a task's hold stands: a task that ends without anybody hearing of it is charged as held.
func (g *Gateway) taskLease() time.Duration { return g.TaskTTL + time.Hour }

// Who settled a task, as its line of the log tells it.
const (
	settledByPoll     = "poll"     // a client's poll, or its cancel, heard the end
	settledByFinisher = "finisher" // nobody polled, and the finisher asked
	settledByStream   = "stream"   // the creation's own answer told it
	settledByLease    = "lease"    // nobody heard of it: it is charged as held
)

// taskEnd is what is known of the end of a task when it is settled.
type taskEnd struct {
	outcome string
	answer  cache.Answer
	usage   telemetry.Usage
	images  int64
	doubt   bool // the images were not counted by the service
	by      string
}

// cost is what the end amounts to.
func (e *taskEnd) cost(claim *cache.Claim) telemetry.Cost {
	flag := flagExact
	if e.doubt {
		flag = flagEstimated
	}
	return cost(taskAmounts(claim, e.images), flag)
}

// settleTask settles a task that has ended, by the images it made. Whoever hears of the end does so; the first counts. It
// calls taken once the charge is taken, or left where it never will be: that may be later, when this has returned. It
// returns what it charges, or nil where another did before.
func (g *Gateway) settleTask(ctx context.Context, claim *cache.Claim, ended cache.Answer, body []byte, by string, taken, left func()) *taskEnd {
	var meter telemetry.Meter
	meter.Reset("application/json", "")
	_, _ = meter.Write(body) // it never fails
	reading := meter.End()
	reading.Usage.Cover(g.upstreamKey.Load())
	images, known := reading.Images()
	end := &taskEnd{outcome: outcomeOf(ended.Status), answer: ended, usage: reading.Usage, images: images, by: by}
	if end.doubt = !known && ended.Status == cache.Succeeded; end.doubt {
		end.images = claim.Hold.Images
	}
	var settledBefore atomic.Bool
	g.chargeTask(ctx, claim, end.images, end.doubt, func(first bool) {
		if first {
			g.tellOfTask(claim, end)
		}
		settledBefore.Store(!first)
		taken()
	}, left)
	if settledBefore.Load() {
		return nil
	}
	return end
}

// tellOfTask counts a task that this process has settled, and tells its span and its line of the log. Whoever settles
// tells, so that it is told once.
func (g *Gateway) tellOfTask(claim *cache.Claim, end *taskEnd) {
	g.Metrics.Settlement(end.outcome)
	g.Metrics.Used(claim.Team, g.teams.Load().Label(claim.Model), end.images, end.images*claim.Hold.Price)
	task := telemetry.Task{
		Request: claim.Hold.ID, Creation: claim.Trace, Key: claim.Key, ID: claim.Task, Model: claim.Model, Team: claim.Team, Outcome: end.outcome,
		Submitted: end.answer.Submitted, Started: end.answer.Scheduled, Ended: end.answer.Ended,
		Usage: end.usage, Cost: end.cost(claim), Held: cost(taskAmounts(claim, claim.Hold.Images), ""), Estimated: end.doubt, SettledBy: end.by,
	}
	task.Served, task.Sent = claim.Polls()
	if task.Submitted.IsZero() {
		task.Submitted = claim.Created
	}
	if task.Ended.IsZero() {
		task.Ended = g.Now()
	}
	g.report(&task)
}

func (g *Gateway) report(task *telemetry.Task) {
	g.Traces.Task(task)
	task.Log(g.Logger, g.Now())
}

// taskOfStream is what is told of a task whose creation's own stream told its end.
func (g *Gateway) taskOfStream(c *call) *telemetry.Task {
	return &telemetry.Task{
		Request: c.ID, Creation: c.creation, Key: c.Key, ID: c.Task, Model: c.Model, Team: c.Team, Outcome: outcomeOf(cache.Status(c.reading.TaskStatus)),
		Usage: c.Usage, Cost: c.Cost, Held: c.Held, Estimated: c.Cost.Flag == flagEstimated, SettledBy: settledByStream,
		Submitted: c.Time, Started: c.Time, Ended: g.Now(),
	}
}

// outcomeOf is how a task ended, in one of few words. A stream may end without the task's status.
func outcomeOf(status cache.Status) string {
	switch status {
	case cache.Failed:
		return "failed"
	case cache.Canceled, cache.Cancelled:
		return "cancelled"
	}
	return "succeeded"
}

// chargeTask charges what a task's creation holds, once, and calls taken when that is done, now or later: first says that
// it was not done before. It calls left where it will never be done; nil: nobody waits.
func (g *Gateway) chargeTask(ctx context.Context, claim *cache.Claim, images int64, doubt bool, taken func(first bool), left func()) {
	if claim.Hold.ID == "" {
		taken(false)
		return
	}
	_, _ = g.Accounts.Settle(ctx, &limit.Charge{ // kept and tried again, if it failed
		Held: &limit.Held{
			ID: claim.Hold.ID, Team: claim.Team, Model: claim.Model, Endpoint: policy.Endpoint(claim.Hold.Endpoint), Task: true,
			Amounts: taskAmounts(claim, claim.Hold.Images), Day: claim.Hold.Day, Month: claim.Hold.Month,
		},
		Team: g.teams.Load().Team(claim.Team), Amounts: taskAmounts(claim, images), Estimated: doubt,
		Taken: func(first bool) {
			g.memos.forget(claim.Team) // as in counting
			taken(first)
		},
		Left: left,
	})
	g.memos.forget(claim.Team)
}

// taskAmounts is what a task costs that makes so many images, at the price of its creation.
func taskAmounts(claim *cache.Claim, images int64) limit.Amounts {
	return limit.CostOf(policy.KindTask, limit.Usage{Images: images}, policy.Price{Image: claim.Hold.Price})
}

// watch looks at the pieces of a stream before they leave: it covers what they must not say, and claims the task that a
// stream of images may carry.
func (g *Gateway) watch(c *call) func(whole []byte) error {
	claims := c.route.creates || c.Kind == string(policy.KindInterleaved)
	cover := frameCover{credential: g.upstreamKey.Load()}
	return func(whole []byte) error {
		cover.cover(whole)
		if claims && bytes.Contains(whole, []byte(`"task_id"`)) {
			claims = !g.claimFrame(c, whole)
		}
		return nil
	}
}

// claimFrame reads the events of a piece and reports whether a task was claimed.
func (g *Gateway) claimFrame(c *call, whole []byte) bool {
	for line := range bytes.Lines(whole) {
		data, ok := bytes.CutPrefix(line, []byte("data:"))
		if !ok {
			continue
		}
		if answer := cache.ReadAnswer(data, g.TaskZone); isTaskID(answer.Task) {
			g.claim(c, answer, bytes.Clone(bytes.TrimSpace(data)))
			return true
		}
	}
	return false
}
