package simulator

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// paced is the pace of most tests.
var paced = Config{Pending: 2 * time.Second, Running: 3 * time.Second, TaskRate: -1}

// The states of a task by its outcome, at each of its times.
func TestTaskStates(t *testing.T) {
	for outcome, states := range map[string]string{ // from 2 s on, from 5 s on
		"": "RUNNING SUCCEEDED", "succeed": "RUNNING SUCCEEDED", "partial": "RUNNING SUCCEEDED", "fail": "RUNNING FAILED",
		"fail_pending": "FAILED FAILED", "cancel": "RUNNING CANCELED", "never": "RUNNING RUNNING",
	} {
		task := &task{created: start, start: start.Add(2 * time.Second), end: start.Add(5 * time.Second), fate: FaultTask{Outcome: outcome}}
		started, ended, _ := strings.Cut(states, " ")
		for after, want := range map[time.Duration]string{
			-time.Minute: "PENDING", 0: "PENDING", 2*time.Second - 1: "PENDING", 2 * time.Second: started, 5*time.Second - 1: started,
			5 * time.Second: ended, lifetime - 1: ended, lifetime: "UNKNOWN",
		} {
			if got := task.state(start.Add(after)); got != want {
				t.Errorf("outcome %q after %v is %s, want %s", outcome, after, got, want)
			}
		}
	}
}

// The answer of a task that has ended, and its bill.
func TestEndedTasks(t *testing.T) {
	r := newRig(t, Config{TaskRate: -1})
	const results, long = "output.results.0.", "湖"
	older := func(model string) string { return strings.Replace(older(`"n":3`), "gen2.2-t2i", model, 1) }
	for _, tt := range []struct {
		name, path, body string
		fate             FaultTask
		style            string // of the results; empty: no results
		told             any    // image_count
		billed           int64
	}{
		{"success", imagePath, edit(`"n":3`), FaultTask{}, "choices", 3., 3},
		{"four by default", imagePath, edit(``), FaultTask{}, "choices", 4., 4},
		{"one failed", imagePath, edit(`"n":3`), FaultTask{Outcome: "partial"}, "choices", 2., 2},
		{"more failed than there are", imagePath, edit(`"n":3`), FaultTask{Outcome: "partial", Failed: 9}, "results", 0., 0},
		{"failed but not partial", imagePath, edit(`"n":3`), FaultTask{Failed: 2}, "choices", 3., 3},
		{"told more", imagePath, edit(`"n":3`), FaultTask{ImageCount: new(7)}, "choices", 7., 7},
		{"told none", imagePath, edit(`"n":3`), FaultTask{ImageCount: new(0)}, "choices", 0., 0},
		{"not told", imagePath, edit(`"n":3`), FaultTask{NoImageCount: true}, "choices", nil, 3},
		{"failed", imagePath, edit(`"n":3`), FaultTask{Outcome: "fail"}, "", nil, 0},
		{"another model", imagePath, strings.Replace(edit(`"n":3`), "gen2.6-image", "gen2.6-t2i", 1), FaultTask{}, "choices", 3., 3},
		{"2.6 by the older path", olderPath, older("gen2.6-t2i"), FaultTask{}, "choices", 3., 3},
		{"2.5", olderPath, older("gen2.5-t2i"), FaultTask{}, "results", 3., 3},
		{"2.2", olderEditPath, older("gen2.2-edit"), FaultTask{}, "results", 3., 3},
	} {
		r.Reset()
		o := r.with(Fault{Task: &tt.fate}).poll(r.createTask(tt.path, tt.body))
		if got := at(o, "usage.image_count"); got != tt.told || r.Tally().Images != tt.billed {
			t.Errorf("%s: usage %v, billed %d", tt.name, o["usage"], r.Tally().Images)
		}
		for _, style := range []string{"choices", "results"} {
			if there := at(o, "output."+style) != nil; there != (style == tt.style) && tt.fate.Outcome != "partial" {
				t.Errorf("%s: there are %s: %v", tt.name, style, there)
			}
		}
	}
	// The prompt is extended by default, and cut.
	o := r.with(Fault{}).poll(r.createTask(olderPath, strings.Replace(older("gen2.2-t2i"), "A quiet lake", strings.Repeat(long, 2317), 1)))
	if orig, actual := text(o, results+"orig_prompt"), text(o, results+"actual_prompt"); orig != strings.Repeat(long, 2000) ||
		!strings.HasPrefix(actual, orig+", ") {
		t.Errorf("the prompt was cut to %d bytes, and extended to %q", len(orig), actual)
	}
	// An edit is no stream, even with the header of streams.
	if o := r.post(imagePath, edit(""), asyncSSE...).object(t); at(o, "output.task_status") != "PENDING" {
		t.Errorf("it is answered %v", o)
	}
	id := r.createTask(imagePath, edit(``))
	r.SetFault(Fault{TaskID: "foreign"})
	if o := r.post(imagePath, edit(``), async...).object(t); at(o, "output.task_id") != "foreign" {
		t.Errorf("created %v", o)
	}
	if o := r.poll(id); at(o, "output.task_id") != "foreign" || at(o, "output.choices") == nil {
		t.Errorf("polled %v", o)
	}
}

// Any key of the account can poll and cancel every task, as long as it is pending.
func TestCancel(t *testing.T) {
	cfg := paced
	cfg.Keys = []string{"k", "other"}
	r := newRig(t, cfg)
	cancel := func(id string) got { return r.post(tasksPath+"/"+id+"/cancel", "", "Authorization", "Bearer other") }
	running := r.createTask(imagePath, edit(""))
	r.advance(2 * time.Second)
	cancel(running).want(t, 400, "UnsupportedOperation")
	cancel("nobody").want(t, 400, "UnsupportedOperation")
	id := r.createTask(imagePath, edit(""))
	if g := r.get(tasksPath+"/"+id, "Authorization", "Bearer other"); at(g.object(t), "output.task_status") != "PENDING" {
		t.Errorf("another key sees %v", g)
	}
	if g := cancel(id); g.status != 200 {
		t.Errorf("another key cancels with %d", g.status)
	}
	cancel(id).want(t, 400, "UnsupportedOperation")
	if got := r.status(running) + " " + r.status(id); got != "RUNNING CANCELED" {
		t.Errorf("the tasks are %v", got)
	}
}

// Tasks are bounded by number and by time. Forgotten ones are not free, and each is billed once, if it ended within its time.
func TestTasksAreBounded(t *testing.T) {
	const day = 24 * time.Hour
	for _, tt := range []struct {
		cfg         Config
		made        int           // a second apart
		passes      time.Duration // then
		kept        int           // once another task is made
		first       string        // the state of the first task
		billed      int64
		billedBelow bool
	}{
		{Config{MaxTasks: 10}, 25, 0, 10, "UNKNOWN", 26, false},
		{Config{Running: time.Minute}, 3, 25 * time.Hour, 1, "UNKNOWN", 3, false},
		{Config{Running: day}, 1, 2 * day, 1, "UNKNOWN", 0, false}, // it would end after its time
		{Config{Pending: time.Second, Running: time.Second}, 1, time.Second - 1, 2, "RUNNING", 0, false},
		{Config{Pending: time.Second, Running: time.Second}, 1, time.Second, 2, "SUCCEEDED", 1, false},
		{Config{Pending: time.Second, Running: time.Second}, 1, 22 * time.Hour, 2, "SUCCEEDED", 1, false},
	} {
		r := newRig(t, tt.cfg)
		var first string
		for i := range tt.made {
			if id := r.createTask(imagePath, edit(`"n":1`)); i == 0 {
				first = id
			}
			r.advance(time.Second)
		}
		r.advance(tt.passes)
		r.createTask(imagePath, edit(`"n":1`))
		for range 2 {
			if n, state := len(r.tasks.order), r.status(first); n != tt.kept || len(r.tasks.byID) != n || state != tt.first ||
				r.Tally().Images != tt.billed {
				t.Errorf("%+v: %d tasks are kept, the first is %s, %d images are billed", tt, n, state, r.Tally().Images)
			}
		}
	}
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
		h := &history{rig: newRig(t, paced), r: rand.New(rand.NewPCG(seed, 1)), seen: map[string]string{}}
		for range 60 {
			h.step()
		}
		// All tasks end, and with them the bill.
		h.advance(23 * time.Hour)
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
	do := h.r.IntN(5)
	switch {
	case do < 2:
		h.advance(time.Duration(h.r.IntN(2500)) * time.Millisecond)
	case do == 2:
		outcomes := []string{"", "fail", "fail_pending", "partial", "cancel"}
		h.SetFault(Fault{Task: &FaultTask{Outcome: outcomes[h.r.IntN(len(outcomes))]}})
		id := h.createTask(imagePath, edit(fmt.Sprintf(`"n":%d`, 1+h.r.IntN(4))))
		h.SetFault()
		h.order, h.seen[id] = append(h.order, id), "PENDING"
	case len(h.order) == 0:
	default:
		id := h.order[h.r.IntN(len(h.order))]
		before := h.look(id)
		if do == 3 {
			return
		}
		if ok := h.post(tasksPath+"/"+id+"/cancel", "").status == 200; ok != (before == "PENDING") {
			h.Fatalf("cancel of a task that was %s: %v", before, ok)
		}
		h.look(id)
	}
}

// look queries a task, and returns the state that it is in.
func (h *history) look(id string) string {
	rank := map[string]int{"PENDING": 0, "RUNNING": 1, "SUCCEEDED": 2, "FAILED": 2, "CANCELED": 2, "UNKNOWN": 3}
	o := h.poll(id)
	state, was := text(o, "output.task_status"), h.seen[id]
	if rank[state] < rank[was] || rank[was] == 2 && state != was {
		h.Fatalf("task went from %s to %s", was, state)
	}
	if h.seen[id] = state; state == "SUCCEEDED" && was != "SUCCEEDED" {
		h.owed += int64(at(o, "usage.image_count").(float64))
	}
	return state
}

// list requests a page of tasks, and returns their ids in a line.
func (r *rig) list(query string) (page object, ids string) {
	r.Helper()
	page = r.get(tasksPath + "?" + query).object(r)
	for _, line := range get[[]any](page, "data") {
		ids += " " + text(line, "task_id")
	}
	return page, strings.TrimSpace(ids)
}

func TestListPages(t *testing.T) {
	r := newRig(t, Config{TaskRate: -1})
	var made []string
	for range 23 {
		made = append([]string{r.createTask(imagePath, edit(""))}, made...) // newest first
		r.advance(time.Second)
	}
	for _, tt := range []struct {
		query          string
		from, to       int
		no, size, page float64
	}{
		{"", 0, 10, 1, 10, 3}, {"page_no=2", 10, 20, 2, 10, 3}, {"page_no=3", 20, 23, 3, 10, 3}, {"page_no=4", 23, 23, 4, 10, 3},
		{"page_size=23", 0, 23, 1, 23, 1}, {"page_size=5&page_no=2", 5, 10, 2, 5, 5}, {"page_size=100", 0, 23, 1, 100, 1},
	} {
		page, ids := r.list(tt.query)
		if want := strings.Join(made[tt.from:tt.to], " "); ids != want || page["total"] != 23. || page["page_no"] != tt.no ||
			page["page_size"] != tt.size || page["total_page"] != tt.page {
			t.Errorf("%q is page %v\nwant %s", tt.query, page, want)
		}
	}
}

func TestListFilters(t *testing.T) {
	r := newRig(t, Config{TaskRate: -1, Pending: time.Minute, Running: time.Hour})
	edited := r.createTask(imagePath, edit("")) // at 13:06:07.089, UTC+8
	r.advance(time.Minute)
	old := r.createTask(olderPath, older("")) // at 13:07:07.089
	gone := r.createTask(olderPath, older(""))
	r.post(tasksPath+"/"+gone+"/cancel", "")
	for query, want := range map[string]string{
		"": gone + " " + old + " " + edited, "task_id=" + old: old, "task_id=nobody": "", "model_name=gen2.6-image": edited,
		"status=RUNNING": edited, "status=PENDING": old, "status=CANCELED": gone, "status=CANCELLED": gone,
		"status=PENDING&model_name=gen2.6-image": "",
		"start_time=20260304130707":              gone + " " + old, "start_time=20260304130708": "", "end_time=20260304130707": edited,
		"end_time=20260304130607": "", "start_time=20260304130607&end_time=20260304130608": edited, "model_name=gen2.2-t2i&page_size=1": gone,
	} {
		if _, got := r.list(query); got != want {
			t.Errorf("%q lists %s, want %s", query, got, want)
		}
	}
}

func TestListLine(t *testing.T) {
	r := newRig(t, paced)
	id := r.createTask(imagePath, edit(""))
	line := object{"task_id": id, "model_name": "gen2.6-image", "gmt_create": float64(start.UnixMilli()), "request_id": r.Requests()[0].ID,
		"api_key_id": LeakMark, "caller_uid": LeakMark}
	check := func(status, name string, ms int) {
		t.Helper()
		if line["status"] = status; name != "" {
			line[name] = float64(start.UnixMilli() + int64(ms))
		}
		page, _ := r.list("")
		if diff := cmp.Diff(line, at(page, "data.0")); diff != "" {
			t.Errorf("the line of a task that is %s (-want +got):\n%s", status, diff)
		}
	}
	check("PENDING", "", 0)
	r.advance(2 * time.Second)
	check("RUNNING", "start_time", 2000)
	r.advance(3 * time.Second)
	check("SUCCEEDED", "end_time", 5000)
	r.advance(24 * time.Hour)
	if page, _ := r.list(""); page["total"] != 0. {
		t.Errorf("a day later there are %v", page)
	}
	canceled := r.createTask(imagePath, edit(""))
	r.advance(time.Second)
	r.post(tasksPath+"/"+canceled+"/cancel", "")
	if page, _ := r.list(""); at(page, "data.0.start_time") != nil ||
		at(page, "data.0.end_time") != at(page, "data.0.gmt_create").(float64)+1000 {
		t.Errorf("of a cancelled task: %v", page)
	}
}

// allows counts a call that need not wait.
func allows(l *limiter, now time.Time) bool {
	if l.wait(now) > 0 {
		return false
	}
	l.pass(now)
	return true
}

// No interval of a second has more calls than the rate, and hardly fewer pass.
func TestLimiter(t *testing.T) {
	for rate, steps := range map[int]string{2: "0+ 0+ 0- 999- 1000+ 1500+ 1999- 2000+ 2400- 2500+"} {
		l := newLimiter(rate, time.Second)
		for step := range strings.FieldsSeq(steps) {
			var ms int
			var sign rune
			_, _ = fmt.Sscanf(step, "%d%c", &ms, &sign)
			if got := allows(l, start.Add(time.Duration(ms)*time.Millisecond)); got != (sign == '+') {
				t.Errorf("a call at %d ms passes: %v", ms, got)
			}
		}
	}
	const rate = 20
	l, passed := newLimiter(rate, time.Second), []time.Time(nil)
	for i := range 5000 {
		if now := start.Add(time.Duration(i) * 7 * time.Millisecond); allows(l, now) {
			passed = append(passed, now)
		}
	}
	for i := rate; i < len(passed); i++ {
		if passed[i].Sub(passed[i-rate]) < time.Second {
			t.Fatalf("%d calls pass within %v", rate+1, passed[i].Sub(passed[i-rate]))
		}
	}
	if len(passed) < 34*rate {
		t.Errorf("only %d of 700 calls pass in 35 seconds", len(passed))
	}
}

// Each operation on tasks has the account's rate, all keys together: 20 unless the settings say otherwise. Others have none.
func TestTaskOperationsAreLimitedEach(t *testing.T) {
	for set, rate := range map[int]int{0: 20, 1: 1, -1: 50} {
		r := newRig(t, Config{Keys: []string{"k", "other"}, TaskRate: set})
		for _, op := range [][2]string{{"GET", tasksPath + "/abc"}, {"GET", tasksPath}, {"POST", tasksPath + "/abc/cancel"}} {
			ask := func(key string) got { return r.do(op[0], op[1], "", "Authorization", "Bearer "+key) }
			for i := range rate {
				if g := ask([]string{"k", "other"}[i%2]); g.status == 429 {
					t.Fatalf("%s: refused at request %d", op, i)
				}
			}
			if set >= 0 {
				ask("k").want(t, 429, "Throttling.RateQuota")
				ask("other").want(t, 429, "Throttling.RateQuota")
			}
			ask("wrong").want(t, 401, "InvalidApiKey")
		}
		for _, step := range []time.Duration{time.Second - 1, 1} {
			r.advance(step)
			if g := r.get(tasksPath); set >= 0 && (g.status == 200) != (step == 1) {
				t.Errorf("%v later: %d", step, g.status)
			}
		}
		if g := r.post(textPath, say("hi", "")); g.status != 200 {
			t.Errorf("generations are not limited: %d", g.status)
		}
	}
}

// The sums count requests and work by endpoint, and bill tokens and images; refusals cost nothing.
func TestTally(t *testing.T) {
	r := newRig(t, Config{})
	r.post(textPath, say("hi there", `"max_tokens":5`))
	r.post(multimodalPath, draw(`"n":2`))
	r.createTask(imagePath, edit(`"n":3`))
	r.createTask(olderPath, older(``))
	done := map[string]int{EndpointText: 1, EndpointMultimodal: 1, EndpointImage: 1, EndpointSynthesis: 1}
	if diff := cmp.Diff(Tally{done, done, 11, 9}, r.Tally()); diff != "" {
		t.Errorf("tally (-want +got):\n%s", diff)
	}
	if r.Reset(); cmp.Diff(Tally{map[string]int{}, map[string]int{}, 0, 0}, r.Tally()) != "" || len(r.Requests()) != 0 {
		t.Errorf("after Reset: %+v", r.Tally())
	}
	r.post(textPath, `{}`)
	r.post(multimodalPath, draw(`"n":0`))
	r.post(imagePath, edit(``))
	r.get(tasksPath)
	if got := r.Tally(); got.Tokens+got.Images != 0 || len(got.Executed) != 0 || got.Requests[EndpointText] != 1 ||
		r.Count(EndpointList) != 1 {
		t.Errorf("refusals cost %+v", got)
	}
}

func TestConcurrentRequests(t *testing.T) {
	r := newRig(t, Config{TaskRate: -1})
	const workers, each = 8, 20
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := range each {
				switch (w + i) % 5 {
				case 0:
					r.post(textPath, say("hi", ""), sse...)
				case 1:
					r.poll(r.createTask(imagePath, edit("")))
				case 2:
					r.get(tasksPath)
				case 3:
					r.post(multimodalPath, draw(""))
				case 4:
					r.Requests()
					r.Tally()
					r.SetFault(Fault{Times: 1})
					r.post(textPath, say("hi", ""))
				}
			}
		})
	}
	all.Wait()
	// Each round of five has one stream, one creation, one poll, one list, one synchronous image and one plain text.
	const rounds = workers * each / 5
	want := map[string]int{EndpointText: 2 * rounds, EndpointImage: rounds, EndpointTask: rounds, EndpointList: rounds,
		EndpointMultimodal: rounds}
	if got := r.Tally(); cmp.Diff(want, got.Requests) != "" || got.Images != rounds*4+rounds || len(r.Violations()) != 0 {
		t.Errorf("%+v, violations %q", got, r.Violations())
	}
}
