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
	"sluice/policy/teams"
)

const (
	liveEvery   = 2 * time.Second  // the least time between two renderings of a live part
	liveLeast   = 10 * time.Second // the longest time between two renderings
	liveTimes   = 300              // the time between two renderings, as a multiple of a rendering's time: few requests are delayed
	liveFor     = time.Minute      // then the browser reconnects, and its session is checked again
	livePatient = 10 * time.Second // bounds one write to a browser
	mostFeeds   = 200              // bounds the different live parts
	mostOfOne   = 20               // bounds those that one person began; hidden tabs follow none

	mostListeners = 1000 // followers of all parts together
	keptListeners = 50   // reserved for people who see every team
	teamListeners = 20   // members of one team
)

// LiveBound states the bounds of followers of live parts.
const LiveBound = "live parts of the console's pages: 1000 listeners, of them 20 of a team and 50 kept for operators and viewers; 200 " +
	"different parts"

// crowdedFor is how many seconds a browser waits before it asks for a live part again.
const crowdedFor = "60"

// feeds make the live parts of pages. Viewers of the same page with the same rights share one feed, so that its figures are read
// once for all.
type feeds struct {
	crowded func() // called when a bound refuses a follower

	mu        sync.Mutex
	open      map[string]*feed
	listeners int
	ofTeam    map[string]int // listeners who are members, by team
}

// feed is one live part.
type feed struct {
	by        string // who began it
	listeners int    // guarded by feeds.mu, like the rest
	now       part
	changed   chan struct{} // closed when now is replaced
	stop      context.CancelFunc
}

// part is one version of a live part.
type part struct {
	text   []byte
	over   bool   // it is final
	event  []byte // made once for all followers
	number int    // of the version
	patch  []byte // an event for followers who have the previous version; nil: it would not be shorter
}

func newFeeds() *feeds {
	return &feeds{open: map[string]*feed{}, ofTeam: map[string]int{}, crowded: func() {}}
}

// feedName returns equal names for requests with equal answers.
func feedName(r *http.Request, p access.Person) string {
	return fmt.Sprintf("%d %q %s", p.Role, p.Teams, r.URL.RequestURI())
}

// follow sends a live part as server-sent events: immediately, and whenever it changes. After a final part it sends the event "over".
func (f *feeds) follow(w http.ResponseWriter, r *http.Request, p access.Person, render func(*http.Request) (part, error)) {
	name := feedName(r, p)
	one, full := f.join(r, name, p, render)
	if full != nil {
		f.crowded()
		w.Header().Set("Retry-After", crowdedFor)
		plainProblem(w, full)
		return
	}
	defer f.leave(name, one, p)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	ctx, cancel := context.WithTimeout(r.Context(), liveFor)
	defer cancel()
	out := http.NewResponseController(w)
	_, _ = w.Write([]byte(":\n")) // a comment, which tells the browser that it is connected
	_ = out.Flush()
	for sent := 0; ; {
		now, changed := f.current(one)
		event := now.event
		if now.patch != nil && sent == now.number-1 {
			event = now.patch
		}
		if now.text != nil && send(w, out, event) != nil || now.over {
			return
		}
		sent = now.number
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// send writes an event. It resets the deadline after the write: on HTTP/2 an expired one ends the stream, even if nothing is being
// written.
func send(w http.ResponseWriter, out *http.ResponseController, event []byte) error {
	_ = out.SetWriteDeadline(time.Now().Add(livePatient)) // fails only for writers without deadlines
	_, err := w.Write(event)
	if err == nil {
		err = out.Flush()
	}
	_ = out.SetWriteDeadline(time.Time{})
	return err
}

// has reports whether a feed has followers.
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

// join finds or starts a feed, or returns the refusal.
func (f *feeds) join(r *http.Request, name string, p access.Person, render func(*http.Request) (part, error)) (*feed, *teams.Problem) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if full := f.full(p); full != nil {
		return nil, full
	}
	one := f.open[name]
	if one == nil {
		if len(f.open) >= mostFeeds || f.begunBy(p.Name) >= mostOfOne {
			return nil, errCrowded
		}
		ctx, stop := context.WithCancel(context.WithoutCancel(r.Context()))
		one = &feed{by: p.Name, changed: make(chan struct{}), stop: stop}
		f.open[name] = one
		go f.run(r.Clone(ctx), one, render)
	}
	one.listeners++
	f.count(p, 1)
	return one, nil
}

var (
	errCrowded     = away("too many pages are open. This one goes on when others are closed")
	errTeamCrowded = &teams.Problem{
		Code: teams.CodeOften,
		Text: "members of your team have 20 pages open that follow the figures. This one goes on when one of them is closed",
	}
)

// full returns the refusal if a person may not follow one more part; nil: allowed.
func (f *feeds) full(p access.Person) *teams.Problem {
	if p.SeesAll() {
		if f.listeners >= mostListeners {
			return errCrowded
		}
		return nil
	}
	if f.listeners >= mostListeners-keptListeners {
		return errCrowded
	}
	for _, team := range p.Teams {
		if f.ofTeam[team] >= teamListeners {
			return errTeamCrowded
		}
	}
	return nil
}

// count adds listeners. A member of several teams counts for each.
func (f *feeds) count(p access.Person, n int) {
	f.listeners += n
	if p.SeesAll() {
		return
	}
	for _, team := range p.Teams {
		if f.ofTeam[team] += n; f.ofTeam[team] == 0 {
			delete(f.ofTeam, team)
		}
	}
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

func (f *feeds) leave(name string, one *feed, p access.Person) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count(p, -1)
	if one.listeners--; one.listeners == 0 {
		one.stop()
		delete(f.open, name)
	}
}

// run renders the part repeatedly until it is final. While rendering fails, the last version stays, with its time.
func (f *feeds) run(r *http.Request, one *feed, render func(*http.Request) (part, error)) {
	for {
		begun := time.Now()
		made, err := rendered(r, render)
		f.mu.Lock()
		rest := time.Duration(liveTimes*len(f.open)) * time.Since(begun)
		if err == nil && (made.over || !bytes.Equal(made.text, one.now.text)) {
			made.event, made.number = eventOf(made), one.now.number+1
			if one.now.number > 0 && !made.over {
				made.patch = patchOf(one.now, made)
			}
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

// rendered renders the part and recovers a panic: outside a request nothing else does.
func rendered(r *http.Request, render func(*http.Request) (part, error)) (made part, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("the live part cannot be made: %v", fault)
		}
	}()
	return render(r)
}

// lineEnds replaces line ends other than LF: for a browser each ends a line of the event.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// linesOf returns the lines of a part's event.
func linesOf(p part) []string {
	return strings.Split(strings.TrimSuffix(lineEnds.Replace(string(p.text)), "\n"), "\n")
}

// patchOf encodes the change of a part as an event: "patch", then in order "=first count" for lines that the browser has, and "+line" for
// new ones: in lists only few rows change. It returns nil if the patch is longer than half of the whole event.
func patchOf(was, is part) []byte {
	old := linesOf(was)
	at := make(map[string]int, len(old))
	for i, line := range old {
		at[line] = i
	}
	b, next, begun := []byte("data: patch\n"), 0, 0 // the old lines from begun to next are the same
	flush := func() {
		if next > begun {
			b = fmt.Appendf(b, "data: =%d %d\n", begun, next-begun)
		}
		begun = next
	}
	for _, line := range linesOf(is) {
		from, known := at[line]
		switch {
		case next < len(old) && old[next] == line:
			next++
		case known:
			flush()
			begun, next = from, from+1
		default:
			flush()
			b = append(append(append(b, "data: +"...), line...), '\n')
		}
	}
	flush()
	if 2*len(b) > len(is.event) {
		return nil
	}
	return append(b, '\n')
}

// eventOf encodes a part as an event without a name, and after a final part the event "over".
func eventOf(p part) []byte {
	var b []byte
	for _, line := range linesOf(p) {
		b = append(append(append(b, "data: "...), line...), '\n')
	}
	b = append(b, '\n')
	if p.over {
		b = append(b, "event: over\ndata:\n\n"...)
	}
	return b
}
