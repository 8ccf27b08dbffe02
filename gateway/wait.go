package gateway

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sluice/cache"
)

const (
	longestWait = 60 * time.Second // that a poll may ask for
	mostWaiters = 100              // of a team that has no limit of concurrent requests
)

// waiters counts the polls of each team that are held.
type waiters struct{ teams sync.Map } // team id → *atomic.Int64; grows with the teams file

func (w *waiters) of(team string) *atomic.Int64 {
	if n, ok := w.teams.Load(team); ok {
		return n.(*atomic.Int64)
	}
	n, _ := w.teams.LoadOrStore(team, new(atomic.Int64))
	return n.(*atomic.Int64)
}

// preferredWait reads how long a client would wait for a change, "Prefer: wait=10", 60 seconds at most. What cannot be
// read is ignored, as preferences are.
func preferredWait(h http.Header) time.Duration {
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

// await holds a poll until the task's state is another than the client would have been told at once, or the span has
// passed. A team has only so many polls held; more are answered at once, and so are all when the gateway drains.
func (g *Gateway) await(ctx context.Context, w *reply, c *call, claim cache.Claim, span time.Duration) told {
	held, most := g.waiters.of(c.Team), g.places(c.team)
	if most == 0 {
		most = mostWaiters
	}
	defer held.Add(-1)
	if held.Add(1) > most {
		return g.current(ctx, c, claim)
	}
	w.Header()["Preference-Applied"] = []string{"wait=" + strconv.Itoa(int(span/time.Second))}
	begun := claim.Answer.Status
	ctx, cancel := context.WithTimeout(ctx, span)
	defer cancel()
	for t := (told{claim: claim, source: sourceHit}); ; claim = t.claim {
		before := g.Now()
		t = g.current(ctx, c, claim)
		c.waited += g.Now().Sub(before) - t.took
		if t.claim.Answer.Status != begun || t.claim.Final() || g.draining.Load() || ctx.Err() != nil {
			return t
		}
		pause := time.NewTimer(g.pause(&t.claim))
		before = g.Now()
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
		}
		c.waited += g.Now().Sub(before) // the wait is the client's wish
	}
}

// pause is how long to wait before the next look: until the answer is not fresh any more, and not for so long that a
// drain would be held up.
func (g *Gateway) pause(claim *cache.Claim) time.Duration {
	least := max(10*time.Millisecond, min(g.PollInterval, time.Second)/2)
	return min(max(g.PollInterval-g.Now().Sub(claim.Fetched), least), time.Second)
}
