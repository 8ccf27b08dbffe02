package simulator

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// images creates n tasks of one image a second apart.
func (r *rig) images(n int) (ids []string) {
	for range n {
		ids = append(ids, r.createTask(imagePath, edit(`"n":1`)))
		r.clock.Advance(time.Second)
	}
	return ids
}

func TestTasksAreBounded(t *testing.T) {
	r := newRig(t, Config{MaxTasks: 10})
	r.images(25)
	if n := len(r.tasks.order); n != 10 || len(r.tasks.byID) != 10 {
		t.Errorf("%d tasks are kept, %d by id", n, len(r.tasks.byID))
	}
	if got := r.Tally().Images; got != 25 {
		t.Errorf("%d of 25 images are billed: forgotten tasks must not be free", got)
	}
}

func TestTasksExpire(t *testing.T) {
	r := newRig(t, Config{Running: time.Minute})
	first := r.images(3)[0]
	r.clock.Advance(25 * time.Hour)
	if got := at(r.poll(first), "output", "task_status"); got != "UNKNOWN" {
		t.Errorf("after a day a task is %v", got)
	}
	r.images(1)
	if n := len(r.tasks.order); n != 1 {
		t.Errorf("%d tasks are kept", n)
	}
	if got := r.Tally().Images; got != 3 {
		t.Errorf("%d images are billed, want 3", got)
	}
}

// A task that would end after its time is not billed.
func TestTaskThatOutlivesItself(t *testing.T) {
	r := newRig(t, Config{Running: 24 * time.Hour})
	r.images(1)
	r.clock.Advance(48 * time.Hour)
	if got := r.Tally().Images; got != 0 {
		t.Errorf("billed %d images", got)
	}
}

func TestTasksAreBilledOnce(t *testing.T) {
	r := newRig(t, Config{Pending: time.Second, Running: time.Second})
	id := r.createTask(imagePath, edit(`"n":1`))
	for i, tt := range []struct {
		step time.Duration
		want int64
	}{
		{0, 0}, {time.Second, 0}, {time.Second - 1, 0}, {1, 1}, {time.Hour, 1}, {22 * time.Hour, 1},
	} {
		r.clock.Advance(tt.step)
		r.poll(id)
		if got := r.Tally().Images; got != tt.want {
			t.Errorf("query %d, %v later: billed %d, want %d", i, tt.step, got, tt.want)
		}
	}
}

// rank orders the states of a successful task; the last ones are final.
var rank = map[string]int{
	"PENDING": 0, "RUNNING": 1, "SUCCEEDED": 2, "FAILED": 2, "CANCELED": 2, "UNKNOWN": 3,
}

// history is one run of random operations with the knowledge of a careful client.
type history struct {
	r *rand.Rand
	*rig
	seen  map[string]string // task to last state seen
	order []string
	owed  int64
}

// In any history no task goes backwards, a cancel succeeds only from PENDING, and the bill is exactly that of the final
// states.
func TestRandomHistories(t *testing.T) {
	for seed := range uint64(30) {
		h := &history{rig: newRig(t, Config{Pending: 2 * time.Second, Running: 3 * time.Second, TaskRate: -1}), r: rand.New(rand.NewPCG(seed, 1)), seen: map[string]string{}}
		for range 60 {
			h.step()
		}
		// All tasks end, and with them the bill.
		h.clock.Advance(23 * time.Hour)
		for _, id := range h.order {
			h.look(id)
		}
		if billed := h.Tally().Images; billed != h.owed {
			t.Fatalf("history %d: billed %d images, the tasks owe %d", seed, billed, h.owed)
		}
	}
}

// step does one random thing.
func (h *history) step() {
	switch h.r.IntN(5) {
	case 0, 1:
		h.clock.Advance(time.Duration(h.r.IntN(2500)) * time.Millisecond)
	case 2:
		h.create()
	case 3:
		if len(h.order) > 0 {
			h.look(h.order[h.r.IntN(len(h.order))])
		}
	case 4:
		if len(h.order) > 0 {
			h.cancel(h.order[h.r.IntN(len(h.order))])
		}
	}
}

func (h *history) create() {
	outcomes := []string{"", "fail", "fail_pending", "partial", "cancel"}
	h.SetFault(Fault{Task: &FaultTask{Outcome: outcomes[h.r.IntN(len(outcomes))]}})
	id := h.createTask(imagePath, edit(fmt.Sprintf(`"n":%d`, 1+h.r.IntN(4))))
	h.SetFault()
	h.order = append(h.order, id)
	h.seen[id] = "PENDING"
}

// look queries a task, and returns the state that it is in.
func (h *history) look(id string) string {
	o := h.poll(id)
	state, was := at(o, "output", "task_status").(string), h.seen[id]
	if rank[state] < rank[was] || rank[was] == 2 && state != was {
		h.t.Fatalf("task went from %s to %s", was, state)
	}
	if h.seen[id] = state; state == "SUCCEEDED" && was != "SUCCEEDED" {
		h.owed += int64(at(o, "usage", "image_count").(float64))
	}
	return state
}

func (h *history) cancel(id string) {
	before := h.look(id)
	ok := h.post(tasksPath+"/"+id+"/cancel", "").status == 200
	if ok != (before == "PENDING") {
		h.t.Fatalf("cancel of a task that was %s: %v", before, ok)
	}
	h.look(id)
}
