package tasks

import (
	"context"
	"net/http"

	"sluice/cache"
	"sluice/telemetry"
)

// encryptedQueries is how many queries in a row may be for encrypted polls, whose answers nobody else can read.
const encryptedQueries = 4

// Encrypted asks upstream for one client alone: it sent a key of its own by which the answer is encrypted, which therefore can
// neither be read nor kept. ask makes the query; passes: its answer may be passed on. Else it is told what Told says.
//
// Such queries are the task's as all others are, one an interval, and every so often it is the gateway's turn to ask: else it
// would never hear of the end of a task that is polled in this way alone.
func (t *Tasks) Encrypted(claim cache.Claim, poll telemetry.Span, ask func() (Reply, error)) (told Told, passes bool) {
	ctx := context.Background()
	last := Told{Claim: claim, Source: Stale}
	if t.turn(ctx, &claim, false, false) != cache.Mine {
		return last, false
	}
	if !claim.Final() && claim.Tally.Private() >= encryptedQueries {
		return t.query(ctx, last, asker{span: poll}), false
	}
	defer t.release(ctx, &claim, t.config.Interval)
	claim.Tally.SendPrivately()
	reply, err := ask()
	return last, err == nil && reply.Status == http.StatusOK && !t.denies(reply.Body, claim.Task)
}

// denies reports whether an answer that can be read says that the service does not know the task, or is about another.
func (t *Tasks) denies(body []byte, task string) bool {
	answer := cache.ReadAnswer(body, t.config.Zone)
	return answer.Status == cache.Unknown || answer.Task != "" && answer.Task != task
}
