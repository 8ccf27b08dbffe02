package pages_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/gateway/console/access"
	"sluice/gateway/console/figures"
	"sluice/gateway/console/pages"
)

// stream is a browser that listens.
type stream struct {
	mu sync.Mutex
	*httptest.ResponseRecorder
}

func (s *stream) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ResponseRecorder.Write(b)
}

func (s *stream) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Body.String()
}

// counted counts how often the figures are read.
type counted struct {
	galleryFigures
	mu    sync.Mutex
	reads int
}

func (c *counted) Now(ctx context.Context, p access.Person, day bool) (figures.Now, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reads++
	return c.galleryFigures.Now(ctx, p, day)
}

func (c *counted) change(rate float64) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now.Rate = rate
	return c.reads
}

// TestLivePartsAreMadeOnceForAll: fifty viewers of the same page cost one reading, and get its changes.
func TestLivePartsAreMadeOnceForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		figures := &counted{galleryFigures: galleryFigures{day(12)}}
		deps := figures.deps()
		deps.Figures = figures
		h := pages.New(deps)
		ctx, leave := context.WithCancel(access.With(t.Context(), operator))
		browsers, gone := make([]*stream, 50), sync.WaitGroup{}
		for i := range browsers {
			browsers[i] = &stream{ResponseRecorder: httptest.NewRecorder()}
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/now", http.NoBody)
			r.Header.Set("Accept", "text/html, text/event-stream")
			gone.Go(func() { h.ServeHTTP(browsers[i], r) })
		}
		synctest.Wait()
		before := figures.change(77.7)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if reads := figures.change(77.7) - before; reads > 6 {
			t.Errorf("%d readings in 10 s", reads)
		}
		for _, b := range browsers {
			if text := b.text(); strings.Count(text, "\n\n") != 2 || !strings.Contains(text, "<b>77.7</b>") || strings.Contains(text, "<html") {
				t.Fatalf("a browser got %d events: %s", strings.Count(text, "\n\n"), text)
			}
		}
		leave()
		gone.Wait()
		synctest.Wait()
		after := figures.change(1)
		time.Sleep(time.Minute)
		if figures.change(1) != after {
			t.Error("figures are read although no browser listens")
		}
	})
}

// slow are figures that take a while.
type slow struct {
	*counted
	takes time.Duration
}

func (s slow) Now(ctx context.Context, p access.Person, day bool) (figures.Now, error) {
	time.Sleep(s.takes)
	return s.counted.Now(ctx, p, day)
}

// TestLivePartsThatAreSlowToMakeAreMadeLessOften, so that few requests wait for the same core; but at least every ten seconds. A
// browser that joins a listened part causes no rendering.
func TestLivePartsThatAreSlowToMakeAreMadeLessOften(t *testing.T) {
	for takes, want := range map[time.Duration]int{time.Millisecond: 30, 20 * time.Millisecond: 10, time.Second: 6} {
		synctest.Test(t, func(t *testing.T) {
			figures := slow{&counted{galleryFigures: galleryFigures{day(12)}}, takes}
			deps := figures.deps()
			deps.Figures = figures
			h := pages.New(deps)
			listen := func() {
				r := httptest.NewRequest(http.MethodGet, "/now", http.NoBody)
				r.Header.Set("Accept", "text/event-stream")
				h.ServeHTTP(httptest.NewRecorder(), r.WithContext(access.With(r.Context(), operator)))
			}
			var listening sync.WaitGroup
			for range 20 {
				listening.Go(listen)
				time.Sleep(2 * time.Second)
			}
			listening.Wait()                                                               // 98 s after the first
			if reads := figures.change(0); reads < want*95/60-1 || reads > want*100/60+2 { // one before the first stream began
				t.Errorf("what takes %v was made %d times in 98 s, want %d in 60", takes, reads, want)
			}
			time.Sleep(time.Minute)
		})
	}
}

// TestLivePartsEndInTime, so that the browser reconnects and its session is checked.
func TestLivePartsEndInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := day(12)
		r := httptest.NewRequest(http.MethodGet, "/tasks", http.NoBody)
		r.Header.Set("Accept", "text/event-stream")
		begun := time.Now()
		w := httptest.NewRecorder()
		g.handler(operator).ServeHTTP(w, r)
		if took := time.Since(begun); took != time.Minute || w.Header().Get("Content-Type") != "text/event-stream" {
			t.Errorf("it took %v, as %s", took, w.Header().Get("Content-Type"))
		}
	})
}

// ending has one task, which can end.
type ending struct {
	galleryFigures
	mu    sync.Mutex
	state string
}

func (e *ending) Task(ctx context.Context, p access.Person, team, id string) (figures.Task, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.state == "" {
		return figures.Task{}, figures.ErrAbsent
	}
	t := &e.tasks[0]
	t.State, t.Open = e.state, e.state == "RUNNING"
	if !t.Open {
		t.Ended = noon
	}
	return e.galleryFigures.Task(ctx, p, team, id)
}

func (e *ending) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.state = "SUCCEEDED"
}

// forget makes the task expire in Sluice.
func (e *ending) forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.state = ""
}

func newEnding(g *gallery) (e *ending, h http.Handler, path string) {
	e = &ending{galleryFigures: galleryFigures{g}, state: "RUNNING"}
	deps := g.deps()
	deps.Figures = e
	return e, as(pages.New(deps), operator), "/teams/" + g.tasks[0].Team + "/tasks/" + g.tasks[0].ID
}

// TestTheStreamOfATaskThatHasEnded: a browser that reconnects must get an end, or it reconnects forever.
func TestTheStreamOfATaskThatHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, h, path := newEnding(day(12))
		e.end()
		r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
		r.Header.Set("Accept", "text/html, text/event-stream")
		w := httptest.NewRecorder()
		begun := time.Now()
		h.ServeHTTP(w, r)
		if text := w.Body.String(); w.Header().Get("Content-Type") != "text/event-stream" ||
			!strings.HasSuffix(text, "\n\nevent: over\ndata:\n\n") || strings.Contains(text, "<html") || time.Since(begun) != 0 {
			t.Errorf("after %v, as %s: %.60q … %q", time.Since(begun), w.Header().Get("Content-Type"), text, text[max(len(text)-40, 0):])
		}
	})
}

// polled are tasks of which one was polled between two readings.
type polled struct {
	galleryFigures
	mu sync.Mutex
}

func (p *polled) TaskList(ctx context.Context, who access.Person, f figures.TaskFilter) (figures.TaskList, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tasks[7].PollsServed++
	return p.galleryFigures.TaskList(ctx, who, f)
}

// TestAListOfTasksSendsItsChangedRowsAlone: of a hundred rows one changed.
func TestAListOfTasksSendsItsChangedRowsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := day(1000)
		deps := g.deps()
		deps.Figures = &polled{galleryFigures: galleryFigures{g}}
		r := httptest.NewRequest(http.MethodGet, "/tasks", http.NoBody)
		r.Header.Set("Accept", "text/event-stream")
		w := httptest.NewRecorder()
		pages.New(deps).ServeHTTP(w, r.WithContext(access.With(r.Context(), operator)))
		events := strings.SplitAfter(w.Body.String(), "\n\n")
		whole, next := len(events[0]), 0
		for _, event := range events[1:] {
			next = max(next, len(event))
		}
		t.Logf("the whole list has %d bytes, the largest of %d changes %d", whole, len(events)-2, next)
		if len(events) < 20 || next > whole/20 {
			t.Errorf("%d events; the whole list has %d bytes, a change %d", len(events), whole, next)
		}
	})
}
