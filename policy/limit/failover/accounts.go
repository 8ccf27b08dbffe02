package failover

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"sluice/policy/limit"
	"sluice/policy/limit/redisstore"
	"sluice/policy/price"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// accounts are the teams' accounts: in Redis, and what this process knows in addition.
type accounts struct {
	link
	teams teams.PerTeam[books]
}

// lastKnown is a team's state by Redis's last answer.
func (a *accounts) lastKnown(team string, now time.Time) (st limit.State) {
	st.Date, st.At, st.Fault = a.dated(now), now.Add(time.Duration(a.ahead.Load())), limit.LimitNone
	a.Store.LastKnown(team, &st)
	return st
}

// unreported counts the teams that spent something here that Redis does not know yet.
func (a *accounts) unreported() (n int) {
	a.teams.Each(func(_ string, b *books) {
		if b.spending() {
			n++
		}
	})
	return n
}

// hasAllowances reports whether any team may spend something here now.
func (a *accounts) hasAllowances() (found bool) {
	now := a.Now()
	day := price.DayOf(a.ofRedis(now))
	a.teams.Each(func(_ string, b *books) {
		b.mu.Lock()
		defer b.mu.Unlock()
		today := b.allowances.on(day)
		found = found || today != nil && now.Before(today.until) && today.left.AtMost(today.left) != limit.Stock{}
	})
	return found
}

// isListed reports whether ensureListed has nothing to do.
func (a *accounts) isListed(b *books) bool {
	restored := b.restored.Load()
	return b.listed.Load() && restored != 0 && restored == a.memory.Load() && (a.away.Load() == nil || a.Store.Cluster)
}

// whole reports whether a call's error is one of Redis as a whole, so that no other account fares better now. In a cluster each account is
// in one part.
func (a *accounts) whole(err error) bool {
	return err != nil && !a.Store.Cluster && (a.away.Load() != nil || errors.Is(err, limit.ErrBusy))
}

// ensureRestored makes sure that Redis has what this process knows of a team, in calls with the timeout most. Before the first
// call about a team, and before the first call after a failed one, it checks whether Redis lost its memory. In a cluster, whose
// parts lose memory separately, a failed check does not stop the call.
func (a *accounts) ensureRestored(ctx context.Context, most time.Duration, team string, b *books) error {
	restored := b.restored.Load()
	if restored == 0 || a.away.Load() != nil && !a.Store.Cluster {
		if err := a.beat(ctx); err != nil && (a.memory.Load() == 0 || !a.Store.Cluster) {
			return fmt.Errorf("%w: %w", redisstore.ErrNotDone, err)
		}
	}
	number := a.memory.Load()
	if restored == number {
		return nil
	}
	return a.restore(ctx, most, team, b, number)
}

// ensureListed is ensureRestored for a call that charges something: before a team's first charge it checks that all replicas count
// money in the same digits, and adds the team to Redis's list.
func (a *accounts) ensureListed(ctx context.Context, most time.Duration, team string, b *books) error {
	if err := a.ensureRestored(ctx, most, team, b); err != nil || b.listed.Load() {
		return err
	}
	return a.inTurn(ctx, most, b, b.listed.Load, func() error {
		err := a.list(ctx, most, team, b)
		b.listed.Store(err == nil)
		return err
	})
}

// restore restores what is known here of a team after Redis lost its memory.
func (a *accounts) restore(ctx context.Context, most time.Duration, team string, b *books, number int64) error {
	return a.inTurn(ctx, most, b, func() bool { return b.restored.Load() >= number }, func() error {
		err := a.restoreNow(ctx, most, team, b)
		if err == nil {
			b.restored.Store(number)
		}
		return err
	})
}

// inTurn makes calls about a team unless another caller has made them meanwhile. While another caller makes them, this
// one waits, and fails if that one fails: see beat.
func (a *accounts) inTurn(ctx context.Context, most time.Duration, b *books, done func() bool, do func() error) error {
	failures := b.failures.Load()
	if err := within(ctx, patientTurns*most, func(ctx context.Context) error { return b.restoring.Acquire(ctx, 1) }); err != nil {
		return fmt.Errorf("%w: %w", redisstore.ErrNotDone, err)
	}
	defer b.restoring.Release(1)
	if done() {
		return nil
	}
	if b.failures.Load() != failures {
		return fmt.Errorf("%w: %w", redisstore.ErrNotDone, errOther)
	}
	err := do()
	a.observe(err)
	if err != nil {
		b.failures.Add(1)
		return fmt.Errorf("%w: %w", redisstore.ErrNotDone, err)
	}
	return nil
}

// restoreNow makes the calls, each with a time limit of its own: over a slow network one needs all of its time.
func (a *accounts) restoreNow(ctx context.Context, most time.Duration, team string, b *books) error {
	loss := redisstore.Loss{Recent: a.lostRecently()}
	if b.restored.Load() == 0 {
		err := within(ctx, most, func(ctx context.Context) (err error) {
			loss.Listed, err = a.Store.Knows(ctx, team)
			return err
		})
		if b.known.Store(err != nil || loss.Listed); err != nil && !a.Store.Cluster {
			return err
		}
	} else {
		b.known.Store(false) // the list may be lost, too
	}
	if b.listed.Load() { // what is restored needs the agreed decimals of money, and readers of the ledger must find the team
		if err := a.list(ctx, most, team, b); err != nil {
			return err
		}
	}
	return within(ctx, most, func(ctx context.Context) error { return a.Store.Restore(ctx, team, loss) })
}

// list makes the calls before the first charge. In a cluster the list of teams may be in a part that is away; the
// sweep repairs it later.
func (a *accounts) list(ctx context.Context, most time.Duration, team string, b *books) error {
	if err := within(ctx, most, a.Store.Agree); err != nil || b.known.Load() {
		return err
	}
	err := within(ctx, most, func(ctx context.Context) error { return a.Store.List(ctx, team) })
	if err != nil && !a.Store.Cluster {
		return err
	}
	return nil
}

// restoreAll restores what is known of all teams after Redis lost its memory.
func (a *accounts) restoreAll(ctx context.Context) error {
	number := a.memory.Load()
	var teams []string
	a.teams.Each(func(id string, b *books) {
		if restored := b.restored.Load(); restored != 0 && restored != number {
			teams = append(teams, id)
		}
	})
	if len(teams) == 0 {
		return nil
	}
	err := a.atOnce(teams, func(id string) error {
		return a.restore(ctx, a.patience(), id, a.teams.Get(id), number)
	})
	return errors.Join(fmt.Errorf("Redis was restarted or lost its memory; what was last known of %d %s "+ //nolint:staticcheck // a name
		"was restored", len(teams), unit.Noun(int64(len(teams)), "teams")), err)
}

// atOnce calls do for several teams concurrently, so that a slow network does not delay the other work.
func (a *accounts) atOnce(teams []string, do func(team string) error) error {
	var mu sync.Mutex
	var working sync.WaitGroup
	failed, room := map[string]error{}, make(chan struct{}, 16)
	for _, team := range teams {
		room <- struct{}{}
		working.Go(func() {
			defer func() { <-room }()
			if err := a.guarded(func() error { return do(team) }); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed[team] = err
			}
		})
	}
	working.Wait()
	return saidOnce(failed)
}
