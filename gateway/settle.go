package gateway

import (
	"context"
	"net/http"

	"sluice/cache"
	"sluice/gateway/tasks"
	"sluice/policy"
	"sluice/policy/limit"
	"sluice/telemetry"
	"sluice/telemetry/meter"
)

// settle charges what the request used, from what is known when its answer has ended. The client may be gone: the
// charge is made all the same.
func (g *Gateway) settle(ctx context.Context, c *call) {
	g.claimUnseen(c)
	used, flag := g.outcome(c)
	switch flag {
	case telemetry.FlagTask: // the task's end settles it
		_ = g.deps.Accounts.Extend(context.WithoutCancel(ctx), c.held, g.tasks.Lease()) // tried until it is done
	case telemetry.FlagUnknown: // upstream may have done the work: the hold stays, and is charged when its lease ends
		c.unknown = true
		_ = g.deps.Accounts.Extend(context.WithoutCancel(ctx), c.held, unknownLease)
	default:
		held := c.held
		if c.claimed && !held.Task { // its stream settled it; the task's end will be heard too, maybe late
			task := *held
			task.Task, held = true, &task
		}
		c.Cost = tasks.Cost(used, flag)
		g.deps.Accounts.SettleLater(&limit.Charge{Held: held, Team: g.teams.Load().Team(c.Team), Amounts: used, Estimated: flag == telemetry.FlagEstimated, Taken: g.counting(c)})
	}
}

// counting counts what the request cost once that is charged. It may wait for long, so it keeps nothing else of the call,
// whose body may be large.
func (g *Gateway) counting(c *call) func(first bool) {
	team, label, flag, images, spend := c.Team, c.Label, c.Cost.Flag, c.Cost.Images, c.Cost.Spend
	var task *telemetry.Task
	if c.claimed {
		task = g.taskOfStream(c)
	}
	return func(first bool) {
		g.memos.forget(team) // it has made room only now; a refusal in between was remembered
		if !first {
			return
		}
		g.deps.Metrics.Settlement(flag)
		g.deps.Metrics.Used(team, label, images, spend)
		if task != nil {
			g.tasks.Report(task)
		}
	}
}

// outcome says what a request that was admitted cost.
func (g *Gateway) outcome(c *call) (limit.Amounts, string) {
	read := &c.reading
	failed := c.UpstreamStatus >= 400 || read.Failed && !read.Content
	switch {
	case !c.exchange.Reached:
		return limit.Amounts{}, telemetry.FlagNotSent
	case c.claimed && !(read.Frames > 0 && (c.tellsAll() || c.taskFailed())):
		return limit.Amounts{}, telemetry.FlagTask
	case c.UpstreamStatus == 0, c.creates && c.doubtful():
		return limit.Amounts{}, telemetry.FlagUnknown
	case failed && !c.claimed:
		return g.cost(c), telemetry.FlagRefused
	case c.route.prefix && (!c.creates || c.claimed || c.exchange.Whole && !c.odd):
		return limit.Amounts{limit.Requests: 1}, telemetry.FlagExact
	case c.creates && !c.claimed && (c.route.prefix || !c.tellsAll()):
		return limit.Amounts{}, telemetry.FlagUnknown // a task may run whose id nobody knows
	case c.claimed && c.taskFailed():
		return g.cost(c), telemetry.FlagExact // what was counted before it failed
	}
	return g.measured(c)
}

// doubtful reports whether a creation failed in a way that leaves open whether it made a task. A 503, if all of it came,
// says that the service did nothing.
func (c *call) doubtful() bool {
	if c.claimed {
		return false
	}
	status := c.UpstreamStatus
	if read := &c.reading; status < 400 && read.Failed && !read.Content { // an error frame before any content is like its status
		status = read.ErrorStatus
	}
	return status >= 500 && !(status == http.StatusServiceUnavailable && (c.exchange.Whole || c.reading.Closed))
}

// complete reports whether nothing of the answer is missing: it told its own end, or its bytes ended in order.
func (c *call) complete() bool { return c.reading.Complete || c.exchange.Clean && c.reading.Closed }

// tellsAll reports whether the answer to a creation tells what it made and is whole, so that no task is needed to hear of it:
// it names none, or says that it has ended.
func (c *call) tellsAll() bool {
	_, known := c.reading.Images()
	return known && c.complete() && (c.reading.TaskID == "" && !c.odd || c.taskEnded())
}

// taskEnded reports whether a whole answer that names a task says that it has ended, and no error came before that. A stream
// that comes to its own end is the task's end; so is any end of it, where no status says that the task runs on.
func (c *call) taskEnded() bool {
	read, status := &c.reading, cache.Status(c.reading.TaskStatus)
	return status.Final() || !read.Failed && (read.Frames > 0 && read.Complete || !status.Runs())
}

// taskFailed reports whether the answer says that its task made no more images than were counted: it failed or was cancelled.
func (c *call) taskFailed() bool {
	status := cache.Status(c.reading.TaskStatus)
	return status.Final() && status != cache.Succeeded
}

// measured is the cost of an answer that was at least begun.
func (g *Gateway) measured(c *call) (limit.Amounts, string) {
	read := &c.reading
	used, complete := g.cost(c), c.complete()
	_, tokens := read.Usage.Tokens()
	count, images := read.Images()
	pictures := c.size[limit.Images] > 0 && !c.guessed
	images = images && (pictures || count > 0) // that a text has no images tells nothing of what it costs
	switch known := tokens || images; {
	case known && complete:
		return used, telemetry.FlagExact
	case !complete && !known && read.Frames == 0:
		return limit.Amounts{}, telemetry.FlagUnknown // cut before it said anything
	case pictures && !images && complete:
		return c.size, telemetry.FlagEstimated // an image that nobody counted
	case pictures:
		return used, telemetry.FlagEstimated
	}
	guess := limit.CostOf(c.paidAs(), limit.Usage{Input: c.inputTokens, Output: max(int64(read.TextBytes)/4, 1)}, c.price)
	for i := range used { // what was seen, or what the bytes amount to, but no more than was held
		used[i] = max(used[i], min(guess[i], c.size[i]))
	}
	return used, telemetry.FlagEstimated
}

// cost is what the answer's usage amounts to; without usage it is the request alone.
func (g *Gateway) cost(c *call) limit.Amounts {
	usage := &c.reading.Usage
	in, _ := usage.Get(meter.InputTokens)
	out, _ := usage.Get(meter.OutputTokens)
	total, _ := usage.Get(meter.TotalTokens)
	images, _ := c.reading.Images()
	return limit.CostOf(c.paidAs(), limit.Usage{Input: in, Output: out, Total: total, Images: images}, c.price)
}

// paidAs is the kind that a request is charged by: its own, but that of a chat where it was guessed to ask for images. A chat
// is charged its tokens, and the images that its answer counts.
func (c *call) paidAs() policy.Kind {
	if c.guessed {
		return policy.KindChat
	}
	return policy.Kind(c.Kind)
}

// taskOfStream is what is told of a task whose creation's own stream told its end.
func (g *Gateway) taskOfStream(c *call) *telemetry.Task {
	return &telemetry.Task{
		Request: c.ID, Creation: c.creation, Key: c.Key, ID: c.Task, Model: c.Model, Team: c.Team, Outcome: tasks.Outcome(cache.Status(c.reading.TaskStatus)),
		Images: c.Cost.Images, Usage: c.Usage, Cost: c.Cost, Held: c.Held, Estimated: c.Cost.Flag == telemetry.FlagEstimated, SettledBy: tasks.ByStream,
		Submitted: c.Time, Started: c.Time, Ended: g.deps.Now(),
	}
}
