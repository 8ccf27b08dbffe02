package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"sluice/cache"
	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/telemetry"
	"sluice/telemetry/meter"
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
	g.upstreamKey.Load().RedactKeys(text) // a task may have failed already
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
		g.upstreamKey.Load().RedactKeys(text)
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
// cannot be polled, and one that another team has claimed stays that team's; the answer is all that its own will ever have of
// it. whole: nothing follows in a stream.
func (g *Gateway) claimAnswer(c *call, text []byte, whole bool) bool {
	answer := cache.ReadAnswer(text, g.TaskZone)
	switch {
	case answer.Task == "":
		return false
	case c.odd: // and told
	case answer.Odd || !isTaskID(answer.Task):
		g.cannotClaim(c, answer.Task, "a task was made whose id cannot stand in a path; its hold is charged when its lease ends")
	case !g.claim(c, answer, text, whole):
		g.cannotClaim(c, answer.Task, "the service named a task that another team has claimed, and that stays its; the hold is charged when its lease ends")
	}
	return true
}

// cannotClaim notes that the answer names a task that cannot be the team's, and tells the operator.
func (g *Gateway) cannotClaim(c *call, task, why string) {
	c.odd = true
	g.Logger.LogAttrs(context.Background(), slog.LevelError, why,
		slog.String("id", c.ID), slog.String("team", c.Team), slog.String("task", shortID(g.upstreamKey.Load().Cover(task))))
}

// shortID is the beginning of an id of any length, for the log.
func shortID(id string) string { return id[:min(len(id), longestTaskID)] }

// claimUnseen claims the task that a stream named where no piece of it held the name: its frames were too large.
func (g *Gateway) claimUnseen(c *call) {
	read := &c.reading
	if c.claimed || c.odd || read.TaskID == "" || read.Frames == 0 || c.UpstreamStatus >= 400 || !c.mayName() {
		return
	}
	var body struct {
		Output struct {
			Task   string `json:"task_id"`
			Status string `json:"task_status,omitempty"`
		} `json:"output"`
		Request string `json:"request_id"`
	}
	body.Output.Task, body.Output.Status, body.Request = read.TaskID, read.TaskStatus, g.upstreamKey.Load().Cover(read.ResponseID)
	text, err := json.Marshal(body)
	if err == nil {
		g.claimAnswer(c, text, false)
	}
}

// claim makes the task its team's. One that has ended already is settled now, but a stream's when the stream ends, which may
// tell of images; until that is done it counts as waiting, so that whoever finds it, if this process dies, asks for its end.
// It reports whether the task is no other team's.
func (g *Gateway) claim(c *call, answer cache.Answer, body []byte, whole bool) bool {
	trace := c.clientSpan.OwnTraceparent()
	claim := cache.Claim{Team: c.Team, Key: c.Key, Task: answer.Task, Model: c.Model, Created: g.Now(), Answer: answer, Body: body, Trace: trace}
	if c.held != nil {
		claim.Hold = cache.Hold{ID: c.held.ID, Endpoint: string(c.route.endpoint), Day: c.held.Day, Month: c.held.Month, Images: c.size[limit.Images], Price: c.price.Image}
	}
	if answer.Status.Final() {
		claim.Answer.Status = cache.Pending
	}
	if !g.Claims.Put(context.Background(), claim) {
		return false
	}
	c.Task, c.claimed, c.creation = answer.Task, true, trace
	if answer.Status.Final() && whole {
		g.hearEnd(context.Background(), claim, answer, body, 0, settledByStream)
		c.Cost = g.endOf(&claim, answer, body, settledByStream).cost(&claim)
	}
	return true
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
	usage   meter.Usage
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
	return cost(taskCost(&claim.Hold, e.images), flag)
}

// settleTask settles a task that has ended, by the images it made. Whoever hears of the end does so; the first counts. It
// calls taken once the charge is taken, or left where it never will be: that may be later, when this has returned. It
// returns what it charges, or nil where another did before.
func (g *Gateway) settleTask(ctx context.Context, claim *cache.Claim, ended cache.Answer, body []byte, by string, taken, left func()) *taskEnd {
	end := g.endOf(claim, ended, body, by)
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

// endOf tells how a task ended, by its last answer. Where that does not say how many images it made, it is as many as were
// held, in doubt.
func (g *Gateway) endOf(claim *cache.Claim, ended cache.Answer, body []byte, by string) *taskEnd {
	var reads meter.Meter
	reads.Reset("application/json", "")
	_, _ = reads.Write(body) // it never fails
	reading := reads.End()
	reading.Usage.Cover(g.upstreamKey.Load().Cover)
	images, known := reading.Images()
	end := &taskEnd{outcome: outcomeOf(ended.Status), answer: ended, usage: reading.Usage, images: images, by: by}
	if end.doubt = !known && ended.Status == cache.Succeeded && !forwarded(&claim.Hold); end.doubt {
		end.images = claim.Hold.Images
	}
	return end
}

// taskCost is what a task is charged that made so many images. One of a forwarded path costs its request, whatever it made.
func taskCost(hold *cache.Hold, images int64) limit.Amounts {
	if forwarded(hold) {
		images = 0
	}
	return limit.CostOf(policy.KindTask, limit.Usage{Images: images}, teams.Price{Image: hold.Price})
}

func forwarded(hold *cache.Hold) bool { return hold.Endpoint == string(policy.EndpointOther) }

// tellOfTask counts a task that this process has settled, and tells its span and its line of the log. Whoever settles
// tells, so that it is told once.
func (g *Gateway) tellOfTask(claim *cache.Claim, end *taskEnd) {
	g.Metrics.Settlement(end.outcome)
	charged := taskCost(&claim.Hold, end.images)
	g.Metrics.Used(claim.Team, g.teams.Load().Label(claim.Model), charged[limit.Images], charged[limit.Spend])
	task := telemetry.Task{
		Request: claim.Hold.ID, Creation: claim.Trace, Key: claim.Key, ID: claim.Task, Model: claim.Model, Team: claim.Team, Outcome: end.outcome, Images: end.images,
		Submitted: end.answer.Submitted, Started: end.answer.Scheduled, Ended: end.answer.Ended,
		Usage: end.usage, Cost: end.cost(claim), Held: cost(taskCost(&claim.Hold, claim.Hold.Images), ""), Estimated: end.doubt, SettledBy: end.by,
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
		Images: c.Cost.Images, Usage: c.Usage, Cost: c.Cost, Held: c.Held, Estimated: c.Cost.Flag == flagEstimated, SettledBy: settledByStream,
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

// mayName reports whether the answer may name a task.
func (c *call) mayName() bool { return c.creates || c.Kind == string(policy.KindInterleaved) }

// watch looks at the pieces of a stream before they leave, and claims the task that a stream of images may carry. It is nil
// where the stream carries none.
func (g *Gateway) watch(c *call) func(piece []byte) {
	if !c.mayName() {
		return nil
	}
	claims := true
	return func(piece []byte) {
		if claims && bytes.Contains(piece, []byte(`"task_id"`)) {
			claims = !g.claimFrame(c, piece)
		}
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
