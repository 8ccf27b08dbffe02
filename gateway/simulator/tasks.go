package simulator

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// tasks are all tasks of the account, oldest first. Any key may see them all.
type tasks struct {
	set  taskSettings
	bill func(model string, images int)

	mu    sync.Mutex
	byID  map[string]*task
	order []*task
}

// newTasks keeps tasks, and calls bill once per task that has succeeded or
// failed, with the images that it costs. bill must not call back.
func newTasks(set taskSettings, bill func(model string, images int)) *tasks {
	return &tasks{set: set, bill: bill, byID: map[string]*task{}}
}

// taskSettings are those of Config that concern tasks.
type taskSettings struct {
	pending, running, ttl time.Duration
	slots, max            int
	zone                  *time.Location
	timeLayout, canceled  string
}

// add schedules and keeps a task.
func (ts *tasks) add(t *task, now time.Time) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	pending, running := ts.set.pending, ts.set.running
	if t.fate.Pending != nil {
		pending = *t.fate.Pending
	}
	if t.fate.Running != nil {
		running = *t.fate.Running
	}
	t.created = now
	t.start = now.Add(pending)
	if free := ts.freeSlot(t.model, now); free.After(t.start) {
		t.start = free
	}
	t.end = t.start.Add(running)
	if t.live { // it streams at once and ends when the stream does
		t.start, t.end = now, now
	}
	ts.forget(now)
	ts.byID[t.id] = t
	ts.order = append(ts.order, t)
}

// freeSlot is when the model has room for one more task. A slot that a
// cancelled task gives back helps the tasks created after the cancel.
func (ts *tasks) freeSlot(model string, now time.Time) time.Time {
	if ts.set.slots <= 0 {
		return now
	}
	var ends []time.Time
	for _, t := range ts.order {
		if t.model == model && t.canceled.IsZero() && t.end.After(now) {
			ends = append(ends, t.end)
		}
	}
	if len(ends) < ts.set.slots {
		return now
	}
	slices.SortFunc(ends, time.Time.Compare)
	return ends[len(ends)-ts.set.slots]
}

// forget drops tasks that are past their time or too many, after billing
// them.
func (ts *tasks) forget(now time.Time) {
	n := 0
	for n < len(ts.order) && (len(ts.order)-n >= ts.set.max || now.Sub(ts.order[n].created) >= ts.set.ttl) {
		ts.settleTask(ts.order[n], now)
		delete(ts.byID, ts.order[n].id)
		n++
	}
	ts.order = slices.Delete(ts.order, 0, n)
}

// settle bills every task that has ended by now.
func (ts *tasks) settle(now time.Time) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for _, t := range ts.order {
		ts.settleTask(t, now)
	}
}

// settleTask bills a task that has ended in time, whether or not anybody has
// looked since. A task whose states are dictated is billed when it is seen.
func (ts *tasks) settleTask(t *task, now time.Time) {
	if len(t.fate.States) > 0 {
		return
	}
	if end := t.ended(); now.Sub(t.created) >= ts.set.ttl && end.Sub(t.created) < ts.set.ttl {
		now = end
	}
	ts.charge(t, t.state(now, &ts.set))
}

func (ts *tasks) charge(t *task, state string) {
	if t.billed || state != stateSucceeded && state != stateFailed {
		return
	}
	t.billed = true
	ts.bill(t.model, t.owed(state))
}

// look returns the task and the state this query sees; a task that is unknown
// is nil.
func (ts *tasks) look(id string, now time.Time) (*task, string) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t := ts.byID[id]
	if t == nil {
		return nil, stateUnknown
	}
	state := t.state(now, &ts.set)
	if n := len(t.fate.States); n > 0 {
		state = t.fate.States[min(t.looks, n-1)]
	}
	t.looks++
	ts.charge(t, state)
	copied := *t
	return &copied, state
}

// cancel ends a task that is still PENDING and reports whether it was.
func (ts *tasks) cancel(id string, now time.Time) bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t := ts.byID[id]
	if t == nil || t.state(now, &ts.set) != statePending {
		return false
	}
	t.canceled = now
	return true
}

// finish ends a task whose stream is over; later calls change nothing.
func (ts *tasks) finish(t *task, now time.Time) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if t.live {
		t.live, t.end = false, now
		ts.settleTask(t, now)
	}
}

// pollFault is the fault of a task's queries, or nil.
func (ts *tasks) pollFault(id string) *Fault {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if t := ts.byID[id]; t != nil {
		return t.poll
	}
	return nil
}

// newest returns copies of all tasks with their states, newest first.
func (ts *tasks) newest(now time.Time) []listed {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	var out []listed
	for _, t := range ts.order {
		if state := t.state(now, &ts.set); state != stateUnknown {
			out = append(out, listed{*t, state})
		}
	}
	slices.Reverse(out)
	slices.SortStableFunc(out, func(a, b listed) int { return cmp.Compare(b.created.UnixNano(), a.created.UnixNano()) })
	return out
}
