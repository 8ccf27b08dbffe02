package tasks

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"sluice/cache"
	"sluice/gateway/billing"
	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/price"
	"sluice/policy/unit"
	"sluice/telemetry"
	"sluice/telemetry/meter"
)

// How the end of a task was learned, as in its log line.
const (
	ByPoll     = "poll"     // by a query for a client's poll or cancel
	ByFinisher = "finisher" // by a query of the finisher, because no client polled
	ByStream   = "stream"   // in the creation's own answer
	ByLease    = "lease"    // not at all: the task is charged as held
)

// End is the end of a task as it is settled.
type End struct {
	Outcome   string // see [Outcome]
	Answer    cache.Answer
	Usage     meter.Usage
	Amounts   limit.Amounts // what is charged
	Bill      *price.Bill   // of Amounts by kind; nil: their kinds are unknown
	Estimated bool          // the service did not count what was made
	By        string        // how the end was learned

	body []byte // the answer; nil: there was none
}

// settler charges the ends of tasks, once each.
type settler struct {
	config    Config
	deps      Deps
	unsettled unsettled
}

// soon is when a task is due again after a failed attempt.
func (s *settler) soon() time.Time { return s.deps.Now().Add(max(s.config.Interval, time.Second)) }

// release lets others query a task once that time has passed.
func (s *settler) release(ctx context.Context, claim *cache.Claim, after time.Duration) {
	s.deps.Claims.Release(ctx, claim.Team, claim.Task, after)
}

// Cost returns what the end costs.
func (e *End) Cost(m unit.Money) telemetry.Cost {
	flag := telemetry.FlagExact
	if e.Estimated {
		flag = telemetry.FlagEstimated
	}
	return Cost(e.Amounts, m, flag)
}

// endOf reads how a task ended from its last answer.
func (s *settler) endOf(claim *cache.Claim, ended cache.Answer, body []byte, by string) *End {
	reading := read(body)
	end := &End{Outcome: Outcome(ended.Status), Answer: ended, By: by, body: body}
	if end.count(claim, &reading) {
		s.deps.Contradicts(limit.RequestOf(claim.Hold.ID), claim.Team, claim.Model)
	}
	end.Usage = reading.Usage
	end.Usage.Cover(s.deps.Cover)
	return end
}

// count fills in what a task is charged for its last answer, and reports whether the usage there contradicts itself. If the answer does
// not count what was made, the stream of its creation does, if it ended the task; else what was held is the estimate.
func (e *End) count(claim *cache.Claim, reading *meter.Reading) (contradicts bool) {
	known := billing.Tells(reading, claim.Hold.Governed, true) // on a path that may make anything, also tokens
	if streamed := e.Answer.Streamed; e.Answer.Status == cache.Succeeded && streamed != "" && !known {
		*reading, known = read([]byte(streamed)), true
	}
	if !known && e.Answer.Status == cache.Succeeded && !billing.Forwarded(&claim.Hold) {
		e.Amounts, e.Bill = billing.HeldByTask(&claim.Hold)
		e.Estimated = true
		return false
	}
	bill, contradicts := billing.OfTask(&claim.Hold, billing.UsageOf(reading, claim.Hold.Governed, claim.Hold.Size))
	e.Amounts, e.Bill = limit.AmountsOf(&bill), &bill
	return contradicts
}

// Settled returns what an ended task costs, by its last answer, and whether that is estimated; ended: the task has ended.
func Settled(claim *cache.Claim) (cost limit.Amounts, estimated, ended bool) {
	if !claim.Final() {
		return cost, false, false
	}
	reading, end := read(claim.Body), End{Answer: claim.Answer}
	end.count(claim, &reading)
	return end.Amounts, end.Estimated, true
}

// Outcome is how a task ended: succeeded, failed or cancelled. A stream that ends without the task's status has succeeded.
func Outcome(status cache.Status) string {
	switch status {
	case cache.Failed:
		return "failed"
	case cache.Canceled, cache.Cancelled:
		return "cancelled"
	}
	return "succeeded"
}

// Put makes a task its team's. claim.Answer and claim.Body are the answer that names it; whole: the answer is not a frame of a
// stream. A task that has ended already is settled immediately. One that ended in a stream is settled when the stream ends, which
// may count its images; until then it is kept as waiting, so that another process queries its end if this one dies.
//
// ok is false if another request, of any team, has claimed the task. end is nil if the task is not settled here.
func (s *settler) Put(ctx context.Context, claim cache.Claim, whole bool) (end *End, ok bool) {
	answer := claim.Answer
	if answer.Status.Final() {
		claim.Answer.Status = cache.Pending
	}
	if !s.deps.Claims.Put(ctx, claim) {
		return nil, false
	}
	if !answer.Status.Final() || !whole {
		return nil, true
	}
	if _, end = s.settle(ctx, heardEnd{claim, answer, claim.Body, 0, ByStream}); end == nil {
		end = s.endOf(&claim, answer, claim.Body, ByStream)
	}
	return end, true
}

// heardEnd is the answer from which a task's end was just learned.
type heardEnd struct {
	claim   cache.Claim
	answer  cache.Answer
	body    []byte
	queries int    // for [cache.Claim]
	by      string // how the end was learned
}

// settle charges a task whose end was just learned, and reports the end to the other replicas once the charge is taken, usually
// immediately. Until then only this process knows of the end, and the task stays due, so that another replica finds it if this
// one dies. The first replica to charge the end counts. settle returns the task as it ended, and what is charged for it; nil: it
// was charged before.
func (s *settler) settle(ctx context.Context, h heardEnd) (ended cache.Claim, end *End) {
	ended = h.claim
	ended.Answer, ended.Body, ended.Fetched, ended.Queries = h.answer, h.body, s.deps.Now(), h.queries
	var taken, before atomic.Bool
	if s.unsettled.add(&ended) {
		given := false
		defer s.unsettled.removeUnless(&given, &ended)
		end = s.endOf(&h.claim, h.answer, h.body, h.by)
		s.charge(ctx, &h.claim, end, func(first bool) {
			_, _ = s.deps.Claims.Hear(context.WithoutCancel(ctx), &h.claim, h.answer, h.body, h.queries) // Claims repeats it if it fails
			s.unsettled.remove(ended.Team, ended.Task)
			before.Store(!first)
			taken.Store(true)
		}, func() { s.unsettled.remove(ended.Team, ended.Task) }) // the task is due again, and the next query charges it
		given = true
	}
	if before.Load() {
		end = nil
	}
	if !taken.Load() {
		rests := s.config.Interval // an end that is not kept is queried again, like any state
		if _, waits := s.unsettled.of(ended.Team, ended.Task); waits {
			rests = 0
		}
		s.release(ctx, &ended, rests)
		_ = s.deps.Claims.Schedule(ctx, &ended, s.soon()) // if it fails, the task is due later
	}
	return ended, end
}

// charge charges a task's end to what its creation holds, once, and reports the task. It calls taken when that is done, now or
// later; first: it was not charged before. It calls left if it will never be done; left may be nil.
func (s *settler) charge(ctx context.Context, claim *cache.Claim, end *End, taken func(first bool), left func()) {
	if claim.Hold.ID == "" {
		taken(false)
		return
	}
	held := &limit.Held{
		ID: claim.Hold.ID, Team: claim.Team, Account: claim.Account, Model: claim.Model, Endpoint: policy.Endpoint(claim.Hold.Endpoint),
		Tag: limit.Inner(claim.Hold.Tag), Key: limit.Inner(claim.Hold.Key),
		Task: true, Amounts: HeldBy(&claim.Hold), Day: claim.Hold.Day, Month: claim.Hold.Month,
	}
	if claim.Hold.House {
		held.AddOuter(limit.ScopeHouse)
	}
	if claim.Hold.Counted {
		held.AddOuter(limit.ScopeAccount)
	}
	// a charge may wait for long: it keeps no answer
	task, unpriced := s.taskOf(claim, end), billing.Unpriced(&claim.Hold, &end.Amounts, end.Bill)
	s.deps.Charge(ctx, &limit.Charge{
		Held: held, Amounts: end.Amounts, Bill: end.Bill, Estimated: end.Estimated, Left: left, Event: s.Event(task, end.body, claim.Callback),
		Taken: func(first bool) {
			defer taken(first) // also if the report panics: the charge is taken
			if first {
				s.reportEnd(claim, task)
			}
			if first && unpriced {
				s.deps.Metrics.Unpriced(s.deps.Label(claim.Model))
			}
		},
	})
}

// HeldBy returns what a task holds until its end.
func HeldBy(hold *cache.Hold) limit.Amounts {
	held, _ := billing.HeldByTask(hold)
	return held
}

// Cost returns amounts in the form of the log.
func Cost(a limit.Amounts, m unit.Money, flag string) telemetry.Cost {
	return telemetry.Cost{Known: true, Amounts: a, Money: m, Flag: flag}
}

// taskOf returns a task as its end is reported.
func (s *settler) taskOf(claim *cache.Claim, end *End) *telemetry.Task {
	money := s.deps.Money()
	task := &telemetry.Task{
		Request: limit.RequestOf(claim.Hold.ID), Creation: claim.Trace, Key: claim.Key, ID: claim.Task, Model: claim.Model, Team: claim.Team,
		Account: s.deps.Shown(claim.Account), Outcome: end.Outcome, Images: end.Amounts[limit.Images],
		Submitted: end.Answer.Submitted, Started: end.Answer.Scheduled, Ended: end.Answer.Ended,
		Usage: end.Usage, Cost: end.Cost(money), Held: Cost(HeldBy(&claim.Hold), money, ""), Estimated: end.Estimated, SettledBy: end.By,
	}
	if task.Submitted.IsZero() {
		task.Submitted = claim.Created
	}
	if task.Ended.IsZero() {
		task.Ended = s.deps.Now()
	}
	return task
}

// mostUnsettled bounds how many ends wait for their charges. An end without room is queried again.
const mostUnsettled = 10_000

// unsettled keeps the ends that this process has learned and whose charges are not taken yet. Other replicas must not learn of
// them before: a task that is known to have ended is not queried again, so if this process died, the task would be charged only when its
// lease ends, and as held.
type unsettled struct {
	most  int
	mu    sync.Mutex
	heard map[taskName]cache.Claim
}

type taskName struct{ team, task string }

// add keeps an end if there is room, and reports whether the task had none before.
func (u *unsettled) add(claim *cache.Claim) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	name := taskName{claim.Team, claim.Task}
	if _, waits := u.heard[name]; waits {
		return false
	}
	if len(u.heard) < u.most {
		u.heard[name] = *claim
	}
	return true
}

// of returns the end of a task, if its charge is not taken yet.
func (u *unsettled) of(team, task string) (cache.Claim, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	claim, waits := u.heard[taskName{team, task}]
	return claim, waits
}

func (u *unsettled) remove(team, task string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.heard, taskName{team, task})
}

// removeUnless removes an end whose charge was not given away, because of a panic before: the next look at the task gives it away.
func (u *unsettled) removeUnless(given *bool, claim *cache.Claim) {
	if !*given {
		u.remove(claim.Team, claim.Task)
	}
}
