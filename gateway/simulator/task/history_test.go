package task

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"sluice/gateway/simulator/fault"
)

// rank orders the states of a successful task; the last ones are final.
var rank = map[string]int{
	"PENDING": 0, "SUSPENDED": 0, "RUNNING": 1, "SUCCEEDED": 2, "FAILED": 2, "CANCELED": 2, "UNKNOWN": 3,
}

// history is one run of random operations with the knowledge of a careful client.
type history struct {
	t     *testing.T
	r     *rand.Rand
	s     *Store
	now   time.Time
	seen  map[string]string // task to last state seen
	order []string
	owed  int64
}

// In any history no task goes backwards, a cancel succeeds only from PENDING, and the bill is exactly that of the final
// states.
func TestRandomHistories(t *testing.T) {
	for seed := range uint64(200) {
		store, billed := newStore(Settings{Pending: 2 * time.Second, Running: 3 * time.Second, Slots: int(seed % 4)})
		h := &history{t: t, r: rand.New(rand.NewPCG(seed, 1)), now: begin, seen: map[string]string{}, s: store}
		for range 60 {
			h.step()
		}
		// All tasks end, and with them the bill.
		h.now = h.now.Add(23 * time.Hour)
		for _, id := range h.order {
			h.look(id)
		}
		if store.Settle(h.now); int64(*billed) != h.owed {
			t.Fatalf("history %d: billed %d images, the tasks owe %d", seed, *billed, h.owed)
		}
	}
}

// step does one random thing.
func (h *history) step() {
	switch h.r.IntN(5) {
	case 0, 1:
		h.now = h.now.Add(time.Duration(h.r.IntN(2500)) * time.Millisecond)
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
	outcomes := []string{"", "fail", "fail_pending", "partial", "suspend", "cancel"}
	t := &Task{ID: fmt.Sprintf("task-%d", len(h.order)), Model: "m", Count: 1 + h.r.IntN(4)}
	t.Fate.Outcome = outcomes[h.r.IntN(len(outcomes))]
	h.s.Add(t, h.now)
	h.order = append(h.order, t.ID)
	h.seen[t.ID] = "PENDING"
}

func (h *history) look(id string) {
	t, state := h.s.query(id, h.now)
	was := h.seen[id]
	if rank[state] < rank[was] || rank[was] == 2 && state != was {
		h.t.Fatalf("task went from %s to %s", was, state)
	}
	if h.seen[id] = state; state == "SUCCEEDED" && was != "SUCCEEDED" {
		h.owed += int64(t.Count - t.failed())
	}
}

func (h *history) cancel(id string) {
	_, before := h.s.query(id, h.now)
	h.look(id)
	ok := h.s.Cancel(id, h.now)
	if ok != (before == "PENDING") {
		h.t.Fatalf("cancel of a task that was %s: %v", before, ok)
	}
	if ok {
		h.look(id)
	}
}

// With slots, no more tasks of a model run at once than there are slots.
func TestSlotsHoldInRandomHistories(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 2))
		slots := 1 + r.IntN(3)
		ts, _ := newStore(Settings{Slots: slots, Pending: time.Second})
		now, all := begin, []*Task{}
		for i := range 40 {
			running := time.Duration(1+r.IntN(5000)) * time.Millisecond
			tk := &Task{ID: fmt.Sprintf("task-%d", i), Model: "m", Fate: fault.Task{Running: &running}}
			ts.Add(tk, now)
			all = append(all, tk)
			now = now.Add(time.Duration(r.IntN(1500)) * time.Millisecond)
		}
		for _, tk := range all {
			busy := slices.DeleteFunc(slices.Clone(all), func(o *Task) bool {
				return o.start.After(tk.start) || !o.end.After(tk.start)
			})
			if len(busy) > slots {
				t.Fatalf("history %d: %d tasks run in %d slots", seed, len(busy), slots)
			}
		}
	}
}
