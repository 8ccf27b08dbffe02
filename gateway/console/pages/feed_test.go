package pages

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sluice/gateway/console/access"
)

// deadlined is a browser whose connection has a deadline for writing.
type deadlined struct {
	*httptest.ResponseRecorder
	deadline time.Time
}

func (d *deadlined) SetWriteDeadline(t time.Time) error {
	d.deadline = t
	return nil
}

// listen follows a live part until the stream ends, and returns its events.
func listen(f *feeds, w http.ResponseWriter, path, who string, render func(*http.Request) (part, error)) {
	f.follow(w, httptest.NewRequest(http.MethodGet, path, http.NoBody), access.Person{Name: who, Role: access.Operator}, render)
}

func always(text string) func(*http.Request) (part, error) {
	return func(*http.Request) (part, error) { return part{text: []byte(text)}, nil }
}

// TestALineEndOfATextDoesNotEndAnEvent: browsers accept each kind of line end, and an empty line ends the event.
func TestALineEndOfATextDoesNotEndAnEvent(t *testing.T) {
	got := string(eventOf(part{text: []byte("a\r\rb\rdata: c\r\n\ne")}))
	if want := "data: a\ndata: \ndata: b\ndata: data: c\ndata: \ndata: e\n\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// opened is what every stream begins with: a comment.
const opened = ":\n"

// TestAStreamThatIsStillHasNoDeadline: on HTTP/2 an expired one ends the stream, even if nothing is being written.
func TestAStreamThatIsStillHasNoDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &deadlined{ResponseRecorder: httptest.NewRecorder()}
		listen(newFeeds(), w, "/now", "alice", always("x"))
		if w.Body.String() != opened+"data: x\n\n" || !w.deadline.IsZero() {
			t.Errorf("after %q the deadline is %v", w.Body, w.deadline)
		}
	})
}

// TestAFaultInALivePart ends only that part: nothing else catches it outside a request.
func TestAFaultInALivePart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		times := 0
		w := httptest.NewRecorder()
		listen(newFeeds(), w, "/now", "alice", func(*http.Request) (part, error) {
			if times++; times == 2 {
				panic("a mill without wind")
			}
			return part{text: fmt.Append(nil, times)}, nil
		})
		if got := w.Body.String(); !strings.HasPrefix(got, opened+"data: 1\n\ndata: 3\n\n") {
			t.Errorf("%.40q", got)
		}
	})
}

// TestALivePartThatIsOverSaysSo and is not made again.
func TestALivePartThatIsOverSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		times, begun := 0, time.Now()
		w := httptest.NewRecorder()
		f := newFeeds()
		listen(f, w, "/teams/search/tasks/1", "alice", func(*http.Request) (part, error) {
			times++
			return part{text: fmt.Append(nil, times), over: times == 3}, nil
		})
		if got, want := w.Body.String(), opened+"data: 1\n\ndata: 2\n\ndata: 3\n\nevent: over\ndata:\n\n"; got != want || time.Since(begun) != 2*liveEvery {
			t.Errorf("after %v: %q, want %q", time.Since(begun), got, want)
		}
		time.Sleep(time.Minute)
		if times != 3 || len(f.open) != 0 {
			t.Errorf("it was made %d times, %d parts are open", times, len(f.open))
		}
	})
}

// TestOnePersonCannotTakeAllLiveParts from the others.
func TestOnePersonCannotTakeAllLiveParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeeds()
		refused := 0
		for i := range mostFeeds + 10 {
			w := httptest.NewRecorder()
			done := make(chan struct{})
			go func() {
				defer close(done)
				listen(f, w, fmt.Sprint("/requests?x=", i), "mallory", always("x"))
			}()
			synctest.Wait()
			if w.Code == http.StatusServiceUnavailable {
				refused++
			}
		}
		w := httptest.NewRecorder()
		listen(f, w, "/now", "alice", always("x"))
		if w.Code != http.StatusOK || refused != mostFeeds+10-mostOfOne {
			t.Errorf("alice gets %d; %d parts of mallory were refused", w.Code, refused)
		}
		synctest.Wait()
	})
}

// TestALivePartThatCannotBeMade keeps its last content.
func TestALivePartThatCannotBeMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		times := 0
		w := httptest.NewRecorder()
		listen(newFeeds(), w, "/now", "alice", func(r *http.Request) (part, error) {
			if times++; times > 1 {
				return part{}, errors.Join(errors.New("Redis is away"), context.Cause(r.Context()))
			}
			return part{text: []byte("x")}, nil
		})
		if got := w.Body.String(); got != opened+"data: x\n\n" {
			t.Errorf("%q", got)
		}
	})
}

// TestALivePartThatTakesLongIsMadeLessOften, so that pages take little from the gateway beside them.
func TestALivePartThatTakesLongIsMadeLessOften(t *testing.T) {
	for took, want := range map[time.Duration]int64{0: 30, 5 * time.Millisecond: 30, 10 * time.Millisecond: 20, 100 * time.Millisecond: 6, time.Second: 5, time.Minute: 1} {
		synctest.Test(t, func(t *testing.T) {
			var times atomic.Int64
			listen(newFeeds(), httptest.NewRecorder(), "/requests", "alice", func(*http.Request) (part, error) {
				times.Add(1)
				time.Sleep(took)
				return part{text: []byte("x")}, nil
			})
			if n := times.Load(); n != want && n != want+1 {
				t.Errorf("one that takes %v is made %d times a minute, want %d", took, n, want)
			}
			time.Sleep(2 * time.Minute) // the last one ends
		})
	}
}
