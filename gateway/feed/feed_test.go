package feed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/policy/event"
)

// box is an outbox in memory that can be away, or lose its memory.
type box struct {
	mu   sync.Mutex
	now  *event.Memory
	away bool
	read int // calls of After
}

var errAway = errors.New("away")

func newBox() *box { return &box{now: event.NewMemory(event.DefaultBounds, time.Now)} }

func (b *box) use() (*event.Memory, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.away {
		return nil, errAway
	}
	return b.now, nil
}

func (b *box) set(away bool, m *event.Memory) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.away = away; m != nil {
		b.now = m
	}
}

func (b *box) After(ctx context.Context, after event.ID, most int) ([]event.Event, bool, error) {
	m, err := b.use()
	if err != nil {
		return nil, false, err
	}
	b.mu.Lock()
	b.read++
	b.mu.Unlock()
	return m.After(ctx, after, most)
}

func (b *box) News(ctx context.Context, after []event.ID, most int) ([][]event.Event, error) {
	m, err := b.use()
	if err != nil {
		return nil, err
	}
	return m.News(ctx, after, most)
}

func (b *box) Last(ctx context.Context, owner string) (event.ID, error) {
	m, err := b.use()
	if err != nil {
		return event.ID{}, err
	}
	return m.Last(ctx, owner)
}

func (b *box) Follow(ctx context.Context, owners []string, known int64) (event.Followed, error) {
	m, err := b.use()
	if err != nil {
		return event.Followed{}, err
	}
	return m.Follow(ctx, owners, known)
}

// client reads a stream; it holds writes up while it is slow.
type client struct {
	mu     sync.Mutex
	text   strings.Builder
	header http.Header
	slow   chan struct{} // nil: it is not; writes wait until it is closed
}

func (c *client) Header() http.Header { return c.header }
func (c *client) WriteHeader(int)     {}
func (c *client) FlushError() error   { return nil }
func (c *client) Write(p []byte) (int, error) {
	c.mu.Lock()
	slow := c.slow
	c.mu.Unlock()
	if slow != nil {
		<-slow
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.Write(p)
}

// ids are the events that arrived, or "gap", in order.
func (c *client) ids() (ids []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for block := range strings.SplitSeq(c.text.String(), "\n\n") {
		id, _ := strings.CutPrefix(strings.Split(block, "\n")[0], "id: ")
		switch {
		case strings.HasPrefix(block, "event: gap\ndata: "):
			ids = append(ids, "gap")
		case strings.HasPrefix(block, "id: "):
			ids = append(ids, id)
		}
	}
	return ids
}

func (c *client) comments() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Count(c.text.String(), ":\n\n")
}

// world is a feed with its outbox, in simulated time.
type world struct {
	*testing.T
	*box
	feed  *Feed
	wrote map[string][]string // ids by team
}

func inWorld(t *testing.T, test func(w *world)) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox()
		w := &world{t, b, New(b, time.Now), map[string][]string{}}
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan struct{})
		go func() { defer close(over); w.feed.Run(ctx) }()
		test(w)
		cancel()
		<-over
		w.feed.Stop()
		synctest.Wait()
	})
}

func (w *world) write(team string, n int, kind event.Type) {
	w.Helper()
	m, _ := w.use()
	for range n {
		id, _ := m.Append(w.Context(), &event.Draft{Type: kind, Team: team, Data: []byte(`{"task_id":"t"}`)})
		w.wrote[team] = append(w.wrote[team], id.String())
	}
}

// open opens a stream and serves it until the test ends or what it returns is called.
func (w *world) open(c *client, team, query string, last ...string) (stop func()) {
	w.Helper()
	q, err := ReadQuery(team, query, last)
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.Context())
	s, err := w.feed.Open(ctx, q)
	if err != nil {
		w.Fatal(err)
	}
	c.header = http.Header{}
	go func() {
		defer s.Close()
		_ = s.Serve(ctx, c, func() error { return nil })
	}()
	return cancel
}

// sees waits a little, and then says what a client got.
func (w *world) sees(c *client, about string, want ...string) {
	w.Helper()
	time.Sleep(2 * readEvery)
	synctest.Wait()
	if got := c.ids(); !slices.Equal(got, want) {
		w.Fatalf("%s: %d came, want %d:\n%v\n%v", about, len(got), len(want), got, want)
	}
}

// A stream has its team's events from its opening on, each in one line with its very bytes.
func TestEventsAreStreamedFromNowOn(t *testing.T) {
	inWorld(t, func(w *world) {
		w.write("search", 3, event.TaskSucceeded)
		c := new(client)
		w.open(c, "search", "")
		w.sees(c, "nothing of before")
		w.write("search", 2, event.TaskFailed)
		w.write("shop", 2, event.TaskFailed)
		w.sees(c, "what is written", w.wrote["search"][3:]...)
		list, _, _ := w.After(w.Context(), event.ID{Owner: "search"}, 9)
		e := &list[4]
		if want := fmt.Sprintf("id: %s\nevent: task.failed\ndata: %s\n\n", e.ID, e.Bytes()); !strings.HasSuffix(c.text.String(), want) {
			t.Errorf("%q does not end with %q", c.text.String(), want)
		}
		if got := c.header.Get("Content-Type"); got != "text/event-stream" || !strings.HasPrefix(c.text.String(), "retry: ") {
			t.Errorf("%s %q", got, c.text.String())
		}
	})
}

// A client that comes back gets what it has missed first, however much that is; if some of that may be missing, "gap" first.
func TestWhatWasMissedComesFirst(t *testing.T) {
	inWorld(t, func(w *world) {
		w.write("search", 5*recent+7, event.TaskSucceeded)
		c, far := new(client), new(client)
		w.open(c, "search", "", w.wrote["search"][2])
		time.Sleep(time.Minute)
		w.write("search", 3, event.TaskSucceeded)
		w.sees(c, "all behind", w.wrote["search"][3:]...)
		w.open(far, "search", "", w.wrote["search"][len(w.wrote["search"])-1])
		w.sees(far, "nothing is missing")
		time.Sleep(event.DefaultBounds.Keep + time.Hour)
		w.write("search", 1, event.TaskSucceeded)
		newest := w.wrote["search"][len(w.wrote["search"])-1]
		w.sees(far, "what is new", newest)
		old := new(client)
		w.open(old, "search", "", w.wrote["search"][2])
		w.sees(old, "a gap first", "gap", newest)
		w.write("search", 1, event.TaskSucceeded)
		w.sees(old, "the gap once", "gap", newest, w.wrote["search"][len(w.wrote["search"])-1])
		ahead, other := event.ID{Owner: "search", Millis: time.Now().Add(time.Hour).UnixMilli()}, new(client)
		w.open(other, "search", "", ahead.String())
		time.Sleep(2 * readEvery)
		w.write("search", 1, event.TaskSucceeded)
		time.Sleep(2 * readEvery)
		synctest.Wait()
		if got := other.ids(); got[0] != "gap" || slices.Contains(got[1:], "gap") ||
			got[len(got)-1] != w.wrote["search"][len(w.wrote["search"])-1] {
			t.Errorf("an id of another memory: %v", got)
		}
	})
}

func TestTypesSelect(t *testing.T) {
	inWorld(t, func(w *world) {
		c := new(client)
		w.open(c, "search", "types=task.*,key.expiring&types=request.settled")
		w.write("search", 1, event.TaskFailed)
		w.write("search", 1, event.QuotaReached)
		w.write("search", 1, event.KeyExpiring)
		w.write("search", 1, event.RequestSettled)
		w.sees(c, "those of the types", w.wrote["search"][0], w.wrote["search"][2], w.wrote["search"][3])
	})
}

// A query that is not understood says what is allowed.
func TestQueries(t *testing.T) {
	id, foreign := event.ID{Owner: "search", Millis: 5}, event.ID{Owner: "shop", Millis: 5}
	for query, says := range map[string]string{
		"": "", "types=*": "", "types=task.*,quota.*": "", "types=task.failed&types=account.out": "",
		"types=": `query types: given "", allowed, with commas between them: *, account.*, account.back,`, "types=task": `given "task"`,
		"types=task.*,nothing": `given "nothing"`, "type=task.*": `given "type", allowed: types`, "%zz": "cannot be read",
	} {
		_, err := ReadQuery("search", query, nil)
		if got := fmt.Sprint(err); (err == nil) != (says == "") || err != nil && !strings.Contains(got, says) {
			t.Errorf("%s: %v", query, err)
		}
	}
	if q, err := ReadQuery("search", "", []string{id.String()}); err != nil || q.After != id {
		t.Error(q, err)
	}
	if q, err := ReadQuery("search", "", []string{""}); err != nil || q.After.Millis != 0 {
		t.Error(q, err)
	}
	for _, last := range [][]string{{foreign.String()}, {"1"}, {id.String(), id.String()}} {
		if _, err := ReadQuery("search", "", last); err == nil || !strings.Contains(err.Error(), "Last-Event-ID: given") {
			t.Error(last, err)
		}
	}
}

// A comment comes every 15 s, also while the outbox is away; then nothing is missed, and a client may come back to where it was meanwhile.
func TestTheOutboxIsAway(t *testing.T) {
	inWorld(t, func(w *world) {
		c, again := new(client), new(client)
		w.open(c, "search", "")
		w.write("search", 1, event.TaskFailed)
		w.sees(c, "the first", w.wrote["search"]...)
		m, _ := w.use()
		w.set(true, nil)
		before := c.comments()
		time.Sleep(time.Minute)
		if n := c.comments() - before; n != 4 {
			t.Errorf("%d comments in a minute", n)
		}
		w.open(again, "search", "", w.wrote["search"][0])
		if _, err := w.feed.Open(w.Context(), Query{Team: "search"}); !errors.Is(err, errAway) {
			t.Error("a stream from now on is opened while the newest event is not known:", err)
		}
		w.set(false, m)
		w.write("search", 2*recent, event.TaskSucceeded)
		w.sees(c, "nothing is missed", w.wrote["search"]...)
		w.sees(again, "nothing is missed", w.wrote["search"][1:]...)
	})
}

// If the outbox lost its memory, streams say that events may be missing, once, and go on.
func TestTheOutboxLosesItsMemory(t *testing.T) {
	for name, away := range map[string]time.Duration{"after an outage": 3 * time.Second, "unseen": 0, "an older copy": time.Second} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				c := new(client)
				w.open(c, "search", "")
				w.write("search", 3, event.TaskFailed)
				w.sees(c, "the first", w.wrote["search"]...)
				if away > 0 {
					w.set(true, nil)
					time.Sleep(away)
				}
				copied := event.NewMemory(event.DefaultBounds, time.Now)
				if name == "an older copy" { // which knows the team, and not its events
					_, _ = copied.Follow(w.Context(), []string{"search"}, 0)
				}
				w.set(false, copied)
				time.Sleep(2 * followEvery)
				w.write("search", 2, event.TaskSucceeded)
				w.sees(c, "a gap", slices.Insert(slices.Clone(w.wrote["search"]), 3, "gap")...)
			})
		})
	}
}

// A client that does not read holds up no other, and no memory beyond what is kept for all. When it reads again, it misses nothing.
func TestASlowClientHoldsUpNoOther(t *testing.T) {
	inWorld(t, func(w *world) {
		slow, quick := &client{}, new(client)
		w.open(slow, "search", "")
		w.open(quick, "search", "")
		time.Sleep(time.Second)
		reads := make(chan struct{})
		slow.mu.Lock()
		slow.slow = reads
		slow.mu.Unlock()
		for range 20 {
			w.write("search", recent/2, event.TaskSucceeded)
			time.Sleep(2 * readEvery)
		}
		w.sees(quick, "all", w.wrote["search"]...)
		w.feed.mu.Lock()
		if n := len(w.feed.topics["search"].list); n > recent {
			t.Errorf("%d events are kept", n)
		}
		w.feed.mu.Unlock()
		if w.read > 0 {
			t.Errorf("the quick one read for itself %d times", w.read)
		}
		close(reads)
		time.Sleep(5 * time.Second)
		w.sees(slow, "all", w.wrote["search"]...)
	})
}

// A team has so many streams, and each is given back.
func TestStreamsAreBounded(t *testing.T) {
	inWorld(t, func(w *world) {
		var stops []func()
		for range MostStreams {
			stops = append(stops, w.open(new(client), "search", ""))
		}
		if _, err := w.feed.Open(w.Context(), Query{Team: "search"}); err != ErrFull {
			t.Error(err)
		}
		w.open(new(client), "shop", "")
		if got := w.feed.Streams(); !maps.Equal(got, map[string]int{"search": MostStreams, "shop": 1}) {
			t.Error(got)
		}
		stops[3]()
		synctest.Wait()
		w.open(new(client), "search", "")
		for _, stop := range stops {
			stop()
		}
		synctest.Wait()
		if got := w.feed.Streams(); !maps.Equal(got, map[string]int{"search": 1, "shop": 1}) {
			t.Error(got)
		}
	})
}

// A stream ends in order when its client may no longer read, and when the process stops; then no other is opened.
func TestStreamsEnd(t *testing.T) {
	inWorld(t, func(w *world) {
		var mu sync.Mutex
		var revoked error
		serve := func() chan error {
			s, err := w.feed.Open(w.Context(), Query{Team: "search", After: event.ID{Owner: "search"}})
			if err != nil {
				t.Fatal(err)
			}
			over := make(chan error, 1)
			go func() {
				defer s.Close()
				over <- s.Serve(w.Context(), &client{header: http.Header{}}, func() error { mu.Lock(); defer mu.Unlock(); return revoked })
			}()
			return over
		}
		ended := func(about string, over chan error, want bool) {
			t.Helper()
			synctest.Wait()
			select {
			case err := <-over:
				if !want || err != nil {
					t.Error(about, err)
				}
			default:
				if want {
					t.Error(about, "goes on")
				}
			}
		}
		first := serve()
		w.feed.Changed()
		ended("a change that is not about it", first, false)
		mu.Lock()
		revoked = errors.New("revoked")
		mu.Unlock()
		ended("before anybody says so", first, false)
		w.feed.Changed()
		ended("a revoked key", first, true)
		mu.Lock()
		revoked = nil
		mu.Unlock()
		second, third := serve(), serve()
		mu.Lock()
		revoked = errors.New("expired")
		mu.Unlock()
		time.Sleep(commentEvery)
		ended("a key that has expired", second, true)
		mu.Lock()
		revoked = nil
		mu.Unlock()
		ended("another", third, true)
		fourth := serve()
		w.feed.Stop()
		ended("a stop", fourth, true)
		if _, err := w.feed.Open(w.Context(), Query{Team: "search"}); err != ErrStopped {
			t.Error(err)
		}
	})
}

// Every replica writes a team's events once a stream of it is open anywhere, and for an event's life after that. One that cannot know
// writes them, too.
func TestEventsAreWrittenForStreams(t *testing.T) {
	inWorld(t, func(w *world) {
		other := New(w.box, time.Now)
		ctx, cancel := context.WithCancel(w.Context())
		defer cancel()
		go other.Run(ctx)
		none, known := func(string, event.Type, string) []event.Target { return nil }, true
		if New(w.box, time.Now).Known() {
			t.Error("it was never read who is followed")
		}
		time.Sleep(spread)
		writes := func(want bool, team string, kind event.Type) {
			t.Helper()
			for n, f := range []*Feed{w.feed, other} {
				if to := f.Routes(none)(team, kind, ""); (to != nil) != want || len(to) > 0 {
					t.Errorf("%d: %s %s: %v", n, team, kind, to)
				}
				if f.Known() != known {
					t.Errorf("%d: %t", n, f.Known())
				}
			}
		}
		writes(false, "search", event.TaskFailed)
		stop := w.open(new(client), "search", "")
		writes(true, "search", event.TaskFailed)
		writes(false, "shop", event.TaskFailed)
		writes(false, "search", event.RequestSettled)
		writes(false, event.Operators, event.AccountOut)
		opened := time.Now()
		w.open(new(client), "search", "")
		if took := time.Since(opened); took > 0 {
			t.Error("a known team waits", took)
		}
		w.set(true, nil)
		time.Sleep(spread + followEvery)
		known = false
		writes(true, "shop", event.TaskFailed)
		writes(false, "shop", event.RequestSettled)
		known = true
		w.set(false, nil)
		time.Sleep(spread)
		writes(false, "shop", event.TaskFailed)
		stop()
		time.Sleep(event.DefaultBounds.Keep - time.Minute)
		writes(true, "search", event.TaskFailed)
		hook := []event.Target{{Address: event.Address{Owner: "shop", Hook: "jobs"}}}
		if to := w.feed.Routes(func(string, event.Type, string) []event.Target { return hook })("shop", event.TaskFailed, ""); !slices.Equal(to,
			hook) {
			t.Error(to)
		}
	})
}

// Whatever is written, and however clients come and go, read slowly and lose the outbox, each has every event behind its first once, in
// order.
func TestEachEventComesOnce(t *testing.T) {
	for seed := range uint64(20) {
		inWorld(t, func(w *world) {
			random := rand.New(rand.NewPCG(1, seed))
			var clients [3]*client
			var stops [3]func()
			var had [3][]string
			var hands [3]chan struct{}
			open := func(i int) {
				clients[i], hands[i] = new(client), nil
				if len(had[i]) == 0 {
					stops[i] = w.open(clients[i], "search", "")
				} else {
					stops[i] = w.open(clients[i], "search", "", had[i][len(had[i])-1])
				}
			}
			quicken := func(i int) {
				if hands[i] != nil {
					close(hands[i])
					clients[i].mu.Lock()
					clients[i].slow, hands[i] = nil, nil
					clients[i].mu.Unlock()
				}
			}
			for i := range clients {
				open(i)
			}
			for range 60 {
				i := random.IntN(3)
				switch random.IntN(6) {
				case 0, 1:
					w.set(false, nil)
					w.write("search", random.IntN(2*recent), event.TaskSucceeded)
				case 2:
					if quicken(i); random.IntN(2) == 0 {
						hands[i] = make(chan struct{})
						clients[i].mu.Lock()
						clients[i].slow = hands[i]
						clients[i].mu.Unlock()
					}
				case 3:
					quicken(i)
					stops[i]()
					synctest.Wait()
					if had[i] = append(had[i], clients[i].ids()...); len(had[i]) > 0 {
						w.set(false, nil)
						open(i)
					} else {
						w.set(false, nil)
						time.Sleep(spread)
						w.write("search", 1, event.TaskSucceeded)
						had[i] = w.wrote["search"][len(w.wrote["search"])-1:]
						open(i)
					}
				case 4:
					w.set(random.IntN(2) == 0, nil)
				default:
					time.Sleep(time.Duration(random.IntN(3000)) * time.Millisecond)
				}
			}
			w.set(false, nil)
			for i := range clients {
				quicken(i)
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			for i, c := range clients {
				got := append(slices.Clone(had[i]), c.ids()...)
				if len(got) == 0 {
					continue
				}
				from := slices.Index(w.wrote["search"], got[0])
				if want := w.wrote["search"][max(from, 0):]; !slices.Equal(got, want) {
					t.Errorf("seed %d: client %d has %d of %d", seed, i, len(got), len(want))
				}
			}
		})
	}
}
