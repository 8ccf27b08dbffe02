package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/time/rate"

	"sluice/cache"
	"sluice/telemetry"
)

// ErrAbsent is the error for a task that is absent, expired, or another team's.
var ErrAbsent = errors.New("there is no such task")

// ErrCrowded is the error for a task that is not the team's, while many others are being looked up for the team.
var ErrCrowded = errors.New("there is no such task, and too many are looked up")

const (
	// claimPatience is how long a poll waits for Claims to become available.
	claimPatience = 2 * time.Second
	// pollPatience is how long a poll waits for a query before it gets the last known answer.
	pollPatience = 5 * time.Second
	// encryptedQueries is how many queries in a row may be for encrypted polls, whose answers the gateway cannot read.
	encryptedQueries = 4
)

// Source is where a poll's answer came from.
type Source string

// The sources. Queried is also the source of the answer to an encrypted poll, which is not kept.
const (
	Hit       Source = "hit"       // a fresh answer was known
	Queried   Source = "miss"      // the service was queried for this poll
	Collapsed Source = "collapsed" // the service was queried for another poll
	Stale     Source = "stale"     // the service could not be queried, or did not answer
)

// PollAnswer is the answer to a poll.
type PollAnswer struct {
	Claim          cache.Claim // with the answer
	Source         Source
	UpstreamID     string        // of the query; empty: none was made
	UpstreamStatus int           // of the query; 0: none was made, or it failed
	Took           time.Duration // of the query
	End            *End          // that the query settled; nil: none
	NoRate         bool          // no query was made because the account's rate had none left
}

// Own finds the team's claim of a task. If Claims fails, Own waits for a while before it returns the error of Claims: it must not
// deny the task.
func (t *Tasks) Own(ctx context.Context, team, task string) (cache.Claim, error) {
	var end time.Time // of the wait; zero: not waiting
	for {
		claim, ok, err := t.deps.Claims.Get(ctx, team, task)
		switch {
		case err == nil && !ok:
			return claim, ErrAbsent
		case err == nil || errors.Is(err, ErrCrowded):
			return claim, err
		case end.IsZero():
			end = time.Now().Add(claimPatience)
		case time.Now().After(end) || ctx.Err() != nil:
			return claim, err
		}
		select {
		case <-time.After(claimPatience / 20):
		case <-ctx.Done():
		}
	}
}

// Current returns the claim with a fresh answer, or with the last known one if no fresh one can be had. Polls at the same time
// share one query, which goes on if a client leaves.
func (t *Tasks) Current(ctx context.Context, claim cache.Claim, poll telemetry.Span) PollAnswer {
	if t.fresh(&claim) {
		return PollAnswer{Claim: claim, Source: Hit}
	}
	return t.collapse(ctx, claim, Origin{Span: poll})
}

// collapse queries the service once for all polls at the same time. It is separate from Current because what it shares with the
// query escapes to the heap, and a poll that needs no query should not pay for that.
func (t *Tasks) collapse(ctx context.Context, claim cache.Claim, by Origin) PollAnswer {
	led := false
	flight := t.flights.DoChan(claim.Team+"/"+claim.Task, func() (any, error) {
		led = true
		return t.queryFenced(&claim, by), nil
	})
	patience := time.NewTimer(pollPatience)
	defer patience.Stop()
	select {
	case landed := <-flight:
		answer := landed.Val.(PollAnswer)
		if !led {
			answer.End = nil // the poll that made the query reports it
			if answer.Source == Queried {
				answer.Source = Collapsed
			}
		}
		return answer
	case <-patience.C:
	case <-ctx.Done():
	}
	return PollAnswer{Claim: claim, Source: Stale}
}

// Await waits until the task's state changes, the span has passed, or the gateway drains. waited is the time that it waited,
// without the last query.
func (t *Tasks) Await(ctx context.Context, claim cache.Claim, poll telemetry.Span, span time.Duration,
	drains func() bool,
) (answer PollAnswer, waited time.Duration) {
	begun := claim.Answer.Status
	ctx, cancel := context.WithTimeout(ctx, span)
	defer cancel()
	for ; ; claim = answer.Claim {
		before := t.deps.Now()
		answer = t.Current(ctx, claim, poll)
		waited += t.deps.Now().Sub(before) - answer.Took
		if answer.Claim.Answer.Status != begun || answer.Claim.Final() || drains() || ctx.Err() != nil {
			return answer, waited
		}
		// The next look is when the answer is no longer fresh, but not so late that it delays a drain.
		least := max(10*time.Millisecond, min(t.config.Interval, time.Second)/2)
		pause := time.NewTimer(min(max(t.config.Interval-t.deps.Now().Sub(answer.Claim.Fetched), least), time.Second))
		before = t.deps.Now()
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
		}
		waited += t.deps.Now().Sub(before)
	}
}

// Encrypted queries the service for one client that sent a public key. The answer is encrypted with it, so it can neither be read
// nor kept. send makes the query. passes: its answer may be passed on; otherwise the client gets the known answer.
//
// Encrypted queries count like all others, one an interval. After a few of them the gateway makes a readable one: otherwise it
// would never learn of the end of a task that has only encrypted polls.
func (t *Tasks) Encrypted(claim cache.Claim, poll telemetry.Span, send func() (Reply, error)) (known PollAnswer, passes bool) {
	ctx := context.Background()
	last := PollAnswer{Claim: claim, Source: Stale}
	if turn, _ := t.turn(ctx, &claim, false, false); turn != cache.Mine {
		return last, false
	}
	if !claim.Final() && claim.Encrypted() >= encryptedQueries {
		return t.query(ctx, last, Origin{Span: poll}), false
	}
	defer t.release(ctx, &claim, t.config.Interval)
	claim.CountEncrypted()
	reply, err := send()
	answer := cache.ReadAnswer(reply.Body, t.config.Zone)
	t.alarm(&claim, &reply, &answer)
	if err != nil || reply.Status != http.StatusOK {
		return last, false
	}
	// A readable answer may say that the service does not know the task, or be about another task.
	return last, answer.Status != cache.Unknown && (answer.Task == "" || answer.Task == claim.Task)
}

// MayCancel takes one cancel of a task from its account's rate of cancels, and reports whether the team got one. The service counts cancels
// apart from queries. A cancel without room in that rate is refused, unlike a poll, so a team's first cancel in a second has
// priority, and more get what is left.
func (t *Tasks) MayCancel(ctx context.Context, claim *cache.Claim) bool {
	first, _ := t.cancels.LoadOrStore(claim.Team, rate.NewLimiter(rate.Every(time.Second), 1))
	allowed, err := t.deps.Cancels.Allow(ctx, t.wish(claim, !first.(*rate.Limiter).AllowN(t.deps.Now(), 1)))
	return err != nil || allowed
}

// Look queries a task's state even if the last answer is fresh, for the cancel of a client. It makes no query if another one
// runs or has just failed; Took is then 0.
func (t *Tasks) Look(ctx context.Context, claim cache.Claim, cancel telemetry.Span) PollAnswer {
	last := PollAnswer{Claim: claim, Source: Stale}
	if turn, _ := t.turn(ctx, &claim, false, true); turn != cache.Mine {
		return last
	}
	return t.query(ctx, last, Origin{Span: cancel})
}

// CacheStatus is the value of the Cache-Status header. ttl is the seconds until the next query, negative if that is overdue. A
// final answer is not queried again; its ttl is the life of the task.
func (t *Tasks) CacheStatus(answer *PollAnswer, age time.Duration, now time.Time) string {
	left := t.config.Interval - age
	if answer.Claim.Final() {
		left = answer.Claim.Created.Add(t.config.TTL).Sub(now)
	}
	switch answer.Source {
	case Hit:
		return string(strconv.AppendInt(append(make([]byte, 0, 32), "sluice;hit;ttl="...), int64((left+time.Second-1)/time.Second), 10))
	case Queried:
		return "sluice;fwd=uri-miss;stored"
	case Collapsed:
		return "sluice;fwd=uri-miss;collapsed"
	}
	return "sluice;hit;ttl=" + strconv.Itoa(min(int(left/time.Second), 0)) + ";detail=stale"
}

// List returns a page of the team's tasks. The error says why they cannot be read.
func (t *Tasks) List(ctx context.Context, team string, f cache.Filter) (cache.Page, error) {
	return t.deps.Claims.List(ctx, []string{team}, f)
}

type listedTask struct {
	Task    string       `json:"task_id"`
	Model   string       `json:"model_name"`
	Status  cache.Status `json:"status"`
	Created int64        `json:"gmt_create"`
	Started *int64       `json:"start_time"` // null until it is known
	Ended   *int64       `json:"end_time"`
}

// ListBody writes a page in the form of the service's list. id is the request's.
func ListBody(page *cache.Page, f cache.Filter, id string) []byte {
	total, size := page.Total, cache.PageSize(f.Size)
	list := struct {
		Total     int          `json:"total"`
		Data      []listedTask `json:"data"`
		TotalPage int          `json:"total_page"`
		PageNo    int          `json:"page_no"`
		PageSize  int          `json:"page_size"`
		RequestID string       `json:"request_id"`
	}{total, make([]listedTask, len(page.Tasks)), (total + size - 1) / size, max(f.Page, 1), size, id}
	for i := range page.Tasks {
		t := &page.Tasks[i]
		list.Data[i] = listedTask{t.Task, t.Model, t.Answer.Status, t.Submitted().UnixMilli(), millis(t.Answer.Scheduled), millis(t.Answer.Ended)}
	}
	body, _ := json.Marshal(list) // strings and numbers always encode
	return body
}

func millis(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	ms := t.UnixMilli()
	return &ms
}
