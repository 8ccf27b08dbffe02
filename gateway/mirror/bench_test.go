package mirror_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/gateway/mirror"
	"sluice/gateway/mirror/store"
	"sluice/gateway/mirror/store/storetest"
	"sluice/policy/event"
)

// bench is an outbox in memory, a folder, a host of pictures, and what was counted and logged.
type bench struct {
	*testing.T
	works *event.Memory
	store *switched
	log   syncBuffer
	day   string

	mu      sync.Mutex
	hosts   map[string]error // by address, why the host does not give it; absent: it does
	fetched []string
	tally   map[string]int
	deaf    bool // there is no listener
}

// switched is a store that may be away.
type switched struct {
	store.Store
	mu   sync.Mutex
	away bool
}

func (s *switched) set(away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = away
}

func (s *switched) Put(ctx context.Context, key string, o *store.Object) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		return errors.New("connection refused")
	}
	return s.Store.Put(ctx, key, o)
}

type syncBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.String()
}

func newBench(t *testing.T) *bench {
	return &bench{
		T: t, works: event.NewMemory(event.DefaultBounds, time.Now), store: &switched{Store: storetest.Open(t, "file://"+t.TempDir())},
		day: time.Now().UTC().Format("2006/01/02"), hosts: map[string]error{}, tally: map[string]int{},
	}
}

func (b *bench) count(what string, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tally[what] += n
}

// counted is what was counted so far.
func (b *bench) counted() map[string]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.tally)
}

func (b *bench) MirrorStored(bytes int)     { b.count("stored", 1); b.count("bytes", bytes) }
func (b *bench) MirrorFailed(reason string) { b.count("failed "+reason, 1) }
func (b *bench) MirrorLost(reason string)   { b.count("lost "+reason, 1) }
func (b *bench) MirrorDeleted(n int)        { b.count("deleted", n) }

// drawn are the bytes of the picture at an address.
func drawn(address string) []byte { return append([]byte("\x89PNG\r\n\x1a\n"), address...) }

func (b *bench) fetch(_ context.Context, w io.Writer, address string) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fetched = append(b.fetched, address)
	if err := b.hosts[address]; err != nil {
		return "", err
	}
	_, _ = w.Write(drawn(address))
	return "image/png", nil
}

func (b *bench) host(address string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hosts[address] = err
}

// to is a stream of the team that wants every event, unless there is no listener.
func (b *bench) to(string, event.Type, string) []event.Target {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.deaf {
		return nil
	}
	return []event.Target{}
}

func (b *bench) listen(is bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.deaf = !is
}

func (b *bench) fetches() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.fetched)
}

func (b *bench) config() mirror.Config {
	return mirror.Config{
		Store: b.store, Works: b.works.Works, Fetch: b.fetch, Measures: b, Now: time.Now, Log: slog.New(slog.NewTextHandler(&b.log, nil)),
		To:    b.to,
		Keep:  func() map[string]time.Duration { return nil },
		First: func(ctx context.Context, n event.Name) (bool, error) { return b.works.Once(ctx, n, nil) },
	}
}

// run runs a mirror until the test ends or stop is called.
func (b *bench) run(config mirror.Config) (m *mirror.Mirror, stop func()) {
	m = mirror.New(config)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { m.Run(ctx) })
	stop = func() { cancel(); running.Wait() }
	b.Cleanup(stop)
	return m, stop
}

func (b *bench) succeed(task string, urls ...string) {
	w := &event.Work{Task: task, Day: b.day, Ends: time.Now().Add(24 * time.Hour), Head: []byte(`{"task_id":"` + task + `"}`)}
	for _, url := range urls {
		w.Pictures = append(w.Pictures, event.Picture{URL: url})
	}
	_, _ = b.works.Append(b.Context(), &event.Draft{Type: event.TaskSucceeded, Team: "search", Work: w})
}

// told is what was told of tasks, as "type task n×stored pending".
func (b *bench) told() string {
	list, _, _ := b.works.After(b.Context(), event.ID{Owner: "search"}, 1000)
	var all []string
	for _, e := range list {
		task := strings.SplitN(string(e.Data), `"`, 5)[3]
		one := fmt.Sprintf("%s %s %d", e.Type, task, strings.Count(string(e.Data), `"stored"`))
		if strings.Contains(string(e.Data), `"pending":true`) {
			one += " pending"
		}
		all = append(all, one)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func (b *bench) want(told string) {
	b.Helper()
	if got := b.told(); got != told {
		b.Fatalf("told %q, want %q\n%s", got, told, b.log.String())
	}
}

// kept checks that a picture is in the store, byte by byte.
func (b *bench) kept(key, address string) {
	b.Helper()
	kept, err := b.store.Get(b.Context(), key)
	if err != nil {
		b.Fatalf("%s: %v", key, err)
	}
	defer func() { _ = kept.Close() }()
	if got, err := io.ReadAll(kept); err != nil || !bytes.Equal(got, drawn(address)) || kept.Task == "" || kept.Type != "image/png" ||
		len(kept.SHA256) != 64 {
		b.Errorf("%s: %d bytes, %+v, %v", key, len(got), kept, err)
	}
}
