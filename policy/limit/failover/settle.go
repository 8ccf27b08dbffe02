package failover

import (
	"context"
	"errors"
	"time"

	"sluice/policy/limit"
	"sluice/policy/limit/redisstore"
	"sluice/policy/teams"
)

// settler settles holds: in Redis if it knows them, else in this process.
type settler struct {
	*accounts
	rates *limit.Shares // the rates without Redis
	queue *queue
	seeds seeds
}

// Settle charges a hold in all of its accounts, once, with what the request used, and reports whether this call did.
// What cannot be charged now is kept and charged later, although Settle returns an error.
func (s *settler) Settle(ctx context.Context, c *limit.Charge) (done bool, err error) {
	if len(c.Held.Outer) == 0 {
		return s.settle(ctx, c)
	}
	for i, part := range c.Parts() {
		first, failed := s.settle(ctx, part)
		if err = errors.Join(err, failed); i == 0 {
			done = first
		}
	}
	return done, err
}

// settle is Settle for one account.
func (s *settler) settle(ctx context.Context, c *limit.Charge) (bool, error) {
	c.Amounts = c.Amounts.Bound()
	if s.settleHere(c) {
		return true, nil
	}
	ctx = context.WithoutCancel(ctx)
	j, b := job{charge: c}, s.teams.Get(c.Held.Team)
	if err := s.ensureListed(ctx, s.Timeout, c.Held.Team, b); err != nil {
		s.queue.retain(j)
		return false, err
	}
	call, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	call, ended := s.charge(call, b.restored.Load())
	defer ended()
	done, err := s.Store.Settle(call, c)
	s.came(&j, redisstore.Result{Done: done, Err: err}, s.Now())
	if err != nil {
		s.queue.retain(j)
	}
	return done, err
}

// SettleLater charges a hold without making its request wait. Nothing is lost while the process lives: what cannot be
// charged now is kept. Only if the queue is full does the caller wait.
func (s *settler) SettleLater(c *limit.Charge) {
	for _, h := range c.Held.Outer {
		s.SettleLater(c.Outer(h))
	}
	c.Amounts = c.Amounts.Bound()
	if !s.settleHere(c) {
		s.queue.add(job{charge: c})
	}
}

// settleHere settles a hold if Redis does not know it, and reports whether it did.
func (s *settler) settleHere(c *limit.Charge) bool {
	if !s.teams.Get(c.Held.Team).settle(c) {
		return false
	}
	if !s.Refuse && !teams.IsOutside(c.Held.Team) {
		s.rates.Settle(c)
	}
	s.queue.sum(c)
	c.CallTaken(true)
	return true
}

// post sends jobs to Redis, settlements in one round trip, and returns the result of each.
func (s *settler) post(ctx context.Context, batch []job) []error {
	errs, now := make([]error, len(batch)), s.Now()
	settling := map[bool][]int{} // true: charged even if Redis does not know the hold
	memory := s.restoredToSettle(ctx, batch, errs)
	for i := range batch {
		switch j := &batch[i]; {
		case errs[i] != nil:
		case j.charge == nil:
			call, ended := s.charge(ctx, memory)
			errs[i] = s.call(call, func(ctx context.Context) error { return s.Store.Extend(ctx, j.extend, j.lease) })
			ended()
		default:
			settling[!j.old(now)] = append(settling[!j.old(now)], i)
		}
	}
	for post, of := range settling {
		charges := make([]*limit.Charge, len(of))
		for n, i := range of {
			charges[n] = batch[i].charge
		}
		call, cancel := context.WithTimeout(ctx, s.patience())
		call, ended := s.charge(call, memory)
		for n, came := range s.Store.SettleAll(call, charges, post) {
			s.came(&batch[of[n]], came, now)
			errs[of[n]] = came.Err
		}
		ended()
		cancel()
	}
	return errs
}

// restoredToSettle makes sure that Redis has what this process knows of a team before a job changes its accounts: in an
// older copy of them the job would hide what is missing. It records the error of each job that must wait, and returns
// the number of the memory at its start: the teams of the other jobs were restored in that memory or a later one.
func (s *settler) restoredToSettle(ctx context.Context, batch []job, errs []error) (memory int64) {
	memory = s.memory.Load()
	var down error // Redis as a whole is away
	results := map[string]error{}
	for i := range batch {
		team := batch[i].key().account
		b := s.teams.Get(team)
		err, known := results[team]
		switch {
		case known:
		case down != nil:
			err = down
		case !s.isListed(b):
			if err = s.ensureListed(ctx, s.patience(), team, b); s.whole(err) {
				down = err
			}
			results[team] = err
		}
		errs[i] = err
	}
	return memory
}

// came records the result of a charge, and calls Taken. If an earlier reply was lost and the hold is settled now, that attempt most
// likely settled it.
func (s *settler) came(j *job, of redisstore.Result, sent time.Time) {
	s.observe(of.Err)
	b := s.teams.Get(j.charge.Held.Team)
	if of.Done && !j.charge.Sum && !s.Refuse && !teams.IsOutside(j.charge.Held.Team) {
		s.rates.Settle(j.charge)
	}
	if of.Err == nil && j.charge.Sum {
		b.posted(j.charge.Held.Day, j.charge.Amounts)
	} else if of.Err == nil {
		b.settledByRedis(j.charge.Held.ID)
	}
	if of.Done || of.Err == nil {
		j.charge.CallTaken(of.Done || !j.tried.IsZero() && !j.old(sent))
	}
	if of.Err != nil && j.tried.IsZero() && !redisstore.NotDone(of.Err) {
		j.tried = sent
	}
}

// old reports whether Redis may have forgotten that the charge arrived, or that the hold expired. After that, settle only if the hold
// exists.
func (j *job) old(now time.Time) bool {
	return !j.tried.IsZero() && now.Sub(j.tried) > redisstore.RetentionOf(j.charge)-time.Minute || j.kept && outlived(j.charge, now)
}

// outlived reports whether a hold is so old that Redis may have let it expire and forgotten it. A hold that was admitted without Redis
// may never have been there.
func outlived(c *limit.Charge, now time.Time) bool {
	made := limit.MadeAt(c.Held.ID)
	return !c.Held.Local && !made.IsZero() && now.Sub(made) > limit.LateTruth
}

// Extend gives an open hold a new lease, in all of its accounts, in the background. A lease that ends before the
// current one changes nothing.
func (s *settler) Extend(ctx context.Context, h *limit.Held, lease time.Duration) error {
	for _, other := range h.Outer {
		_ = s.Extend(ctx, other, lease) // it never fails
	}
	if s.teams.Get(h.Team).extend(h.ID, s.Now().Add(lease)) {
		s.queue.add(job{extend: h, lease: lease})
	}
	return nil
}

// holdState is the state of a hold that was admitted without Redis. docs/architecture.md has the picture.
type holdState int

const (
	localOnly    holdState = iota // Redis does not know it: it is settled here, and its charge is added up with others (queue.go)
	maybeInRedis                  // Redis may hold it: it is settled there, by its id
	inRedis                       // Redis holds it or has settled it, or it was settled here: this process forgets it
)

// holdEvent is an event in the life of such a hold.
type holdEvent int

const (
	reported       holdEvent = iota // a renewal reports it to Redis; the reply may be lost
	heldInRedis                     // Redis has answered that it holds it
	requestEnded                    // its request has ended
	taskEnded                       // its task has ended, which another replica may see, too; or its charge has an event
	settledInRedis                  // Redis has settled it
)

// nextState has the state after each event.
var nextState = [...][settledInRedis + 1]holdState{
	localOnly: {
		reported: maybeInRedis, heldInRedis: inRedis, requestEnded: inRedis, taskEnded: maybeInRedis, settledInRedis: inRedis,
	},
	maybeInRedis: {
		reported: maybeInRedis, heldInRedis: inRedis, requestEnded: maybeInRedis, taskEnded: maybeInRedis, settledInRedis: inRedis,
	},
	inRedis: {inRedis, inRedis, inRedis, inRedis, inRedis},
}
