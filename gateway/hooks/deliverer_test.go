package hooks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sluice/gateway/upstream"
	"sluice/policy/event"
	"sluice/policy/teams"
)

const testSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// life is of events in tests.
const life = 72 * time.Hour

// try is a delivery as a receiver got it.
type try struct {
	at       time.Time
	url      string
	id, body string
}

// receivers answer in place of a network, in simulated time.
type receivers struct {
	mu     sync.Mutex
	tries  []try
	answer func(r *http.Request, n int) (code int, after time.Duration) // n: of this host, from 1
	seen   map[string]int
}

func (r *receivers) RoundTrip(request *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(request.Body)
	r.mu.Lock()
	if r.seen == nil {
		r.seen = map[string]int{}
	}
	r.seen[request.URL.Host]++
	n := r.seen[request.URL.Host]
	r.tries = append(r.tries, try{time.Now(), request.URL.String(), request.Header.Get(headerID), string(body)})
	r.mu.Unlock()
	code, after := r.answer(request, n)
	select {
	case <-request.Context().Done():
		return nil, request.Context().Err()
	case <-time.After(after):
	}
	if code == 0 {
		return nil, errors.New("connection reset")
	}
	return &http.Response{StatusCode: code, Body: io.NopCloser(strings.NewReader("")), Header: http.Header{}}, nil
}

// of are the tries at a host.
func (r *receivers) of(host string) (all []try) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.tries {
		if strings.Contains(t.url, host) {
			all = append(all, t)
		}
	}
	return all
}

const twoTeams = `
teams:
  - {id: search, hooks: [{id: jobs, url: "https://jobs.example/hook", events: ["*"], secret_file: a}]}
  - {id: shop, hooks: [{id: slow, url: "https://slow.example/", events: ["*"], secret_file: a}]}
`

func parse(t testing.TB, doc string) *teams.File {
	t.Helper()
	file, err := teams.Parse([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// world is an outbox, receivers and a replica.
type world struct {
	*testing.T
	box      *box
	to       *receivers
	mu       sync.Mutex
	file     *teams.File
	outcomes map[string]int
}

func newWorld(t *testing.T, answer func(r *http.Request, n int) (int, time.Duration)) *world {
	return &world{T: t, box: &box{now: time.Now}, to: &receivers{answer: answer}, file: parse(t, twoTeams), outcomes: map[string]int{}}
}

// replica is one more deliverer.
func (w *world) replica() *Deliverer {
	poster := NewPoster(PosterConfig{Secret: func(string) (upstream.Secret, error) { return testSecret, nil }, Now: time.Now})
	poster.transport = w.to
	return New(Config{
		Outbox: w.box, Poster: poster, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Teams: func() *teams.File {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.file
		},
		Count: func(hook string, outcome Outcome) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.outcomes[hook+" "+string(outcome)]++
		},
	})
}

// run runs a replica and returns what stops it and waits.
func (w *world) run(d *Deliverer) (stop func()) {
	ctx, cancel := context.WithCancel(w.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.Run(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

func (w *world) append(team string, n int) {
	for range n {
		if _, err := w.box.Append(w.Context(), &event.Draft{Type: event.TaskSucceeded, Team: team, Data: []byte(`{"task_id":"t"}`),
			To: w.file.Hooked(team, event.TaskSucceeded, "")}); err != nil {
			w.Fatal(err)
		}
	}
}

func always(code int) func(*http.Request, int) (int, time.Duration) {
	return func(*http.Request, int) (int, time.Duration) { return code, time.Millisecond }
}

// A receiver that is away gets the same bytes under the same id again: after 5 s, 30 s, 2 m, 10 m, 30 m, 1 h, then each hour, a fifth more
// or less, until the event's life ends.
func TestTriesFollowTheSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, always(http.StatusServiceUnavailable))
		stop := w.run(w.replica())
		began := time.Now()
		w.append("search", 1)
		time.Sleep(life + time.Hour)
		stop()
		tries := w.to.of("jobs.example")
		for i, try := range tries {
			if try.id != tries[0].id || try.body != tries[0].body || !strings.Contains(try.body, try.id) {
				t.Fatalf("try %d is %+v, the first was %+v", i+1, try, tries[0])
			}
			if i == 0 {
				continue
			}
			want := waits[min(i, len(waits))-1]
			if got := try.at.Sub(tries[i-1].at); got < want*8/10 || got > want*12/10+2*pause {
				t.Errorf("try %d comes %v after the one before it, want %v", i+1, got, want)
			}
		}
		if last := tries[len(tries)-1].at; len(tries) < 60 || last.Sub(began) > life || life-last.Sub(began) > 75*time.Minute {
			t.Errorf("%d tries, the last after %v", len(tries), last.Sub(began))
		}
		if got := w.box.states(); got[event.GivenUp] != 1 || w.outcomes["jobs given_up"] != 1 || w.outcomes["jobs failed"] != len(tries)-1 {
			t.Errorf("%v %v", got, w.outcomes)
		}
	})
}

// A delivery that panics ends nothing else: it is repeated after its lease, and leaves its hook all of its room.
func TestADeliveryThatPanicsIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(_ *http.Request, n int) (int, time.Duration) {
			if n <= perHook {
				panic("of the post")
			}
			return http.StatusOK, time.Millisecond
		})
		w.append("search", perHook)
		stop := w.run(w.replica())
		time.Sleep(10 * time.Minute)
		stop()
		if n := len(w.to.of("jobs.example")); n != 2*perHook || w.outcomes["jobs delivered"] != perHook {
			t.Errorf("%d tries, %v", n, w.outcomes)
		}
	})
}

// A receiver that never answers is given 10 s, and holds up no other hook.
func TestSlowReceiversHoldUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(r *http.Request, _ int) (int, time.Duration) {
			if r.URL.Host == "slow.example" {
				return 200, time.Hour
			}
			return 200, 10 * time.Millisecond
		})
		w.append("shop", 100)
		w.append("search", 100)
		d := w.replica()
		stop := w.run(d)
		time.Sleep(9 * time.Second)
		w.asked(d)
		if slow, quick := len(w.to.of("slow.example")), len(w.to.of("jobs.example")); slow != perHook || quick != 100 {
			t.Errorf("%d and %d tries", slow, quick)
		}
		if got := d.Oldest(); got["slow"] != 9*time.Second || got["jobs"] != 0 {
			t.Errorf("%v", got)
		}
		time.Sleep(2 * time.Second)
		if slow := len(w.to.of("slow.example")); slow != 2*perHook {
			t.Errorf("%d tries after the first gave up", slow)
		}
		stop()
		if w.outcomes["slow failed"] != 2*perHook || w.outcomes["jobs delivered"] != 100 {
			t.Errorf("%v", w.outcomes)
		}
	})
}

// 410 ends a hook: no replica sends anything to it any more, also one that starts, until its lines in the file change; then all that
// waited is.
func TestGoneEndsAHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := true
		w := newWorld(t, func(*http.Request, int) (int, time.Duration) {
			if gone {
				return http.StatusGone, 0
			}
			return 200, 0
		})
		d := w.replica()
		is := func(d *Deliverer, want bool) {
			t.Helper()
			if got, known := d.Ended()["jobs"]; !known || got != want {
				t.Errorf("ended: %t, %t", got, known)
			}
		}
		stop := w.run(d)
		time.Sleep(pause / 2)
		is(d, false)
		w.append("search", 1)
		time.Sleep(2 * pause)
		is(d, true)
		w.append("search", 3)
		time.Sleep(3 * time.Hour)
		if n := len(w.to.of("jobs.example")); n != 1 || w.outcomes["jobs ended"] != 1 {
			t.Errorf("%d tries, %v", n, w.outcomes)
		}
		stop()
		for range 2 { // others, one of them at the same time
			d = w.replica()
			stop = w.run(d)
			defer stop()
		}
		time.Sleep(3 * time.Hour)
		is(d, true)
		if n := len(w.to.of("jobs.example")); n != 1 {
			t.Errorf("%d tries after a restart", n)
		}
		gone = false
		become := func(doc string) {
			w.mu.Lock()
			w.file = parse(t, doc)
			w.mu.Unlock()
			time.Sleep(2 * agedEvery)
		}
		become(twoTeams + "  - {id: other}\n")
		if n := len(w.to.of("jobs.example")); n != 1 {
			t.Errorf("%d tries after another team's change", n)
		}
		is(d, true)
		become(strings.Replace(twoTeams, "jobs.example/hook", "jobs.example/new", 1))
		is(d, false)
		stop()
		ended, _ := w.box.Ended(t.Context())
		if got := w.box.states(); got[event.Delivered] != 4 || len(ended) > 0 {
			t.Errorf("%v %v", got, ended)
		}
	})
}

// A hook whose end has no time, because a replica of the previous version noted it, gets one, so that people see it.
func TestAnEndWithoutATimeGetsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, always(200))
		to, mark := event.Address{Owner: "search", Hook: "jobs"}, w.file.Team("search").Hooks[0].Mark()
		w.box.ended = map[event.Address]event.HookEnd{to: {Mark: mark}}
		stop := w.run(w.replica())
		w.append("search", 1)
		time.Sleep(time.Minute)
		stop()
		ended, _ := w.box.Ended(t.Context())
		if got := ended[to]; got.Mark != mark || got.At.IsZero() || len(w.to.of("jobs.example")) != 0 {
			t.Errorf("%+v", got)
		}
	})
}

// A 410 that answers a try under a hook's old lines does not end the hook of the new ones.
func TestGoneOfOldLinesEndsNoHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(r *http.Request, _ int) (int, time.Duration) {
			if strings.Contains(r.URL.Path, "new") {
				return http.StatusOK, 0
			}
			return http.StatusGone, 3 * time.Second
		})
		stop := w.run(w.replica())
		w.append("search", 1)
		time.Sleep(pause + pause/2) // the try is under way
		w.mu.Lock()
		w.file = parse(t, strings.Replace(twoTeams, "jobs.example/hook", "jobs.example/new", 1))
		w.mu.Unlock()
		time.Sleep(time.Minute)
		w.append("search", 5)
		time.Sleep(time.Hour)
		stop()
		ended, _ := w.box.Ended(t.Context())
		if got := w.box.states(); got[event.Delivered] != 6 || len(ended) > 0 || w.outcomes["jobs failed"] != 1 || w.outcomes["jobs ended"] != 0 {
			t.Errorf("%v %v %v", got, ended, w.outcomes)
		}
	})
}

// What the outbox has lost is counted as given up.
func TestLostDeliveriesAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, always(200))
		w.box.lost = map[event.Address]int{{Owner: "search", Hook: "jobs"}: 7}
		stop := w.run(w.replica())
		time.Sleep(3 * pause)
		stop()
		if w.outcomes["jobs given_up"] != 7 {
			t.Errorf("%v", w.outcomes)
		}
	})
}

// The number of tries under way is bounded, however many hooks are slow. A delivery that is not begun has no lease: another replica takes
// it.
func TestTriesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		doc := "teams:\n"
		for n := range 80 {
			doc += fmt.Sprintf("  - {id: t%d, hooks: [{id: jobs, url: \"https://t%d.example/hook\", events: [\"*\"], secret_file: a}]}\n", n, n)
		}
		w := newWorld(t, func(*http.Request, int) (int, time.Duration) { return 200, 5 * time.Second })
		w.file = parse(t, doc)
		for n := range 80 {
			w.append(fmt.Sprint("t", n), 4)
		}
		first := w.run(w.replica())
		time.Sleep(2 * pause)
		if n := len(w.to.of("example")); n != inAll || w.box.taken != inAll {
			t.Errorf("%d tries, %d taken", n, w.box.taken)
		}
		second := w.run(w.replica())
		time.Sleep(2 * pause)
		first()
		second()
		if n := len(w.to.of("example")); n != 320 {
			t.Errorf("%d tries of two replicas", n)
		}
	})
}

// A hook of the defaults is one of each team. While its receiver hangs, the hooks of others go on.
func TestAHangingDefaultHookHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		doc := "defaults: {hooks: [{id: all, url: \"https://hangs.example/hook\", events: [\"*\"], secret_file: a}]}\nteams:\n"
		for n := range 200 {
			doc += fmt.Sprintf("  - {id: t%d}\n", n)
		}
		doc += "  - {id: search, hooks: [{id: jobs, url: \"https://jobs.example/hook\", events: [\"*\"], secret_file: a}]}\n"
		w := newWorld(t, func(r *http.Request, _ int) (int, time.Duration) {
			if r.URL.Host == "hangs.example" {
				return 0, time.Hour
			}
			return 200, time.Millisecond
		})
		w.file = parse(t, doc)
		for n := range 200 {
			w.append(fmt.Sprint("t", n), 4)
		}
		stop := w.run(w.replica())
		defer stop()
		time.Sleep(2 * pause)
		if n := len(w.to.of("hangs.example")); n != perHost {
			t.Errorf("%d tries of the host that hangs", n)
		}
		w.append("search", 50)
		time.Sleep(2 * pause)
		if n := len(w.to.of("jobs.example")); n != 50 {
			t.Errorf("%d of 50 came to another", n)
		}
	})
}

// deadBox loses a replica: what it records never arrives.
type deadBox struct{ *box }

func (deadBox) Tried(context.Context, *event.Delivery, time.Duration) error { return errGone }

// A replica that dies between the try and its record means a second delivery of the same id and bytes, within 32 s.
func TestADeadReplicasLeaseIsTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, always(200))
		dead := w.replica()
		dead.Outbox = deadBox{w.box}
		w.append("search", 1)
		stop := w.run(dead)
		time.Sleep(pause)
		stop()
		stop = w.run(w.replica())
		time.Sleep(32 * time.Second)
		stop()
		tries := w.to.of("jobs.example")
		if len(tries) != 2 || tries[0].id != tries[1].id || tries[0].body != tries[1].body || tries[1].at.Sub(tries[0].at) > 32*time.Second {
			t.Fatalf("%+v", tries)
		}
		if got := w.box.states(); got[event.Delivered] != 1 {
			t.Errorf("%v", got)
		}
	})
}

// Three replicas share the work: nothing is tried by two.
func TestReplicasShareTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, always(204))
		var stops []func()
		for range 3 {
			stops = append(stops, w.run(w.replica()))
		}
		w.append("search", 300)
		time.Sleep(time.Minute)
		for _, stop := range stops {
			stop()
		}
		if n := len(w.to.of("jobs.example")); n != 300 || w.box.states()[event.Delivered] != 300 {
			t.Errorf("%d tries, %v", n, w.box.states())
		}
	})
}

// All replicas together have four tries of a hook under way, also when one of them records nothing.
func TestReplicasTogetherHaveFourUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var under, most atomic.Int64
		w := newWorld(t, func(*http.Request, int) (int, time.Duration) {
			if n := under.Add(1); n > most.Load() {
				most.Store(n)
			}
			time.AfterFunc(8*time.Second-time.Millisecond, func() { under.Add(-1) })
			return 200, 8 * time.Second
		})
		shared := event.NewMemory(event.DefaultBounds, time.Now)
		for range 40 {
			_, _ = shared.Append(t.Context(), &event.Draft{Type: event.TaskSucceeded, Team: "search", Data: []byte("{}"),
				To: w.file.Hooked("search", event.TaskSucceeded, "")})
		}
		var stops []func()
		for n := range 3 {
			d := w.replica()
			if d.Outbox = shared; n == 0 {
				d.Outbox = unrecorded{shared}
			}
			stops = append(stops, w.run(d))
		}
		// How often the replica that records nothing takes a delivery is up to chance: the others are waited for.
		waiting := func(d event.Delivery) bool { return d.State != event.Delivered }
		var list []event.Delivery
		for range 60 {
			time.Sleep(time.Minute)
			if list, _ = shared.Deliveries(t.Context(), "search", event.ID{}, 100); !slices.ContainsFunc(list, waiting) {
				break
			}
		}
		for _, stop := range stops {
			stop()
		}
		if len(list) != 40 || slices.ContainsFunc(list, waiting) {
			t.Errorf("%d deliveries: %+v", len(list), list)
		}
		if most.Load() != 4 {
			t.Errorf("%d under way at a time", most.Load())
		}
	})
}

// unrecorded is the outbox of a replica that records no try.
type unrecorded struct{ *event.Memory }

func (unrecorded) Tried(context.Context, *event.Delivery, time.Duration) error { return errGone }

// While the outbox is away nothing is lost, and deliveries go on when it is back.
func TestTheOutboxIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, always(200))
		w.append("search", 10)
		w.box.setAway(true)
		stop := w.run(w.replica())
		time.Sleep(time.Minute)
		if n := len(w.to.of("jobs.example")); n != 0 {
			t.Errorf("%d tries", n)
		}
		w.box.setAway(false)
		time.Sleep(2 * pause)
		stop()
		if got := w.box.states(); got[event.Delivered] != 10 {
			t.Errorf("%v", got)
		}
	})
}

// What is under way when a replica stops is ended and recorded.
func TestAStopCutsNoTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(*http.Request, int) (int, time.Duration) { return 200, 5 * time.Second })
		stop := w.run(w.replica())
		w.append("search", 2)
		time.Sleep(2 * pause)
		stop()
		if got := w.box.states(); got[event.Delivered] != 2 {
			t.Errorf("%v", got)
		}
	})
}

// A callback goes to its path below the hook's address, beside what the hook gets anyway.
func TestCallbacksGoBelowTheirHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, always(200))
		stop := w.run(w.replica())
		to := event.Address{Owner: "search", Hook: "jobs"}
		_, _ = w.box.Append(t.Context(), &event.Draft{Type: event.TaskFailed, Team: "search", Data: []byte("{}"),
			To: []event.Target{{Address: to}, {Address: to, Path: "shots/42?x=1"}}})
		time.Sleep(2 * pause)
		stop()
		got := map[string]bool{}
		for _, try := range w.to.of("jobs.example") {
			got[try.url] = true
		}
		if len(got) != 2 || !got["https://jobs.example/hook"] || !got["https://jobs.example/hook/shots/42?x=1"] {
			t.Errorf("%v", got)
		}
	})
}

// asked has a deliverer ask the outbox what waits.
func (w *world) asked(d *Deliverer) {
	d.mu.Lock()
	d.aged = time.Time{}
	d.mu.Unlock()
	d.age(w.Context())
}

// The age of what waits is the outbox's, whichever replica tried it last, and also if none has tried it. What another replica delivered
// waits no more. While the outbox is away, the age grows from what was known.
func TestTheOldestIsThatOfTheOutbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, always(500))
		d := w.replica()
		stop := w.run(d)
		w.append("search", 1)
		time.Sleep(2 * time.Second)
		w.asked(d)
		if got := d.Oldest()["jobs"]; got != 2*time.Second {
			t.Errorf("%v", got)
		}
		other := w.replica() // it never tried
		other.rooms()
		w.asked(other)
		if got := other.Oldest()["jobs"]; got != 2*time.Second {
			t.Errorf("%v, by another", got)
		}
		w.box.setAway(true)
		time.Sleep(30 * time.Second)
		w.asked(other)
		if got := other.Oldest()["jobs"]; got != 32*time.Second {
			t.Errorf("%v, away", got)
		}
		w.box.setAway(false)
		w.box.mu.Lock()
		w.box.list = nil // another replica delivered it
		w.box.mu.Unlock()
		time.Sleep(time.Minute)
		if got := d.Oldest()["jobs"]; got != 0 {
			t.Errorf("%v", got)
		}
		stop()
	})
}

// Waits lie a fifth around their time, from the first to the hourly ones.
func TestWaits(t *testing.T) {
	for tries, want := range map[int]time.Duration{1: 5 * time.Second, 2: 30 * time.Second, 3: 2 * time.Minute, 4: 10 * time.Minute,
		5: 30 * time.Minute, 6: time.Hour, 7: time.Hour, 500: time.Hour} {
		for roll, part := range map[float64]float64{0: 0.8, 0.5: 1, 1: 1.2} {
			if got := waitAfter(tries, roll); got != time.Duration(float64(want)*part) {
				t.Errorf("after %d tries, %v: %v", tries, strconv.FormatFloat(roll, 'g', -1, 64), got)
			}
		}
	}
}
