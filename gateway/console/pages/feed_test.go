package pages

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
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

// heard is a browser whose text is read while it follows.
type heard struct {
	*httptest.ResponseRecorder
	mu sync.Mutex
}

func (h *heard) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ResponseRecorder.Write(b)
}

func (h *heard) text() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.Body.String()
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

// applied is what a browser makes of a patch.
func applied(t *testing.T, was part, patch []byte) string {
	t.Helper()
	old, is := linesOf(was), []string(nil)
	for i, line := range strings.Split(strings.TrimSuffix(string(patch), "\n\n"), "\n") {
		line = strings.TrimPrefix(line, "data: ")
		var from, count int
		switch {
		case i == 0 && line == "patch":
		case strings.HasPrefix(line, "+"):
			is = append(is, line[1:])
		default:
			if _, err := fmt.Sscanf(line, "=%d %d", &from, &count); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			is = append(is, old[from:from+count]...)
		}
	}
	return strings.Join(is, "\n")
}

// TestAPatchHasTheChangedLinesAlone: new rows come first, others move, change and go.
func TestAPatchHasTheChangedLinesAlone(t *testing.T) {
	row := func(n int) string {
		return fmt.Sprintf("<tr id=\"r-%d\">\n<td>the request %d, which is long enough</td>\n</tr>\n", n, n)
	}
	text := func(rows ...int) part {
		all := ""
		for _, n := range rows {
			all += row(n)
		}
		p := part{text: []byte("<table>\n" + all + "</table>\n")}
		p.event = eventOf(p)
		return p
	}
	was, is := text(9, 8, 7, 6, 5, 4, 3, 2, 1), text(11, 10, 9, 8, 7, 3, 6, 5, 4)
	patch := patchOf(was, is)
	if got := applied(t, was, patch); got != strings.TrimSuffix(string(is.text), "\n") || 2*len(patch) > len(is.event) {
		t.Errorf("%d bytes of %d: %s\n%s", len(patch), len(is.event), patch, got)
	}
	if patch := patchOf(was, text(20, 19, 18)); patch != nil {
		t.Errorf("a part of new rows comes as a patch: %s", patch)
	}
}

// TestAFollowerGetsPatchesAfterTheWhole, and one that joins late gets the whole first.
func TestAFollowerGetsPatchesAfterTheWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, times := newFeeds(), 0
		render := func(*http.Request) (part, error) {
			times++
			return part{text: fmt.Appendf(nil, "%s\n%d\nend", strings.Repeat("x", 200), times)}, nil
		}
		early, late := &heard{ResponseRecorder: httptest.NewRecorder()}, &heard{ResponseRecorder: httptest.NewRecorder()}
		go listen(f, early, "/tasks", "alice", render)
		time.Sleep(liveEvery + time.Second)
		go listen(f, late, "/tasks", "alice", render)
		time.Sleep(liveEvery)
		synctest.Wait()
		if got := early.text(); strings.Count(got, "xxx") == 0 || strings.Count(got, strings.Repeat("x", 200)) != 1 ||
			!strings.HasSuffix(got, "data: patch\ndata: =0 1\ndata: +3\ndata: =2 1\n\n") {
			t.Errorf("the first got %q", got)
		}
		if got := late.text(); !strings.HasPrefix(got, opened+"data: xxx") || !strings.HasSuffix(got, "\ndata: +3\ndata: =2 1\n\n") {
			t.Errorf("the second got %q", got)
		}
		time.Sleep(2 * time.Minute)
	})
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
		if got, want := w.Body.String(), opened+"data: 1\n\ndata: 2\n\ndata: 3\n\nevent: over\ndata:\n\n"; got != want ||
			time.Since(begun) != 2*liveEvery {
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
	for took, want := range map[time.Duration]int64{0: 30, 5 * time.Millisecond: 30, 10 * time.Millisecond: 20, 100 * time.Millisecond: 6,
		time.Second: 5, time.Minute: 1} {
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
