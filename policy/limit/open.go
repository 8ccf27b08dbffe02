package limit

import (
	"context"
	"encoding/hex"
	"errors"
	"time"
)

// openHolds are the holds of requests in flight and of tasks that are not settled.
type openHolds struct {
	count  int
	oldest time.Time // when the oldest of them was made; zero: none is open, or none tells
	tasks  int64     // how many are tasks', where Redis tells
}

// note counts one more. since is when it was made; zero: it does not tell.
func (o *openHolds) note(since time.Time) {
	o.count++
	o.age(since)
}

func (o *openHolds) age(since time.Time) {
	if !since.IsZero() && (o.oldest.IsZero() || since.Before(o.oldest)) {
		o.oldest = since
	}
}

func (o *openHolds) add(more openHolds) {
	o.count += more.count
	o.age(more.oldest)
}

// madeAt reads from a hold's id when it was made, to the millisecond. Ids are those of requests, UUIDs of version 7, which
// begin with that moment; any other is counted and has no age. A field of its own would have to be written and read
// by every admission for what is looked at once a minute.
func madeAt(id string) time.Time {
	if len(id) != 36 || id[14] != '7' {
		return time.Time{}
	}
	var ms int64
	b, err := hex.DecodeString(id[:8] + id[9:13])
	if err != nil {
		return time.Time{}
	}
	for _, n := range b {
		ms = ms<<8 | int64(n)
	}
	return time.UnixMilli(ms)
}

// errUncounted is what Holds says until the holds were counted once.
var errUncounted = errors.New("the open holds were not counted yet")

// Holds tells how many holds were open when Tend last looked, and when the oldest of them was made: zero where none is
// open. It costs a look at two numbers. The error is there until Tend has run.
func (m *Memory) Holds(context.Context) (open int, oldest time.Time, err error) {
	if o := m.counted.Load(); o != nil {
		return o.count, o.oldest, nil
	}
	return 0, time.Time{}, errUncounted
}

// countOpen adds up what is open, of all teams.
func (m *Memory) countOpen() {
	m.mu.Lock()
	accounts := make([]*account, 0, len(m.teams))
	for _, a := range m.teams {
		accounts = append(accounts, a)
	}
	m.mu.Unlock()
	var all openHolds
	for _, a := range accounts {
		all.add(a.openHolds())
	}
	m.counted.Store(&all)
}

func (a *account) openHolds() (o openHolds) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, h := range a.holds {
		if !h.expired {
			o.note(h.since)
		}
	}
	return o
}

// OpenTasks tells how many tasks of a team are open.
func (m *Memory) OpenTasks(team string) int64 {
	m.mu.Lock()
	a := m.teams[team]
	m.mu.Unlock()
	if a == nil {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.tasks
}
