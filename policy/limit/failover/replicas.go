package failover

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"sluice/policy/limit/redisstore"
)

// replicas is what a process knows of the others, and of Redis's memory.
type replicas struct {
	under  *semaphore.Weighted // one word at a time
	memory atomic.Int64        // numbers the memories of Redis that this process has met; 0: none
	alive  atomic.Int64        // replicas that were heard of last
	words  atomic.Int64        // that have come through
	told   atomic.Bool         // Miscounted was
	most   atomic.Int64        // and the most of late: after a loss of memory so many may have something to put back

	mu   sync.Mutex
	name string    // of Redis's memory
	runs []string  // names of Redis's processes, the last that were met
	last time.Time // the last word, by Redis's clock
	at   time.Time // and by this process's
	gap  [2]int64  // the last time in which no replica reached Redis, and one that lives through it tried to
	lost time.Time // when Redis's memory was last found to be lost
	odd  time.Time // since when other than the set number are alive; zero: they are not
}

// reach tells Redis that this process is alive, and finds out whether Redis has lost its memory or gone back to an older one.
func (s *Failover) reach(ctx context.Context, teams []string) error {
	r := &s.replicas
	before := r.words.Load()
	if err := r.under.Acquire(ctx, 1); err != nil {
		return fmt.Errorf("%w: %w", redisstore.ErrNotDone, err)
	}
	defer r.under.Release(1)
	if len(teams) == 0 && r.words.Load() != before { // another has come through meanwhile
		return nil
	}
	r.mu.Lock()
	last := r.last
	r.mu.Unlock()
	b, err := s.Store.Beat(ctx, s.id, last, teams)
	s.heard(err)
	if err != nil {
		return err
	}
	r.words.Add(1)
	now := s.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if lost := r.name != "" && (b.Memory != r.name || b.Back || r.restarted(b.Run) && !s.Store.Parted()); lost {
		r.lost = now
		r.memory.Add(1)
	} else if r.name == "" {
		r.memory.Add(1)
		r.restarted(b.Run)
	}
	if b.Alive >= r.most.Load() || now.Sub(r.lost) > redisstore.AliveFor {
		r.most.Store(max(b.Alive, r.alive.Load())) // one may be late to say so
	}
	r.alive.Store(b.Alive)
	r.name, r.last, r.at, r.gap = b.Memory, b.At, now, b.Gap
	s.ahead.Store(int64(b.At.Sub(now)))
	if b.Alive == int64(s.Replicas) {
		r.odd = time.Time{}
		r.told.Store(false)
	} else if r.odd.IsZero() {
		r.odd = now
	}
	return nil
}

// restarted notes the name of Redis's process, and reports whether it is a new one: it may have lost what was written last. Behind
// some proxies several answer in turn. The lock is held.
func (r *replicas) restarted(run string) bool {
	if run == "" || slices.Contains(r.runs, run) {
		return false
	}
	const most = 64
	r.runs = append(r.runs[max(0, len(r.runs)-most+1):], run)
	return len(r.runs) > 1
}

// away is the last time in which Redis was away for all replicas, from the last renewals before it, as long as this process's own last word is no older than such a
// time is long; zero: not known.
func (r *replicas) away(now time.Time) (from, to int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.at) > redisstore.BeatGap {
		return 0, 0
	}
	return max(r.gap[0]-(renewLeast+renewEvery).Microseconds(), 0), r.gap[1]
}

// lately reports whether Redis's memory was lost a moment ago.
func (r *replicas) lately(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.lost.IsZero() && now.Sub(r.lost) < 2*redisstore.RestoringTime
}

// Alive tells how many replicas were heard of in the last 30 seconds; 0: not known.
func (s *Failover) Alive() int64 { return s.replicas.alive.Load() }

// miscounted says where other replicas are alive than this process is set to share the rates with, and have been for a while.
func (s *Failover) miscounted() error {
	r := &s.replicas
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.odd.IsZero() || s.Now().Sub(r.odd) < redisstore.AliveFor {
		return nil
	}
	return fmt.Errorf("%d replicas are alive, and SLUICE_REPLICAS is %d; set it to the number that runs, because it divides rates without Redis", r.alive.Load(), s.Replicas)
}

// meet sees to it that this process knows a team's accounts in the memory that Redis has now. Before the first call about a
// team, and before the first after one that failed, it asks whether that is still the same memory. In a cluster, whose parts
// forget each for itself, it does not insist.
func (s *Failover) meet(ctx context.Context, team string, b *books) error {
	r, met := &s.replicas, b.met.Load()
	if met == 0 || s.away.Load() != nil && !s.Store.Parted() {
		if err := s.reach(ctx, nil); err != nil && (r.memory.Load() == 0 || !s.Store.Parted()) {
			return fmt.Errorf("%w: %w", redisstore.ErrNotDone, err)
		}
	}
	number := r.memory.Load()
	if met == number {
		return nil
	}
	return s.putBack(ctx, team, b, number)
}

// putBack puts back what is known here of a team, where Redis has lost it.
func (s *Failover) putBack(ctx context.Context, team string, b *books, number int64) error {
	if err := b.meeting.Acquire(ctx, 1); err != nil {
		return fmt.Errorf("%w: %w", redisstore.ErrNotDone, err)
	}
	defer b.meeting.Release(1)
	if b.met.Load() == number { // another call has done it
		return nil
	}
	lost, listed := s.replicas.lately(s.Now()), false
	var err error
	first := b.met.Load() == 0
	if first {
		listed, err = s.Store.Knows(ctx, team)
	}
	if err == nil || s.Store.Parted() { // the list may lie on another part of Redis: Tend looks after it
		err = s.Store.Restore(ctx, team, redisstore.Loss{WentBack: lost && !s.Store.Parted(), Lately: lost, Listed: listed})
	}
	if err == nil && first && !listed {
		if err = s.Store.List(ctx, team); s.Store.Parted() {
			err = nil
		}
	}
	s.heard(err)
	if err != nil {
		return fmt.Errorf("%w: %w", redisstore.ErrNotDone, err)
	}
	b.met.Store(number)
	return nil
}

// putBackAll puts back what is known of every team that this process met, where Redis has lost its memory.
func (s *Failover) putBackAll(ctx context.Context) error {
	number := s.replicas.memory.Load()
	var teams []string
	s.teams.Each(func(id string, b *books) {
		if met := b.met.Load(); met != 0 && met != number {
			teams = append(teams, id)
		}
	})
	if len(teams) == 0 {
		return nil
	}
	err := atOnce(teams, func(id string) error {
		return s.call(ctx, func(ctx context.Context) error { return s.putBack(ctx, id, s.teams.Get(id), number) })
	})
	return errors.Join(fmt.Errorf("Redis was restarted or lost its memory; what was last known of %d teams was put back", len(teams)), err)
}

// remember tells Redis that this process is alive. Where Redis has lost its memory, it puts back what is known here.
func (s *Failover) remember(ctx context.Context) error {
	if err := s.call(ctx, func(ctx context.Context) error { return s.reach(ctx, nil) }); err != nil {
		return err
	}
	s.teams.Each(func(team string, b *books) {
		if b.met.Load() != 0 {
			s.tended.named[team] = true
		}
	})
	if number := s.replicas.memory.Load(); number != s.tended.memory {
		if err := s.name(ctx, slices.Collect(maps.Keys(s.tended.named))); err != nil {
			return err
		}
		s.tended.memory = number
	}
	if err := s.miscounted(); err != nil && s.Miscounted != nil && s.replicas.told.CompareAndSwap(false, true) {
		s.Miscounted(err)
	}
	return s.putBackAll(ctx)
}
