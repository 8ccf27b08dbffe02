package pages

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"sluice/gateway/console/access"
)

const (
	liveEvery   = 2 * time.Second  // how often a live part is made again at most
	liveLeast   = 10 * time.Second // and at least
	liveTimes   = 300              // the time between two of any part, by what making one took: few requests wait for it
	liveFor     = time.Minute      // then the browser asks again, and its session is checked again
	livePatient = 10 * time.Second // for one write to a browser
	mostFeeds   = 200              // different live parts at once
	mostOfOne   = 20               // of them those that one person began; hidden tabs have none
)

// feeds make the live parts of pages. All who look at the same page with the same rights share one feed, so that its figures
// are read once however many look.
type feeds struct {
	mu   sync.Mutex
	open map[string]*feed
}

// feed is one live part.
type feed struct {
	by        string // who began it
	listeners int    // guarded by feeds.mu, as the rest
	now       part
	changed   chan struct{} // closed when now is another
	stop      context.CancelFunc
}

// part is a live part as it is now.
type part struct {
	text  []byte
	over  bool   // it does not change any more
	event []byte // that says so; made once for all who follow
}

func newFeeds() *feeds { return &feeds{open: map[string]*feed{}} }

// feedName is equal for requests whose answers are equal.
func feedName(r *http.Request, p access.Person) string {
	return fmt.Sprintf("%d %q %s", p.Role, p.Teams, r.URL.RequestURI())
}

// follow sends a live part as server-sent events: at once, and whenever it changes. A part that is over is followed by the event
// "over".
func (f *feeds) follow(w http.ResponseWriter, r *http.Request, p access.Person, render func(*http.Request) (part, error)) {
	name := feedName(r, p)
	one := f.join(r, name, p.Name, render)
	if one == nil {
		w.Header().Set("Retry-After", "60")
		http.Error(w, "Too many pages are open.", http.StatusServiceUnavailable)
		return
	}
	defer f.leave(name, one)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	ctx, cancel := context.WithTimeout(r.Context(), liveFor)
	defer cancel()
	out := http.NewResponseController(w)
	_ = out.Flush() // the browser knows that it is connected
	for {
		now, changed := f.current(one)
		if now.text != nil && send(w, out, now) != nil || now.over {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// send writes a part as an event. The deadline is for this write alone: on HTTP/2 one that passes ends the stream, also if nothing
// is being written.
func send(w http.ResponseWriter, out *http.ResponseController, p part) error {
	_ = out.SetWriteDeadline(time.Now().Add(livePatient)) // a writer without deadlines has none
	_, err := w.Write(p.event)
	if err == nil {
		err = out.Flush()
	}
	_ = out.SetWriteDeadline(time.Time{})
	return err
}

// has reports whether somebody follows a feed.
func (f *feeds) has(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open[name] != nil
}

func (f *feeds) current(one *feed) (part, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return one.now, one.changed
}

// join finds or starts a feed; nil: there are too many.
func (f *feeds) join(r *http.Request, name, by string, render func(*http.Request) (part, error)) *feed {
	f.mu.Lock()
	defer f.mu.Unlock()
	one := f.open[name]
	if one == nil {
		if len(f.open) >= mostFeeds || f.begunBy(by) >= mostOfOne {
			return nil
		}
		ctx, stop := context.WithCancel(context.WithoutCancel(r.Context()))
		one = &feed{by: by, changed: make(chan struct{}), stop: stop}
		f.open[name] = one
		go f.run(r.Clone(ctx), one, render)
	}
	one.listeners++
	return one
}

// begunBy counts the feeds that a person began.
func (f *feeds) begunBy(person string) (n int) {
	for _, one := range f.open {
		if one.by == person {
			n++
		}
	}
	return n
}

func (f *feeds) leave(name string, one *feed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if one.listeners--; one.listeners == 0 {
		one.stop()
		delete(f.open, name)
	}
}

// run makes the part again and again, until it is over. While it cannot be made, the last one stays, with its time.
func (f *feeds) run(r *http.Request, one *feed, render func(*http.Request) (part, error)) {
	for {
		begun := time.Now()
		made, err := rendered(r, render)
		f.mu.Lock()
		rest := time.Duration(liveTimes*len(f.open)) * time.Since(begun)
		if err == nil && (made.over || !bytes.Equal(made.text, one.now.text)) {
			made.event = eventOf(made)
			one.now = made
			close(one.changed)
			one.changed = make(chan struct{})
		}
		f.mu.Unlock()
		if err == nil && made.over {
			return
		}
		select {
		case <-time.After(max(liveEvery, min(rest, liveLeast))):
		case <-r.Context().Done():
			return
		}
	}
}

// rendered makes the part. A fault in it must not end the process: outside a request nothing else catches it.
func rendered(r *http.Request, render func(*http.Request) (part, error)) (made part, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("the live part cannot be made: %v", fault)
		}
	}()
	return render(r)
}

// lineEnds are those of texts: a browser takes each of them for the end of a line of an event.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// eventOf writes a part as an event without a name, and behind it one that says that it is over.
func eventOf(p part) []byte {
	var b []byte
	for line := range strings.SplitSeq(strings.TrimSuffix(lineEnds.Replace(string(p.text)), "\n"), "\n") {
		b = append(append(append(b, "data: "...), line...), '\n')
	}
	b = append(b, '\n')
	if p.over {
		b = append(b, "event: over\ndata:\n\n"...)
	}
	return b
}
