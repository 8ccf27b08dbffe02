package tasks

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"sluice/cache"
	"sluice/telemetry"
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

// List returns a page of the team's tasks that match the filter, and how many match. Its error says why they are not known.
func (t *Tasks) List(ctx context.Context, team string, f cache.Filter) ([]cache.Claim, int, error) {
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
func ListBody(tasks []cache.Claim, total int, f cache.Filter, id string) []byte {
	size := cache.PageSize(f.Size)
	list := struct {
		Total     int          `json:"total"`
		Data      []listedTask `json:"data"`
		TotalPage int          `json:"total_page"`
		PageNo    int          `json:"page_no"`
		PageSize  int          `json:"page_size"`
		RequestID string       `json:"request_id"`
	}{total, make([]listedTask, len(tasks)), (total + size - 1) / size, max(f.Page, 1), size, id}
	for i := range tasks {
		t := &tasks[i]
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

// encryptedQueries is how many queries in a row may be for encrypted polls, whose answers the gateway cannot read.
const encryptedQueries = 4

// Encrypted queries the service for one client that sent a public key. The answer is encrypted with it, so it can neither be read
// nor kept. send makes the query. passes: its answer may be passed on; otherwise the client gets the known answer.
//
// Encrypted queries count like all others, one an interval. After a few of them the gateway makes a readable one: otherwise it
// would never hear of the end of a task with encrypted polls only.
func (t *Tasks) Encrypted(claim cache.Claim, poll telemetry.Span, send func() (Reply, error)) (known PollAnswer, passes bool) {
	ctx := context.Background()
	last := PollAnswer{Claim: claim, Source: Stale}
	if turn, _ := t.turn(ctx, &claim, false, false); turn != cache.Mine {
		return last, false
	}
	if !claim.Final() && claim.Counts.Encrypted() >= encryptedQueries {
		return t.query(ctx, last, Origin{Span: poll}), false
	}
	defer t.release(ctx, &claim, t.config.Interval)
	claim.Counts.SendEncrypted()
	reply, err := send()
	return last, err == nil && reply.Status == http.StatusOK && !t.denies(reply.Body, claim.Task)
}

// denies reports whether a readable answer says that the service does not know the task, or is about another task.
func (t *Tasks) denies(body []byte, task string) bool {
	answer := cache.ReadAnswer(body, t.config.Zone)
	return answer.Status == cache.Unknown || answer.Task != "" && answer.Task != task
}
