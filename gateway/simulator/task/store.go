// Package task keeps asynchronous image tasks and tells their states.
//
// It runs nothing: a task's state follows from the clock, from its fate and from what was done to it.
package task

import (
	"slices"
	"sync"
	"time"

	"sluice/gateway/simulator/answer"
	"sluice/gateway/simulator/fault"
)

// Store holds all tasks of the account, oldest first. Any key may see them all. It is safe for concurrent use.
type Store struct {
	set  Settings
	bill func(model string, images int)

	mu    sync.Mutex
	byID  map[string]*Task
	order []*Task
}

// New returns an empty store. It calls bill once per task that has succeeded or failed, with the images that the task
// costs. bill must not call the store.
func New(set Settings, bill func(model string, images int)) *Store {
	return &Store{set: set, bill: bill, byID: map[string]*Task{}}
}

// Add schedules and keeps a task.
func (ts *Store) Add(t *Task, now time.Time) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	pending, running := ts.set.Pending, ts.set.Running
	if t.Fate.Pending != nil {
		pending = *t.Fate.Pending
	}
	if t.Fate.Running != nil {
		running = *t.Fate.Running
	}
	t.created = now
	t.start = now.Add(pending)
	if free := ts.freeSlot(t.Model, now); free.After(t.start) {
		t.start = free
	}
	t.end = t.start.Add(running)
	if t.Live { // it streams at once and ends when the stream does
		t.start, t.end = now, now
	}
	ts.forget(now)
	ts.byID[t.ID] = t
	ts.order = append(ts.order, t)
}

// freeSlot is when the model has room for one more task. A slot that a cancelled task gives back helps the tasks
// created after the cancel.
func (ts *Store) freeSlot(model string, now time.Time) time.Time {
	if ts.set.Slots <= 0 {
		return now
	}
	var ends []time.Time
	for _, t := range ts.order {
		if t.Model == model && t.canceled.IsZero() && t.end.After(now) {
			ends = append(ends, t.end)
		}
	}
	if len(ends) < ts.set.Slots {
		return now
	}
	slices.SortFunc(ends, time.Time.Compare)
	return ends[len(ends)-ts.set.Slots]
}

// forget drops tasks that are past their time or too many, after billing them.
func (ts *Store) forget(now time.Time) {
	n := 0
	for n < len(ts.order) && (len(ts.order)-n >= ts.set.Max || now.Sub(ts.order[n].created) >= ts.set.TTL) {
		ts.settleTask(ts.order[n], now)
		delete(ts.byID, ts.order[n].ID)
		n++
	}
	ts.order = slices.Delete(ts.order, 0, n)
}

// Settle bills every task that has ended by now.
func (ts *Store) Settle(now time.Time) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for _, t := range ts.order {
		ts.settleTask(t, now)
	}
}

// settleTask bills a task that has ended within its TTL, queried or not. A task with Fate.States is billed by the
// states that its queries see.
func (ts *Store) settleTask(t *Task, now time.Time) {
	if len(t.Fate.States) > 0 {
		return
	}
	if end := t.ended(); now.Sub(t.created) >= ts.set.TTL && end.Sub(t.created) < ts.set.TTL {
		now = end
	}
	ts.charge(t, t.state(now, &ts.set))
}

func (ts *Store) charge(t *Task, state string) {
	if t.billed || state != answer.StateSucceeded && state != answer.StateFailed {
		return
	}
	t.billed = true
	ts.bill(t.Model, t.owed(state))
}

// query returns a copy of the task and the state that this query sees; an unknown task is nil.
func (ts *Store) query(id string, now time.Time) (*Task, string) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t := ts.byID[id]
	if t == nil {
		return nil, answer.StateUnknown
	}
	state := t.state(now, &ts.set)
	if n := len(t.Fate.States); n > 0 {
		state = t.Fate.States[min(t.queries, n-1)]
	}
	t.queries++
	ts.charge(t, state)
	copied := *t
	return &copied, state
}

// Cancel ends a task that is still PENDING and reports whether it was.
func (ts *Store) Cancel(id string, now time.Time) bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t := ts.byID[id]
	if t == nil || t.state(now, &ts.set) != answer.StatePending {
		return false
	}
	t.canceled = now
	return true
}

// Finish ends a task whose stream is over; later calls change nothing.
func (ts *Store) Finish(t *Task, now time.Time) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if t.Live {
		t.Live, t.end = false, now
		ts.settleTask(t, now)
	}
}

// PollFault is the fault of a task's queries, or nil.
func (ts *Store) PollFault(id string) *fault.Fault {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if t := ts.byID[id]; t != nil {
		return t.Poll
	}
	return nil
}
