package failover

import (
	"context"
	"time"

	"sluice/policy/limit"
	"sluice/policy/limit/redisstore"
)

// Settle charges a hold, once, with what the request used, and reports whether this call did. What cannot be charged
// now is kept and charged later, although an error is returned.
func (s *Failover) Settle(ctx context.Context, c *limit.Charge) (bool, error) {
	c.Amounts = c.Amounts.Bound()
	if s.settleHere(c) {
		return true, nil
	}
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Timeout)
	defer cancel()
	done, err := s.Store.Settle(call, c)
	j := job{charge: c}
	s.came(&j, redisstore.Result{Done: done, Err: err}, s.Now())
	if err != nil {
		s.queue.keep(j)
	}
	return done, err
}

// SettleLater charges a hold without making its request wait. Nothing is lost while the process lives: what cannot be
// charged is kept until it can. Where more waits than the queue holds, the caller waits after all.
func (s *Failover) SettleLater(c *limit.Charge) {
	c.Amounts = c.Amounts.Bound()
	if !s.settleHere(c) {
		s.queue.add(job{charge: c})
	}
}

// settleHere settles a hold that was placed here and is unknown to Redis, and reports whether it is one.
func (s *Failover) settleHere(c *limit.Charge) bool {
	if !s.teams.Get(c.Held.Team).settle(c.Held, c.Amounts) {
		return false
	}
	if !s.Refuse {
		s.rates.Settle(c)
	}
	s.queue.sum(c)
	c.Tell(true)
	return true
}

// post sends jobs to Redis, settlements in one round trip, and returns what came of each.
func (s *Failover) post(ctx context.Context, batch []job) []error {
	errs, now := make([]error, len(batch)), s.Now()
	settling := map[bool][]int{} // by whether an unknown hold is charged all the same
	for i := range batch {
		j := &batch[i]
		if j.charge == nil {
			errs[i] = s.call(ctx, func(ctx context.Context) error { return s.Store.Extend(ctx, j.extend, j.lease) })
			continue
		}
		settling[!j.old(now)] = append(settling[!j.old(now)], i)
	}
	for unknown, of := range settling {
		charges := make([]*limit.Charge, len(of))
		for n, i := range of {
			charges[n] = batch[i].charge
		}
		call, cancel := context.WithTimeout(ctx, s.patience())
		for n, came := range s.Store.SettleAll(call, charges, unknown) {
			s.came(&batch[of[n]], came, now)
			errs[of[n]] = came.Err
		}
		cancel()
	}
	return errs
}

// came notes what came of a charge, and tells who waits for it. Where the reply of an earlier try was lost, the hold that
// is settled now was settled by that one, most likely.
func (s *Failover) came(j *job, of redisstore.Result, sent time.Time) {
	s.heard(of.Err)
	if of.Done && !j.charge.Sum && !s.Refuse {
		s.rates.Settle(j.charge)
	}
	if b := s.teams.Get(j.charge.Held.Team); of.Err == nil && j.charge.Sum {
		b.posted(j.charge.Held.Day, j.charge.Amounts)
	} else if of.Err == nil {
		b.settledInRedis(j.charge.Held.ID)
	}
	if of.Done || of.Err == nil {
		j.charge.Tell(of.Done || !j.tried.IsZero() && !j.old(sent))
	}
	if of.Err != nil && j.tried.IsZero() && !redisstore.NotDone(of.Err) {
		j.tried = sent
	}
}

// old reports whether what Redis knew of a charge's hold may be forgotten by now: that the charge arrived, or that another
// replica charged the hold when its lease ended. Sent then it counts only where its hold is still there.
func (j *job) old(now time.Time) bool {
	return !j.tried.IsZero() && now.Sub(j.tried) > redisstore.MemoryOf(j.charge)-time.Minute || j.kept && outlived(j.charge, now)
}

// outlived reports whether the hold, which Redis had, was made so long ago that it may have been charged and forgotten. One
// that was admitted without Redis may never have been there; its id may tell no time.
func outlived(c *limit.Charge, now time.Time) bool {
	made := limit.MadeAt(c.Held.ID)
	return !c.Held.Local && !made.IsZero() && now.Sub(made) > limit.LateTruth
}

// Extend gives an open hold a new lease, soon. One that ends sooner than the one it has changes nothing.
func (s *Failover) Extend(_ context.Context, h *limit.Held, lease time.Duration) error {
	if s.teams.Get(h.Team).extend(h.ID, s.Now().Add(lease)) {
		s.queue.add(job{extend: h, lease: lease})
	}
	return nil
}
