package tasks

import (
	"context"
	"net/http"

	"sluice/cache"
	"sluice/telemetry"
)

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
