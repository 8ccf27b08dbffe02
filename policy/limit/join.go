package limit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"sluice/policy"
)

// join tells Redis what a team spent and holds here, and leaves the team to Redis once it knows all. Requests go on
// meanwhile; where they keep coming faster than Redis is told, the last round is made while they wait.
func (s *Shared) join(ctx context.Context, b *bridge) error {
	b.joining.Lock()
	defer b.joining.Unlock()
	for range 2 {
		if err := s.refresh(ctx, b); err != nil { // also puts back what Redis may have lost, before anything is added to it
			return err
		}
		if err := s.repayAll(ctx, b); err != nil {
			return err
		}
		if err := s.refresh(ctx, b); err != nil {
			return err
		}
		b.mu.Lock()
		left := s.leave(b)
		b.mu.Unlock()
		if left {
			return nil
		}
	}
	if err := s.joinAtLast(ctx, b); err != nil {
		return err
	}
	_ = s.refresh(ctx, b) // the next admission tells how the team stands, too
	return nil
}

// joinAtLast is the round that requests wait for. Nothing is sent again in it: whoever is told that it was taken may ask
// Redis in turn. It lasts half of the time that a call may take, so that the other half is left to ask Redis in: who had
// less would fail, and take the team away again.
func (s *Shared) joinAtLast(ctx context.Context, b *bridge) error {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout/2)
	defer cancel()
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := s.repay(ctx, b, unlocked{}); err != nil {
		return err
	}
	s.leave(b)
	return nil
}

// unlocked stands for the lock that the caller holds.
type unlocked struct{}

func (unlocked) Lock()   {}
func (unlocked) Unlock() {}

// repayAll is repay, and sends again what waits for the team. All of it goes at once.
func (s *Shared) repayAll(ctx context.Context, b *bridge) error {
	var retried error
	var going sync.WaitGroup
	going.Go(func() { retried = s.queue.retry(ctx, b.id) })
	err := s.repay(ctx, b, &b.mu)
	going.Wait()
	if err == nil {
		err = retried
	}
	return err
}

// repay posts what was charged here, and holds in Redis what is held here. All of it goes at once, so that it takes one
// round trip whatever it is.
func (s *Shared) repay(ctx context.Context, b *bridge, mu sync.Locker) error {
	team := b.team.Load()
	mu.Lock()
	b.posts = append(b.posts, s.standby.takeCharges(team)...)
	posts, open := b.posts, s.standby.open(b.id)
	mu.Unlock()
	errs := make([]error, 1+min(len(open), adopters))
	var going sync.WaitGroup
	going.Go(func() {
		left, err := s.post(ctx, posts)
		errs[0] = err
		mu.Lock()
		b.posts = left // forgotten only once it has arrived
		mu.Unlock()
	})
	var next atomic.Int64
	for n := range errs[1:] {
		going.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(open)) && errs[1+n] == nil; i = next.Add(1) - 1 {
				errs[1+n] = s.adopt(ctx, open[i], team)
			}
		})
	}
	going.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// adopters is how many holds of a team are on their way to Redis at once.
const adopters = 32

// post settles sums, and returns those that have not arrived.
func (s *Shared) post(ctx context.Context, posts []*Charge) (left []*Charge, err error) {
	for len(posts) > 0 && err == nil {
		n := min(queueBatch, len(posts))
		err = s.call(ctx, func(ctx context.Context) (failed error) {
			for i, came := range s.Redis.settleAll(ctx, posts[:n], true) {
				if came.err != nil {
					left, failed = append(left, posts[i]), came.err
				}
			}
			return failed
		})
		posts = posts[n:]
	}
	return append(left, posts...), err
}

// refresh asks Redis how a team stands.
func (s *Shared) refresh(ctx context.Context, b *bridge) error {
	err := s.call(ctx, func(ctx context.Context) error {
		_, err := s.Redis.Look(ctx, b.team.Load())
		return err
	})
	if err == nil {
		s.fresh(b)
		b.asked.Store(b.known.Load())
	}
	return err
}

// adopt holds in Redis what is held here, in the day of its admission. Who settles it from now on settles it there.
func (s *Shared) adopt(ctx context.Context, h *Held, team *policy.Team) error {
	left, here := s.standby.setApart(h)
	if !here {
		return nil
	}
	t := termsOf(team)
	t.forced = true
	err := s.call(ctx, func(ctx context.Context) error {
		st, err := s.Redis.ask(ctx, &Hold{
			ID: h.ID, Team: team, Model: h.Model, Endpoint: h.Endpoint, Amounts: h.Amounts, Task: h.Task, Lease: left, day: h.Day,
		}, &t)
		if err == nil {
			s.Redis.ownOf(team.ID).placed(h, st.at.Add(left))
		}
		return err
	})
	if err == nil {
		s.standby.setTold(h)
	}
	return err
}

// leave ends the team's time without Redis, if nothing happened here since Redis was told. The lock is held, so that no
// request slips between.
func (s *Shared) leave(b *bridge) bool {
	if len(b.posts) > 0 || !s.standby.told(b.id) {
		return false
	}
	s.standby.clear(b.id)
	b.since = time.Time{}
	b.local.Store(false)
	return true
}

// call makes a call that no request waits for.
func (s *Shared) call(ctx context.Context, do func(context.Context) error) error {
	call, cancel := context.WithTimeout(ctx, s.patience())
	defer cancel()
	err := do(call)
	if err == nil || ctx.Err() == nil { // where the caller's own time was over, nothing is known of Redis
		s.heard(err)
	}
	return err
}

// patience is how long a call may take that no request waits for.
func (s *Shared) patience() time.Duration { return max(s.Timeout, time.Second) }

// joinAll brings every team back to Redis, and tells of those that stay away.
func (s *Shared) joinAll(ctx context.Context) (errs error) {
	s.teams.Range(func(_, v any) bool {
		b := v.(*bridge)
		if b.local.Load() {
			if err := s.join(ctx, b); err != nil {
				errs = errors.Join(errs, fmt.Errorf("team %s: what it spent without Redis is not posted: %w", b.id, err))
			}
		}
		return ctx.Err() == nil
	})
	return errs
}
