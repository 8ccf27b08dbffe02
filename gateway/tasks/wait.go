package tasks

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"sluice/cache"
	"sluice/telemetry"
)

// longestWait is the longest wait that a poll may ask for.
const longestWait = 60 * time.Second

// PreferredWait reads how long a client wants to wait for a change, "Prefer: wait=10", 60 seconds at most. A malformed
// preference is ignored.
func PreferredWait(h http.Header) time.Duration {
	for _, line := range h["Prefer"] {
		for preference := range strings.SplitSeq(line, ",") {
			name, value, _ := strings.Cut(preference, "=")
			value, _, _ = strings.Cut(value, ";")
			if !strings.EqualFold(strings.TrimSpace(name), "wait") {
				continue
			}
			seconds, err := strconv.ParseUint(strings.Trim(strings.TrimSpace(value), `"`), 10, 31)
			if err != nil {
				return 0
			}
			return min(time.Duration(seconds)*time.Second, longestWait)
		}
	}
	return 0
}

// Await waits until the task's state changes, the span has passed, or the gateway drains. waited is the time that it waited,
// without the last query.
func (t *Tasks) Await(ctx context.Context, claim cache.Claim, poll telemetry.Span, span time.Duration, drains func() bool) (answer PollAnswer, waited time.Duration) {
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
		pause := time.NewTimer(t.pause(&answer.Claim))
		before = t.deps.Now()
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
		}
		waited += t.deps.Now().Sub(before)
	}
}

// pause is how long to wait before the next look: until the answer is no longer fresh, but not so long that it delays a
// drain.
func (t *Tasks) pause(claim *cache.Claim) time.Duration {
	least := max(10*time.Millisecond, min(t.config.Interval, time.Second)/2)
	return min(max(t.config.Interval-t.deps.Now().Sub(claim.Fetched), least), time.Second)
}
