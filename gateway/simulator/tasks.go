package simulator

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"sluice/gateway/simulator/picture"
)

// tasks holds the tasks of all accounts, oldest first. Every key of an account sees all of the account's tasks. It is safe for concurrent
// use.
type tasks struct {
	cfg      *Config
	pictures *pictures
	ledger   *ledger

	mu    sync.Mutex
	byID  map[string]*task
	order []*task
}

// createImage creates a task on the asynchronous image path, and streams it if it is interleaved.
func (ts *tasks) createImage(c *call) (*answer, error) {
	interleaved := get[bool](c.param, "enable_interleave") && edits(c.model)
	if err := checkTask(c, interleaved); err != nil {
		return nil, err
	}
	in := readImageInput(c.input)
	t := ts.prepare(c, in, picture.SizeOfEdit(get[string](c.param, "size"), in.images, false))
	t.modern = true
	if interleaved {
		t.story, t.live = newStory(c, ts.pictures, t.id), true
		t.count = len(t.story.paragraphs)
	}
	a := ts.add(c, t)
	if interleaved {
		a.doc = nil
		a.frames = func(yield func(frame) bool) { t.story.stream(c, c.shownID(t.id), yield) }
		a.ended = func() { ts.finish(t, ts.cfg.Now()) }
	}
	return a, nil
}

// createOlder creates a task on one of the older image paths.
func (ts *tasks) createOlder(c *call) (*answer, error) {
	if err := checkOlder(c); err != nil {
		return nil, err
	}
	in := imageInput{prompt: firstRunes(get[string](c.input, "prompt"), maxPrompt)}
	t := ts.prepare(c, in, picture.SizeOfText(get[string](c.param, "size")))
	t.modern = strings.HasPrefix(c.model, "gen2.6")
	return ts.add(c, t), nil
}

// prepare makes the task of a valid creation.
func (ts *tasks) prepare(c *call, in imageInput, size picture.Size) *task {
	t := &task{id: newUUID(), account: c.Account, request: c.ID, model: c.model, prompt: in.prompt, actual: in.prompt}
	t.count = min(integer(c.param, "n", 4), maxImages)
	t.series = ts.pictures.series(c, t.id, in.prompt, size)
	if c.param["prompt_extend"] != false {
		t.actual += ", in soft morning light over still water, finely detailed"
	}
	if c.fault.Task != nil {
		t.fate = *c.fault.Task
	}
	return t
}

// shownID returns the task id in an answer, which a fault may replace.
func (c *call) shownID(id string) string { return cmp.Or(c.fault.TaskID, id) }

// add schedules and stores a task, and answers its creation. The task is billed when it ends.
func (ts *tasks) add(c *call, t *task) *answer {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t.created, t.start, t.end = c.At, c.At.Add(ts.cfg.Pending), c.At.Add(ts.cfg.Pending+ts.cfg.Running)
	if t.live { // it streams immediately and ends with the stream
		t.start, t.end = c.At, c.At
	}
	ts.forget(c.At)
	ts.byID[t.id] = t
	ts.order = append(ts.order, t)
	out := output{TaskID: c.shownID(t.id), Status: statePending}
	return &answer{doc: &reply{Output: out, RequestID: c.ID}, worked: true}
}

// forget drops tasks that are expired or too many, after billing them.
func (ts *tasks) forget(now time.Time) {
	n := 0
	for n < len(ts.order) && (len(ts.order)-n >= ts.cfg.MaxTasks || now.Sub(ts.order[n].created) >= lifetime) {
		ts.bill(ts.order[n], now)
		delete(ts.byID, ts.order[n].id)
		n++
	}
	ts.order = slices.Delete(ts.order, 0, n)
}

// settle bills every task that has ended by now, queried or not.
func (ts *tasks) settle(now time.Time) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for _, t := range ts.order {
		ts.bill(t, now)
	}
}

// bill bills a task that has succeeded, once. An expired task is billed by its state in the last moment.
func (ts *tasks) bill(t *task, now time.Time) {
	if now.Sub(t.created) >= lifetime {
		now = t.created.Add(lifetime - 1)
	}
	if !t.billed && t.state(now) == stateSucceeded {
		t.billed = true
		work := t.cost(t.counted())
		work.At, work.Account, work.Model = t.created, t.account, t.model
		ts.ledger.bill(work)
	}
}

// finish ends a task whose stream is over, once.
func (ts *tasks) finish(t *task, now time.Time) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if t.live {
		t.live, t.end = false, now
		ts.bill(t, now)
	}
}

// own returns the task of the call; nil: it is unknown, or another account's.
func (ts *tasks) own(c *call) *task {
	t := ts.byID[c.taskID]
	if t != nil && t.account != c.Account {
		ts.ledger.violated(c.Received, "asks for a task of "+t.account)
		return nil
	}
	return t
}

// query answers with the state of a task. Unknown, expired and other accounts' tasks are UNKNOWN.
func (ts *tasks) query(c *call) (*answer, error) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	r := &reply{Output: output{TaskID: c.shownID(c.taskID), Status: stateUnknown}, RequestID: c.ID}
	if t := ts.own(c); t != nil && t.state(c.At) != stateUnknown {
		ts.bill(t, c.At)
		r = t.describe(t.state(c.At), c.shownID(c.taskID), c.ID)
	}
	return &answer{doc: r}, nil
}

// cancel ends a task that is still PENDING.
func (ts *tasks) cancel(c *call) (*answer, error) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t := ts.own(c)
	if t == nil || t.state(c.At) != statePending {
		return nil, errNotQueued
	}
	t.canceled = c.At
	return &answer{doc: &reply{RequestID: c.ID}}, nil
}
