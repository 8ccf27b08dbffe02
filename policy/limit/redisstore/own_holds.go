package redisstore

import (
	"maps"
	"slices"
	"time"

	"sluice/policy/limit"
)

// othersTask reports whether a settled hold was a task that another replica placed.
type othersTask = bool

// endedMost bounds the ids that are kept of holds settled since the last sweep: some hundred kilobytes.
const endedMost = 10_000

// ownHold is an open hold, and when its lease ends by Redis's clock.
type ownHold struct {
	*limit.Held
	due time.Time
}

// placed records a hold that was placed in Redis.
func (o *own) placed(h *limit.Held, due time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.holds[h.ID] = ownHold{h, due}
}

// admitted records the reply to an admission; h is nil if it was refused.
func (o *own) admitted(s *versionedState, h *limit.Held, due time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.recordLocked(s)
	if h != nil {
		o.holds[h.ID] = ownHold{h, due}
	}
}

// extended records the account that a hold has now, what it holds, and the end of its lease: due, or a lease after the last reply, or the
// end before if that is later. It reports whether this process placed the hold, and knows no end of it.
func (o *own) extended(h *limit.Held, due time.Time, lease time.Duration) (open bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	was, open := o.holds[h.ID]
	if open {
		held := *was.Held
		held.Account, held.Amounts = h.Account, held.Amounts.AtMost(h.Amounts)
		o.holds[h.ID] = ownHold{&held, slices.MaxFunc([]time.Time{was.due, due, o.at.Add(lease)}, time.Time.Compare)}
	}
	return open
}

// settled records that a hold was settled in Redis.
func (o *own) settled(h *limit.Held) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, mine := o.holds[h.ID]
	delete(o.holds, h.ID)
	if !mine && !h.Task || mine && len(o.ended[0]) >= endedMost {
		return
	}
	o.ended[0][h.ID] = !mine
}

// all lists the holds to restore. One without a due time was settled: only its id is known, and as Task whether it was a task of
// another replica.
func (o *own) all() (list []ownHold) {
	o.mu.Lock()
	defer o.mu.Unlock()
	list = slices.Collect(maps.Values(o.holds))
	for _, ids := range o.ended {
		for id, task := range ids {
			list = append(list, ownHold{Held: &limit.Held{ID: id, Task: task}})
		}
	}
	return list
}

// ids lists the open holds.
func (o *own) ids() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Collect(maps.Keys(o.holds))
}

// swept drops holds that other replicas have settled, and ids of settled ones that all replicas know by now: each sweeps once a
// minute.
func (o *own) swept(ended []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, id := range ended {
		delete(o.holds, id)
	}
	o.ended = [3]map[string]othersTask{{}, o.ended[0], o.ended[1]}
}
