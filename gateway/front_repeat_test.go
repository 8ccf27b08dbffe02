package gateway_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/cache"
)

// easel is a service that makes tasks t1, t2, … and lets a test hold or refuse a creation.
type easel struct {
	mu    sync.Mutex
	made  int
	asked int
	ends  func(n int) (status int, hold <-chan struct{}) // of creation n; nil: each succeeds immediately
}

func (e *easel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/json")
	if r.Method == "GET" {
		id := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		_, _ = fmt.Fprintf(w, `{"request_id":"r","output":{"task_id":"%s","task_status":"SUCCEEDED","choices":[{"finish_reason":"stop",`+
			`"message":{"role":"assistant","content":[{"image":"https://x.example/%s.png","type":"image"}]}}]},"usage":{"image_count":1}}`, id, id)
		return
	}
	status, hold := http.StatusOK, (<-chan struct{})(nil)
	if n := e.count(&e.asked, 1); e.ends != nil {
		status, hold = e.ends(n)
	}
	if hold != nil {
		<-hold
	}
	if status != http.StatusOK {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"code":"Throttling.RateQuota","message":"slow down","request_id":"r"}`)
		return
	}
	_, _ = fmt.Fprintf(w, `{"request_id":"r","output":{"task_id":"t%d","task_status":"PENDING"}}`, e.count(&e.made, 1))
}

func (e *easel) count(n *int, more int) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	*n += more
	return *n
}

// on has a gateway use the easel as its service.
func (e *easel) on(p *plan) { p.upstream = e }

const onePicture = `{"model":"gen2.5-t2i","prompt":"A lighthouse","n":1,"size":"1024x1024"}`

// attempt sends an attempt of a library.
func (h *harness) attempt(number int) reading {
	return h.ask("POST", frontImages, onePicture, "X-Stainless-Retry-Count", strconv.Itoa(number))
}

func (r reading) task() string { return r.header.Get("Sluice-Task") }

// A call that the service refused is repeated: that is a creation of its own, and not the task of an equal call before it.
func TestFrontARefusedCallGetsNoOtherCallsTask(t *testing.T) {
	parallel(t)
	e := &easel{ends: func(n int) (int, <-chan struct{}) {
		if n == 2 {
			return http.StatusTooManyRequests, nil
		}
		return http.StatusOK, nil
	}}
	h := painting(t, e.on)
	first := h.attempt(0)
	if refused := h.attempt(0); refused.status != http.StatusTooManyRequests {
		t.Fatalf("%d %s", refused.status, refused.body)
	}
	if second := h.attempt(1); second.status != http.StatusOK || second.task() == first.task() || e.count(&e.asked, 0) != 3 {
		t.Errorf("%d: the tasks %s and %s, %d creations asked", second.status, first.task(), second.task(), e.asked)
	}
	if again := h.attempt(1); again.task() != first.task() || e.count(&e.asked, 0) != 3 {
		t.Errorf("the first call's repetition got %s, %d creations asked", again.task(), e.asked)
	}
}

// A repetition finds its task, however many equal requests were refused after it; requests that do not number their attempts
// leave nothing behind, and calls that do get one task each.
func TestFrontRefusedCallsHideNoTask(t *testing.T) {
	parallel(t)
	for about, header := range map[string][]string{"not counted": nil, "counted": {"X-Stainless-Retry-Count", "0"}} {
		t.Run(about, func(t *testing.T) {
			hold := make(chan struct{})
			e := &easel{ends: func(n int) (int, <-chan struct{}) {
				if n == 1 || n > 21 {
					return http.StatusOK, nil
				}
				return http.StatusTooManyRequests, hold
			}}
			h := painting(t, limited("quotas: {images: {day: 100}}"), e.on)
			tasks := []string{h.attempt(0).task()}
			var group sync.WaitGroup
			for range 20 {
				group.Go(func() { h.ask("POST", frontImages, onePicture, header...) })
			}
			for e.count(&e.asked, 0) < 21 {
				time.Sleep(time.Millisecond)
			}
			close(hold)
			group.Wait()
			want := 1
			if header != nil {
				want = 21
				for range 20 {
					tasks = append(tasks, h.attempt(1).task())
				}
			}
			last := h.attempt(1).task()
			slices.Sort(tasks)
			if len(slices.Compact(tasks)) != want || last != "t1" || e.count(&e.made, 0) != want {
				t.Errorf("tasks %v, the first call's %s, %d made", tasks, last, e.made)
			}
		})
	}
}

// Equal calls run concurrently, and all clients repeat them more than once: each gets a task of its own.
func TestFrontEqualCallsAtOnceAreEachPaidOnce(t *testing.T) {
	parallel(t)
	const calls = 4
	hold := make(chan struct{})
	e := &easel{ends: func(int) (int, <-chan struct{}) { return http.StatusOK, hold }}
	h := painting(t, e.on)
	impatient := func(number int, until func()) {
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		var group sync.WaitGroup
		for range calls {
			group.Go(func() {
				r := h.request("POST", frontImages, onePicture, "X-Stainless-Retry-Count", strconv.Itoa(number))
				if resp, err := h.client.Do(r.WithContext(ctx)); err == nil {
					_ = resp.Body.Close()
				}
			})
		}
		until()
		leave()
		group.Wait()
	}
	impatient(0, func() { // a client that leaves sooner may not be heard
		for e.count(&e.asked, 0) < calls {
			time.Sleep(time.Millisecond)
		}
	})
	impatient(1, func() { time.Sleep(300 * time.Millisecond) }) // they wait for the first, which cannot be seen from outside
	tasks := make([]string, calls)
	var group sync.WaitGroup
	for i := range tasks {
		group.Go(func() { tasks[i] = h.attempt(2).task() })
	}
	close(hold)
	group.Wait()
	slices.Sort(tasks)
	if len(slices.Compact(tasks)) != calls || e.count(&e.made, 0) != calls {
		t.Errorf("%d tasks made, the clients got %v", e.made, tasks)
	}
}

// A first attempt may reach its handler only after its client has given it up and its repetition has arrived, as when the process
// was suspended. They make one task.
func TestFrontLateFirstAttemptMakesNoTask(t *testing.T) {
	parallel(t)
	e := &easel{}
	var gates sync.Map // from a header to the channel that its requests wait for
	h := painting(t, e.on, func(p *plan) {
		p.wrap = func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if gate, ok := gates.Load(r.Header.Get("X-Gate")); ok {
					<-gate.(chan struct{})
				}
				next.ServeHTTP(w, r)
			})
		}
	})
	const rounds = 30
	for round := range rounds {
		name, gate := strconv.Itoa(round), make(chan struct{})
		gates.Store(name, gate)
		body := strings.Replace(onePicture, "lighthouse", "mill "+name, 1)
		conn := h.dial()
		if err := h.request("POST", frontImages, body, "X-Gate", name, "X-Stainless-Retry-Count", "0").Write(conn); err != nil {
			t.Fatal(err)
		}
		_ = conn.Close()
		var group sync.WaitGroup
		group.Go(func() { h.ask("POST", frontImages, body, "X-Gate", name, "X-Stainless-Retry-Count", "1") })
		time.Sleep(5 * time.Millisecond)
		close(gate)
		group.Wait()
	}
	h.records.await(t, 2*rounds)
	if n := e.count(&e.made, 0); n != rounds {
		t.Errorf("%d tasks paid for %d calls", n, rounds)
	}
}

// Behind a proxy the gateway cannot see that a client has left. A first attempt that arrives after its repetition gets the
// repetition's task, and makes none; the next call, and one that does not number its attempts, makes its own.
func TestFrontALateFirstAttemptGetsTheTaskOfItsRepetition(t *testing.T) {
	parallel(t)
	e := &easel{}
	h := painting(t, e.on)
	repeated, uncounted, late, next := h.attempt(1), h.ask("POST", frontImages, onePicture), h.attempt(0), h.attempt(0)
	if late.status != http.StatusOK || late.body != repeated.body || late.task() != repeated.task() {
		t.Errorf("%d: %s after %s", late.status, late.task(), repeated.task())
	}
	if next.task() == repeated.task() || uncounted.task() == repeated.task() || e.count(&e.made, 0) != 3 {
		t.Errorf("tasks %s, %s, %s, %s; %d made", repeated.task(), uncounted.task(), late.task(), next.task(), e.made)
	}
}

// A call that is refused for lack of memory is repeated: the repetition makes a task of its own and does not get that of an equal
// call before it, and no later call is taken for its first attempt. The body is not held for this, whenever the memory ran out.
func TestFrontACallRefusedForMemoryGetsNoOtherCallsTask(t *testing.T) {
	parallel(t)
	const unit = 1 << 18 // bytes
	edit, kind := form(t, "one", "model", "gen2.5-t2i", "prompt", "Winter")
	edit = strings.Replace(edit, "\r\n--one--", strings.Repeat("\x00", 3*unit)+"\r\n--one--", 1)
	generation := strings.Replace(onePicture, "{", "{"+strings.Repeat(" ", 3*unit), 1)
	for about, held := range map[string]int{"before the body": 8 * unit, "within the body": 7 * unit, "behind the body": 4*unit + unit/2} {
		for path, body := range map[string]string{frontImages: generation, frontEdits: edit} {
			t.Run(about+path, func(t *testing.T) {
				asked, release := make(chan struct{}, 9), make(chan struct{})
				e := &easel{}
				h := painting(t, func(p *plan) {
					p.config.MaxBody, p.config.BodyBudget = 8*unit, 16*unit // half of it is the team's
					p.upstream = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						if strings.Contains(r.URL.Path, "text-generation") {
							_, _ = io.Copy(io.Discard, r.Body)
							asked <- struct{}{}
							<-release
							return
						}
						e.ServeHTTP(w, r)
					})
				})
				attempt := func(number string) reading {
					return h.ask("POST", path, body, "Content-Type", map[string]string{frontImages: "application/json", frontEdits: kind}[path],
						"X-Stainless-Retry-Count", number)
				}
				first := attempt("0")
				var others sync.WaitGroup
				others.Go(func() {
					h.ask("POST", textPath, strings.Replace(textBody, "{", "{"+strings.Repeat(" ", held-len(textBody)), 1))
				})
				<-asked
				for range 2 {
					if refused := attempt("0"); refused.status != http.StatusServiceUnavailable ||
						refused.header.Get("Sluice-Refusal") != "throttle/memory" {
						t.Errorf("%d %s", refused.status, refused.body)
					}
				}
				close(release)
				others.Wait()
				second, third, again := attempt("1"), attempt("1"), attempt("1")
				if first.task() == "" || second.task() == first.task() || third.task() == first.task() || third.task() == second.task() ||
					again.task() != first.task() {
					t.Errorf("the tasks %s, %s, %s and %s again", first.task(), second.task(), third.task(), again.task())
				}
				if next := attempt("0"); next.task() == "" || e.count(&e.made, 0) != 4 {
					t.Errorf("the next call: %d %s, %d made", next.status, next.task(), e.made)
				}
			})
		}
	}
}

// farOutcomes are as slow as Redis.
type farOutcomes struct{ *cache.Outcomes }

func (o farOutcomes) Join(ctx context.Context, all cache.IdempotencyName, body [sha256.Size]byte, a cache.Attempt) (cache.IdempotencyName,
	cache.Outcome, bool, error) {
	defer time.Sleep(2 * time.Millisecond)
	return o.Outcomes.Join(ctx, all, body, a)
}

// Repetitions that arrive together, and whose first attempt is not known, make one task.
func TestFrontRepetitionsTogetherMakeOneTask(t *testing.T) {
	e := &easel{}
	h := painting(t, e.on, func(p *plan) { p.outcomes = farOutcomes{cache.NewOutcomes(24*time.Hour, time.Now)} })
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() { h.attempt(1 + i%2) })
	}
	group.Wait()
	if n := e.count(&e.made, 0); n != 1 {
		t.Errorf("%d tasks paid for repetitions of one call", n)
	}
}

// A creation's answer that names a task and no state of it: the task is awaited.
func TestFrontAwaitsATaskWithoutAState(t *testing.T) {
	h := painting(t, func(p *plan) {
		p.upstream = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if r.Method == "GET" {
				_, _ = io.WriteString(w, `{"request_id":"r","output":{"task_id":"t1","task_status":"SUCCEEDED",`+
					`"results":[{"url":"https://x.example/1.png"}]},"usage":{"image_count":1}}`)
				return
			}
			_, _ = io.WriteString(w, `{"request_id":"r","output":{"task_id":"t1"}}`)
		})
	})
	if got := h.attempt(0); got.status != http.StatusOK || got.task() != "t1" || !strings.Contains(got.body, "https://x.example/1.png") {
		t.Errorf("%d %s %v", got.status, got.body, got.header)
	}
}

// A repetition gets the task that its first attempt paid for, also if another request of the team was refused for a quota a moment
// ago; a request that repeats none is refused as before.
func TestFrontARememberedRefusalHidesNoTask(t *testing.T) {
	e := &easel{}
	h := painting(t, limited("quotas: {requests: {day: 1}}"), e.on)
	first := h.attempt(0)
	h.ask("POST", frontChats, frontChat).wantsOpenAI(t, 429, "rate_limit_error", "insufficient_quota", "")
	if again := h.attempt(1); again.body != first.body {
		t.Errorf("%d %s %s", again.status, again.header.Get("Sluice-Refusal"), again.body)
	}
	h.attempt(0).wantsOpenAI(t, 429, "rate_limit_error", "insufficient_quota", "")
}

// A call that was refused because too many of its team were in flight is repeated: that is a task of its own, and not the task of an
// equal call that was in flight.
func TestFrontACallRefusedUnreadGetsNoOtherCallsTask(t *testing.T) {
	parallel(t)
	hold := make(chan struct{})
	e := &easel{ends: func(int) (int, <-chan struct{}) { return http.StatusOK, hold }}
	h := painting(t, limited("concurrent: 1"), e.on)
	first := make(chan reading, 1)
	go func() { first <- h.attempt(0) }()
	for e.count(&e.asked, 0) < 1 {
		time.Sleep(time.Millisecond)
	}
	for number := range 2 {
		if refused := h.attempt(number); refused.status != http.StatusTooManyRequests ||
			refused.header.Get("Sluice-Refusal") != "throttle/concurrent" {
			t.Fatalf("%d %s", refused.status, refused.body)
		}
	}
	close(hold)
	one, two, again := <-first, h.attempt(2), h.attempt(1)
	if one.task() == "" || two.task() == "" || one.task() == two.task() || again.task() != one.task() || e.count(&e.made, 0) != 2 {
		t.Errorf("%d: tasks %s, %s and %s again, %d made", two.status, one.task(), two.task(), again.task(), e.made)
	}
}

// leftOutcomes report clients that left.
type leftOutcomes struct {
	*cache.Outcomes
	left chan cache.IdempotencyName
}

func (o leftOutcomes) Leave(ctx context.Context, name cache.IdempotencyName) {
	o.Outcomes.Leave(ctx, name)
	o.left <- name
}

// A client that gives its request up and repeats it gets the task that it paid for: not that of an equal call whose client still
// waits, and not another in place of an equal call that was refused and is not repeated.
func TestFrontARepetitionTakesTheCallThatWasGivenUp(t *testing.T) {
	parallel(t)
	for about, other := range map[string]int{"one waits": http.StatusOK, "one was refused": http.StatusTooManyRequests} {
		t.Run(about, func(t *testing.T) {
			hold := make(chan struct{})
			e := &easel{ends: func(n int) (int, <-chan struct{}) {
				if n == 2 && other != http.StatusOK {
					return other, nil
				}
				return http.StatusOK, hold
			}}
			store := leftOutcomes{cache.NewOutcomes(24*time.Hour, time.Now), make(chan cache.IdempotencyName, 9)}
			h := painting(t, e.on, func(p *plan) { p.outcomes = store })
			ctx, leave := context.WithCancel(t.Context())
			var all sync.WaitGroup
			all.Go(func() {
				if resp, err := h.client.Do(h.request("POST", frontImages, onePicture, "X-Stainless-Retry-Count", "0").WithContext(ctx)); err == nil {
					_ = resp.Body.Close()
				}
			})
			asked := func(n int) {
				for e.count(&e.asked, 0) < n {
					time.Sleep(time.Millisecond)
				}
			}
			asked(1)
			var second, again reading
			all.Go(func() { second = h.attempt(0) })
			asked(2)
			leave()
			<-store.left
			all.Go(func() { again = h.attempt(1) })
			time.Sleep(20 * time.Millisecond) // it waits for the first, or asks for another
			close(hold)
			all.Wait()
			made := 2
			if other != http.StatusOK {
				made = 1
			}
			if again.status != http.StatusOK || second.status != other || again.task() == second.task() || e.count(&e.made, 0) != made {
				t.Errorf("%d and %d: %s after %s, %d made, want %d", again.status, second.status, again.task(), second.task(), e.made, made)
			}
		})
	}
}
