package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"

	"sluice/cache"
	"sluice/policy"
	"sluice/policy/limit"
	"sluice/telemetry"
)

// creates reports whether a request's success is a task. What a forwarded path does nobody reads: there its client says so.
func (g *Gateway) creates(to *route, r *http.Request) bool {
	return to.creates || to.prefix && r.Method == post && enabled(r.Header[g.names.async])
}

var errNoTask = errors.New("upstream's answer to a task's creation names no task")

// claimWhole reads a creation's answer whole and claims the task before a byte of it leaves: a client that knows the
// id may ask for it in the same instant.
func (g *Gateway) claimWhole(kept *http.Response, c *call) error {
	text, err := readWhole(kept)
	if err != nil {
		return err
	}
	if !g.claimAnswer(c, text, true) && !c.tellsAll() {
		return refuse(refuseAnswer).say("The service's answer to the task's creation could not be read; whether a task runs is unknown.").because(errNoTask)
	}
	return nil
}

// claimForwarded claims the task that a forwarded path's answer names, if it names one. What is longer than the answer to a
// creation is none, and passed on as it comes.
func (g *Gateway) claimForwarded(kept *http.Response, c *call) error {
	text, err := io.ReadAll(io.LimitReader(kept.Body, wholeAnswer+1))
	if err != nil {
		_ = kept.Body.Close()
		return err
	}
	if len(text) <= wholeAnswer {
		g.claimAnswer(c, text, true)
	}
	kept.Body = &bounded{ReadCloser: resumed{io.MultiReader(bytes.NewReader(text), kept.Body), kept.Body}, left: longestAnswer}
	return nil
}

// resumed is a body whose beginning was read and is read again.
type resumed struct {
	io.Reader
	io.Closer
}

// claimAnswer claims the task that an answer names, and reports whether it names one. An id of a form that no path can carry
// cannot be polled; the answer is all that its team will ever have of it. whole: nothing follows in a stream.
func (g *Gateway) claimAnswer(c *call, text []byte, whole bool) bool {
	answer := cache.ReadAnswer(text, g.TaskZone)
	if isTaskID(answer.Task) {
		g.claim(c, answer, text, whole)
	} else if answer.Task != "" && !c.odd {
		c.odd = true
		g.Logger.LogAttrs(context.Background(), slog.LevelError, "a task was made whose id cannot stand in a path; its hold is charged when its lease ends",
			slog.String("id", c.ID), slog.String("team", c.Team), slog.String("task", shortID(g.upstreamKey.Load().Cover(answer.Task))))
	}
	return answer.Task != ""
}

// shortID is the beginning of an id of any length, for the log.
func shortID(id string) string { return id[:min(len(id), longestTaskID)] }

// claim makes the task its team's. One that has ended already is settled now, unless the rest of a stream tells what it made;
// until that is done it counts as waiting, so that whoever finds it, if this process dies, asks for its end.
func (g *Gateway) claim(c *call, answer cache.Answer, body []byte, whole bool) {
	c.Task, c.claimed, c.creation = answer.Task, true, c.exchange.Recorded()
	claim := cache.Claim{Team: c.Team, Key: c.Key, Task: answer.Task, Model: c.Model, Created: g.Now(), Answer: answer, Body: body, Trace: c.creation}
	if c.held != nil {
		claim.Hold = cache.Hold{ID: c.held.ID, Endpoint: string(c.route.endpoint), Day: c.held.Day, Month: c.held.Month, Images: c.size[limit.Images], Price: c.price.Image}
	}
	if answer.Status.Final() {
		claim.Answer.Status = cache.Pending
	}
	g.Claims.Put(context.Background(), claim)
	if answer.Status.Final() && (whole || answer.Status != cache.Succeeded) {
		g.hearEnd(context.Background(), claim, answer, body, 0)
		images, doubt := madeBy(&claim, answer, body)
		c.charged, c.Cost = true, cost(taskCost(&claim.Hold, images), flagExact)
		if doubt {
			c.Cost.Flag = flagEstimated
		}
	}
}

// taskLease is how long a task's hold stands: a task that ends without anybody hearing of it is charged as held.
func (g *Gateway) taskLease() time.Duration { return g.TaskTTL + time.Hour }

// settleTask settles a task that has ended, by the images it made. Whoever hears of the end does so; the first counts. It
// calls taken once the charge is taken, or left where it never will be: that may be later, when this has returned.
func (g *Gateway) settleTask(ctx context.Context, claim *cache.Claim, ended cache.Answer, body []byte, taken, left func()) {
	images, doubt := madeBy(claim, ended, body)
	g.chargeTask(ctx, claim, images, doubt, func(first bool) {
		if first {
			g.tellOfTask(claim, outcomeOf(ended.Status), &ended, images, doubt)
		}
		taken()
	}, left)
}

// madeBy tells how many images a task made that has ended, by its last answer. Where that does not say, it is as many as were
// held, in doubt.
func madeBy(claim *cache.Claim, ended cache.Answer, body []byte) (images int64, doubt bool) {
	var meter telemetry.Meter
	meter.Reset("application/json", "")
	_, _ = meter.Write(body) // it never fails
	reading := meter.End()
	images, known := reading.Images()
	if known || ended.Status != cache.Succeeded || forwarded(&claim.Hold) {
		return images, false
	}
	return claim.Hold.Images, true
}

// taskCost is what a task is charged that made so many images. One of a forwarded path costs its request, whatever it made.
func taskCost(hold *cache.Hold, images int64) limit.Amounts {
	if forwarded(hold) {
		images = 0
	}
	return limit.CostOf(policy.KindTask, limit.Usage{Images: images}, policy.Price{Image: hold.Price})
}

func forwarded(hold *cache.Hold) bool { return hold.Endpoint == string(policy.EndpointOther) }

// tellOfTask counts a task that this process has settled, and tells its span. Whoever settles tells, so that it is told
// once.
func (g *Gateway) tellOfTask(claim *cache.Claim, outcome string, ended *cache.Answer, images int64, doubt bool) {
	g.Metrics.Settlement(outcome)
	charged := taskCost(&claim.Hold, images)
	g.Metrics.Used(claim.Team, g.teams.Load().Label(claim.Model), charged[limit.Images], charged[limit.Spend])
	task := telemetry.Task{
		Creation: claim.Trace, ID: claim.Task, Model: claim.Model, Team: claim.Team, Outcome: outcome, Images: images, Estimated: doubt,
		Submitted: ended.Submitted, Started: ended.Scheduled, Ended: ended.Ended,
	}
	task.Served, task.Sent = claim.Polls()
	if task.Submitted.IsZero() {
		task.Submitted = claim.Created
	}
	if task.Ended.IsZero() {
		task.Ended = g.Now()
	}
	g.Traces.Task(&task)
}

// taskOfStream is what the span tells of a task whose creation's own stream told its end.
func (g *Gateway) taskOfStream(c *call) *telemetry.Task {
	return &telemetry.Task{
		Creation: c.creation, ID: c.Task, Model: c.Model, Team: c.Team, Outcome: outcomeOf(cache.Status(c.reading.TaskStatus)),
		Images: c.Cost.Images, Estimated: c.Cost.Flag == flagEstimated, Submitted: c.Time, Started: c.Time, Ended: g.Now(),
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
			Amounts: taskCost(&claim.Hold, claim.Hold.Images), Day: claim.Hold.Day, Month: claim.Hold.Month,
		},
		Team: g.teams.Load().Team(claim.Team), Amounts: taskCost(&claim.Hold, images), Estimated: doubt,
		Taken: func(first bool) {
			g.memos.forget(claim.Team) // as in counting
			taken(first)
		},
		Left: left,
	})
	g.memos.forget(claim.Team)
}

// watch looks at the pieces of a stream before they leave: it covers what an error frame must not say, and claims the
// task that a stream of images may carry.
func (g *Gateway) watch(c *call) func(whole []byte) error {
	claims := c.creates || c.Kind == string(policy.KindInterleaved)
	return func(whole []byte) error {
		if i := errorFrame(whole); i >= 0 {
			g.upstreamKey.Load().redact(whole[i:])
		}
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
		if g.claimAnswer(c, bytes.Clone(bytes.TrimSpace(data)), false); c.claimed {
			return true
		}
	}
	return false
}

// errorFrame returns where an error frame begins, or -1. JSON has no raw line ends, so model text cannot look like one.
// The word is searched for once: the search runs over every byte of every stream.
func errorFrame(whole []byte) int {
	for from := 0; ; {
		i := bytes.Index(whole[from:], []byte("error"))
		if i < 0 {
			return -1
		}
		before := bytes.TrimSuffix(whole[:from+i], []byte(" "))
		if line, ok := bytes.CutSuffix(before, []byte("event:")); ok && (len(line) == 0 || line[len(line)-1] == '\n' || line[len(line)-1] == '\r') {
			return len(line)
		}
		from += i + len("error")
	}
}
