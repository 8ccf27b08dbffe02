package task

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"sluice/gateway/simulator/answer"
	"sluice/gateway/simulator/fault"
)

// addTasks adds n tasks a second apart and moves the clock along.
func addTasks(ts *Store, now time.Time, n int) time.Time {
	for range n {
		ts.Add(&Task{ID: fmt.Sprint("t", len(ts.byID), now.UnixNano()), Model: "m", Count: 1}, now)
		now = now.Add(time.Second)
	}
	return now
}

// images counts the images that are billed.
type images int64

func newStore(set Settings) (*Store, *images) {
	billed := new(images)
	return New(settings(set), func(_ string, n int) { *billed += images(n) }), billed
}

func TestTasksAreBounded(t *testing.T) {
	ts, b := newStore(Settings{Max: 10})
	now := addTasks(ts, begin, 25)
	if len(ts.order) != 10 || len(ts.byID) != 10 {
		t.Errorf("%d tasks are kept, %d by id", len(ts.order), len(ts.byID))
	}
	if ts.Settle(now); int64(*b) != 25 {
		t.Errorf("%d of 25 images are billed: forgotten tasks must not be free", int64(*b))
	}
}

func TestTasksExpire(t *testing.T) {
	ts, b := newStore(Settings{Running: time.Minute})
	addTasks(ts, begin, 3)
	later := begin.Add(25 * time.Hour)
	if _, state := ts.query(ts.order[0].ID, later); state != answer.StateUnknown {
		t.Errorf("after a day a task is %s", state)
	}
	addTasks(ts, later, 1)
	if len(ts.order) != 1 {
		t.Errorf("%d tasks are kept", len(ts.order))
	}
	if ts.Settle(later); int64(*b) != 3 {
		t.Errorf("%d images are billed, want 3", int64(*b))
	}
}

// A task that would end after its TTL is not billed.
func TestTaskThatOutlivesItself(t *testing.T) {
	ts, b := newStore(Settings{Running: 24 * time.Hour})
	addTasks(ts, begin, 1)
	ts.Settle(begin.Add(48 * time.Hour))
	if int64(*b) != 0 {
		t.Errorf("billed %d images", int64(*b))
	}
}

func TestTasksAreBilledOnce(t *testing.T) {
	ts, b := newStore(Settings{Pending: time.Second, Running: time.Second})
	addTasks(ts, begin, 1)
	id := ts.order[0].ID
	for i, tt := range []struct {
		after time.Duration
		want  int64
	}{
		{0, 0}, {time.Second, 0}, {2*time.Second - 1, 0}, {2 * time.Second, 1}, {time.Hour, 1}, {23 * time.Hour, 1},
	} {
		ts.query(id, begin.Add(tt.after))
		ts.Settle(begin.Add(tt.after))
		if got := int64(*b); got != tt.want {
			t.Errorf("query %d after %v: billed %d, want %d", i, tt.after, got, tt.want)
		}
	}
}

func TestPaceOfOneTask(t *testing.T) {
	ts, _ := newStore(Settings{Pending: time.Hour, Running: time.Hour})
	second, none := time.Second, time.Duration(0)
	quick := &Task{ID: "quick", Fate: fault.Task{Pending: &second, Running: &none}}
	ts.Add(quick, begin)
	if quick.start != begin.Add(time.Second) || quick.end != quick.start {
		t.Errorf("begins %v and ends %v", quick.start, quick.end)
	}
}

// More tasks than slots wait in PENDING, each until a slot is free.
func TestTaskSlots(t *testing.T) {
	ts, _ := newStore(Settings{Slots: 2, Pending: time.Second, Running: 10 * time.Second})
	var got []time.Duration
	for range 5 {
		tk := &Task{ID: fmt.Sprint(len(ts.order)), Model: "m"}
		ts.Add(tk, begin)
		got = append(got, tk.start.Sub(begin))
	}
	want := []time.Duration{1 * time.Second, 1 * time.Second, 11 * time.Second, 11 * time.Second, 21 * time.Second}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("tasks begin after %v, want %v", got, want)
	}
	other := &Task{ID: "other", Model: "o"}
	if ts.Add(other, begin); other.start != begin.Add(time.Second) {
		t.Errorf("another model's task waits until %v", other.start)
	}
	ts.Cancel("2", begin)
	ts.Cancel("3", begin)
	ts.Cancel("4", begin)
	late := &Task{ID: "late", Model: "m"}
	if ts.Add(late, begin); late.start != begin.Add(11*time.Second) {
		t.Errorf("after the cancels a task waits until %v", late.start.Sub(begin))
	}
}

func TestCancelOnlyWhilePending(t *testing.T) {
	for _, tt := range []struct {
		outcome string
		after   time.Duration
		want    bool
	}{
		{"", 0, true}, {"", 2*time.Second - 1, true}, {"", 2 * time.Second, false}, {"", time.Hour, false},
		{"", 25 * time.Hour, false}, {"suspend", 0, false},
	} {
		ts, b := newStore(Settings{Pending: 2 * time.Second, Running: time.Second})
		ts.Add(&Task{ID: "a", Count: 4, Fate: fault.Task{Outcome: tt.outcome}}, begin)
		if got := ts.Cancel("a", begin.Add(tt.after)); got != tt.want {
			t.Errorf("%q after %v: cancelled %v, want %v", tt.outcome, tt.after, got, tt.want)
		}
		if ts.Settle(begin.Add(time.Hour)); tt.want && int64(*b) != 0 {
			t.Errorf("a cancelled task costs %d images", int64(*b))
		}
		if ts.Cancel("a", begin.Add(tt.after)) {
			t.Error("a second cancel succeeds")
		}
	}
	ts, _ := newStore(Settings{})
	if ts.Cancel("nobody", begin) {
		t.Error("an unknown task was cancelled")
	}
}

func TestDictatedStates(t *testing.T) {
	ts, b := newStore(Settings{})
	ts.Add(&Task{ID: "a", Count: 2, Fate: fault.Task{States: []string{"RUNNING", "SUCCEEDED", "RUNNING", "DREAMING"}}}, begin)
	ts.Settle(begin)
	for i, want := range []string{"RUNNING", "SUCCEEDED", "RUNNING", "DREAMING", "DREAMING"} {
		if _, state := ts.query("a", begin); state != want {
			t.Errorf("query %d sees %s, want %s", i, state, want)
		}
		if billed := int64(*b) > 0; billed != (i > 0) {
			t.Errorf("after query %d: billed %v", i, billed)
		}
	}
	if int64(*b) != 2 {
		t.Errorf("billed %d images", int64(*b))
	}
}

func TestNewestFirst(t *testing.T) {
	ts, _ := newStore(Settings{})
	now := addTasks(ts, begin, 3)
	list := ts.newest(now)
	if len(list) != 3 || !list[0].created.After(list[1].created) || !list[1].created.After(list[2].created) {
		t.Errorf("listed %d tasks out of order", len(list))
	}
}

// A list without tasks is an empty array, not null.
func TestEmptyListOnTheWire(t *testing.T) {
	got, err := json.Marshal(taskList{Data: []taskLine{}})
	if want := `{"total":0,"data":[],"total_page":0,"page_no":0,"page_size":0,"request_id":""}`; err != nil || string(got) != want {
		t.Errorf("%s %v, want %s", got, err, want)
	}
}
