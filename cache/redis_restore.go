package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

const (
	// restoreMost is how many claims are restored in one turn.
	restoreMost = 2000
	// restoreTogether is how many of them at a time, so that a slow network does not slow them down.
	restoreTogether = 8
	// restoreDue is the wait before the service is queried about a lost task, so that a replica that knows its end can restore
	// it; otherwise it could be charged twice: replicas know what was charged before the loss only as a sum. A replica has noticed the
	// loss after two seconds, and restores some 15,000 ends in the rest.
	restoreDue = repeatTime
)

// Maintain repeats the writes that Redis did not take, and restores what it lost and this process knows. One goroutine calls it
// every second. Its error is news: what Redis lost, and what there was no room to keep.
func (c *redisClaims) Maintain(ctx context.Context) error {
	news := c.look(ctx)
	err := c.pending.flush(ctx)
	c.restoreSome(ctx)
	return errors.Join(news, err)
}

// look reads from Redis the memory of the teams that are known here, which also shows whether it is there. Claims of teams
// of which it lost something are restored in this turn and the next ones; the error is the news of it.
func (c *redisClaims) look(ctx context.Context) error {
	c.losses.number(c.memoryNumber())
	teams, last := c.losses.watched()
	keys := make([]string, len(teams))
	for i, team := range teams {
		keys[i] = memoryKey(team)
	}
	for i, got := range c.fieldsOf(ctx, keys, "epoch", "count") {
		switch {
		case got == nil:
			c.losses.missed(teams[i])
		case teams[i] != "":
			c.losses.saw(teams[i], last[i], readMemory(got[0], got[1]))
		}
	}
	lost := c.losses.takeLost()
	if len(lost) == 0 {
		return nil
	}
	claims := c.local.ofTeams(lost)
	c.restore = append(c.restore, claims...)
	// Tasks that have ended go first: a replica that finds such a task open queries it, and charges it again.
	slices.SortStableFunc(c.restore, func(a, b *Claim) int { return cmp.Compare(flag(b.Final()), flag(a.Final())) })
	return fmt.Errorf("Redis lost tasks of %d teams, or was restarted; the %d that are known here are restored", len(lost), len(claims))
}

// restoreSome restores as many claims as one turn may. A failure ends the turn.
func (c *redisClaims) restoreSome(ctx context.Context) {
	for n := 0; n < restoreMost && len(c.restore) > 0; n += restoreTogether {
		some := c.restore[:min(restoreTogether, len(c.restore))]
		var restoring sync.WaitGroup
		var failed atomic.Bool
		for _, claim := range some {
			restoring.Go(func() {
				if c.restoreOne(ctx, claim) != nil {
					failed.Store(true)
				}
			})
		}
		restoring.Wait()
		if failed.Load() {
			return
		}
		c.restore = c.restore[len(some):]
	}
}

// restoreOne writes a claim as it is known here by now. Where another replica was first, only an end is news.
func (c *redisClaims) restoreOne(ctx context.Context, claim *Claim) error {
	claim = c.latest(claim)
	if c.Now().Sub(claim.Created) > c.kept(claim) {
		return nil
	}
	if _, err := c.owner(ctx, claim); err != nil { // Redis may have lost whose it is, too
		return err
	}
	first, err := c.write(ctx, claim, restoreDue, true)
	if err == nil && !first && claim.Final() {
		_, err = c.writeAnswer(ctx, claim, claim.Answer, claim.Body, claim.Queries)
	}
	return err
}
