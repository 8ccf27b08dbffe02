package gateway

import (
	"context"
	"log/slog"
	"sync"

	"sluice/cache"
)

const (
	finishMost     = 200 // tasks that the finisher takes at a time
	finishTogether = 8   // that it asks for at once
)

// finish asks about the tasks that are due, because nobody polled them lately: each is paid for whether or not anybody
// fetches it, and holds its team's quota until its end is heard. What is left of the account's query rate is its share.
func (g *Gateway) finish(ctx context.Context) {
	due, err := g.Claims.Due(ctx, finishMost, g.fullTeams())
	if err != nil || len(due) == 0 {
		return // what is away is told of elsewhere
	}
	turns := make(chan cache.Claim)
	var asking sync.WaitGroup
	for range finishTogether {
		asking.Go(func() {
			for claim := range turns {
				g.finishOne(ctx, &claim)
			}
		})
	}
	defer asking.Wait()
	defer close(turns)
	for i := range due {
		select {
		case turns <- due[i]:
		case <-ctx.Done():
			return
		}
	}
}

// fullTeams are those that may have no more open tasks: they wait for room, and go first.
func (g *Gateway) fullTeams() map[string]bool {
	full := map[string]bool{}
	for _, team := range g.teams.Load().List {
		if team.OpenTasks > 0 && g.Accounts.OpenTasks(team.ID) >= int64(team.OpenTasks) {
			full[team.ID] = true
		}
	}
	return full
}

// finishOne asks about a task, or charges one whose life is over without anybody having heard of its end.
func (g *Gateway) finishOne(ctx context.Context, claim *cache.Claim) {
	if _, waits := g.ends.of(claim.Team, claim.Task); waits { // its charge is tried again
		_ = g.Claims.Schedule(ctx, claim, g.soon())
		return
	}
	if g.Now().Sub(claim.Created) >= g.TaskTTL {
		g.chargeTask(ctx, claim, claim.Hold.Images, true, func(first bool) {
			if first {
				g.tellOfTask(claim, &taskEnd{outcome: "unheard", answer: claim.Answer, images: claim.Hold.Images, doubt: true, by: settledByLease})
				g.Logger.Warn("a task ended unheard of and is charged as held",
					slog.String("team", claim.Team), slog.String("task", claim.Task), slog.Int64("images", claim.Hold.Images))
			}
		}, nil) // its lease charges the same
		_ = g.Claims.Forget(ctx, claim) // else it is handed out again, and settled already
		return
	}
	landed, _, _ := g.queries.Do("finisher/"+claim.Team+"/"+claim.Task, func() (any, error) { return g.ask(claim, asker{finisher: true}), nil })
	switch t := landed.(told); {
	case t.claim.Final():
		if _, waits := g.ends.of(claim.Team, claim.Task); !waits { // known here, and maybe not yet where it was handed out
			_ = g.Claims.Forget(ctx, claim)
		}
	case t.source == sourceHit: // somebody polls it
		_ = g.Claims.Schedule(ctx, claim, cache.NextAsk(t.claim.Fetched, claim.Created, g.TaskTTL, g.PollInterval, 0))
	case t.source == sourceStale: // no query was left for it, or upstream did not answer
		_ = g.Claims.Schedule(ctx, claim, g.soon())
	}
}
