package pages

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
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
)

// feeds make the live parts of pages. All who look at the same page with the same rights share one feed, so that its figures
// are read once however many look.
type feeds struct {
	mu   sync.Mutex
	open map[string]*feed
}

// feed is one live part.
type feed struct {
	listeners int // guarded by feeds.mu, as the rest
	text      []byte
	event     []byte        // that has the text
	changed   chan struct{} // closed when text is another
	stop      context.CancelFunc
}

func newFeeds() *feeds { return &feeds{open: map[string]*feed{}} }

// feedName is equal for requests whose answers are equal.
func feedName(r *http.Request, p access.Person) string {
	return fmt.Sprintf("%d %q %s", p.Role, p.Teams, r.URL.RequestURI())
}

// follow sends a live part as server-sent events: at once, and whenever it changes.
func (f *feeds) follow(w http.ResponseWriter, r *http.Request, name string, render func(*http.Request) ([]byte, error)) {
	one := f.join(r, name, render)
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
		event, changed := f.current(one)
		if event != nil {
			_ = out.SetWriteDeadline(time.Now().Add(livePatient))           // a writer without deadlines has none
			if _, err := w.Write(event); err != nil || out.Flush() != nil { //nolint:gosec // html/template has escaped the texts of others
				return
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// has reports whether somebody follows a feed.
func (f *feeds) has(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open[name] != nil
}

func (f *feeds) current(one *feed) ([]byte, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return one.event, one.changed
}

// join finds or starts a feed; nil: there are too many.
func (f *feeds) join(r *http.Request, name string, render func(*http.Request) ([]byte, error)) *feed {
	f.mu.Lock()
	defer f.mu.Unlock()
	one := f.open[name]
	if one == nil {
		if len(f.open) >= mostFeeds {
			return nil
		}
		ctx, stop := context.WithCancel(context.WithoutCancel(r.Context()))
		one = &feed{changed: make(chan struct{}), stop: stop}
		f.open[name] = one
		go f.run(r.Clone(ctx), one, render)
	}
	one.listeners++
	return one
}

func (f *feeds) leave(name string, one *feed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if one.listeners--; one.listeners == 0 {
		one.stop()
		delete(f.open, name)
	}
}

// run makes the part again and again. While it cannot be made, the last one stays, with its time.
func (f *feeds) run(r *http.Request, one *feed, render func(*http.Request) ([]byte, error)) {
	for {
		begun := time.Now()
		text, err := render(r)
		f.mu.Lock()
		rest := time.Duration(liveTimes*len(f.open)) * time.Since(begun)
		if err == nil && !bytes.Equal(text, one.text) {
			one.text, one.event = text, eventOf(text)
			close(one.changed)
			one.changed = make(chan struct{})
		}
		f.mu.Unlock()
		select {
		case <-time.After(max(liveEvery, min(rest, liveLeast))):
		case <-r.Context().Done():
			return
		}
	}
}

// eventOf writes a text as an event without a name.
func eventOf(text []byte) []byte {
	var b bytes.Buffer
	for line := range bytes.Lines(text) {
		b.WriteString("data: ")
		b.Write(bytes.TrimRight(line, "\r\n"))
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	return b.Bytes()
}
