package mirror_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sluice/gateway/mirror"
	"sluice/gateway/mirror/store"
	"sluice/gateway/mirror/store/storetest"
	"sluice/gateway/upstream"
	"sluice/policy/event"
)

// mortal are works of a replica that may be killed: then it tells nothing any more, and gets nothing.
type mortal struct {
	mirror.Works
	dead atomic.Bool
}

var errDead = errors.New("killed")

func (m *mortal) TakeWork(ctx context.Context, most int) ([]event.Work, error) {
	if m.dead.Load() {
		return nil, errDead
	}
	return m.Works.TakeWork(ctx, most)
}

func (m *mortal) LateWork(ctx context.Context, most int) ([]event.Work, error) {
	if m.dead.Load() {
		return nil, errDead
	}
	return m.Works.LateWork(ctx, most)
}

func (m *mortal) Worked(ctx context.Context, w *event.Work, p event.Progress) (bool, error) {
	if m.dead.Load() {
		return false, errDead
	}
	return m.Works.Worked(ctx, w, p)
}

// Whatever replicas are killed, hosts fail and stores are away, each success is told once, what it says is stored is there, and in the end
// all is stored.
func TestNothingIsLostWhoeverIsKilled(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { flock(newBench(t), rand.New(rand.NewPCG(seed, 7))) })
		})
	}
}

func flock(b *bench, random *rand.Rand) {
	const tasks = 60
	b.store.Store = newBytes()
	var mu sync.Mutex
	draw := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return random.IntN(n)
	}
	luck := func(n int) bool { return draw(n) == 0 }
	config := b.config()
	config.Fetch = func(ctx context.Context, w io.Writer, address string) (string, error) {
		if luck(3) {
			return "", upstream.ErrStatus
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(700 * time.Millisecond):
		}
		return b.fetch(ctx, w, address)
	}
	type replica struct {
		works *mortal
		stop  func()
	}
	start := func() replica {
		c, works := config, &mortal{Works: b.works.Works}
		c.Works = works
		_, stop := b.run(c)
		return replica{works, stop}
	}
	replicas := []replica{start(), start(), start()}
	made := 0
	for range 400 {
		time.Sleep(300 * time.Millisecond)
		for ; made < tasks && luck(3); made++ {
			b.succeed(fmt.Sprint("t", made), fmt.Sprintf("https://a/%d/1", made), fmt.Sprintf("https://a/%d/2", made))
		}
		if luck(3) {
			i := draw(len(replicas))
			replicas[i].works.dead.Store(true)
			replicas[i].stop()
			replicas[i] = start()
		}
		if luck(20) {
			b.store.set(!luck(2))
		}
	}
	b.store.set(false)
	time.Sleep(12 * time.Hour) // of some tries a third fails
	told := b.told()
	for n := range made {
		if strings.Count(told, fmt.Sprintf("task.succeeded t%d ", n)) != 1 {
			b.Errorf("t%d: %s", n, told)
		}
		b.kept(fmt.Sprintf("search/%s/t%d/1.png", b.day, n), fmt.Sprintf("https://a/%d/1", n))
		b.kept(fmt.Sprintf("search/%s/t%d/2.png", b.day, n), fmt.Sprintf("https://a/%d/2", n))
	}
	if later := strings.Count(told, "task.stored"); made != tasks || later != strings.Count(told, "pending") ||
		strings.Contains(b.log.String(), "lost=") {
		b.Errorf("%d tasks, %d stored later: %s", made, later, told)
	}
}

// TestMemoryStaysFlat: pictures of 4 MB pass through a bounded memory. With LONG=1 there are ten thousand, from a host by the guarded
// fetcher to a real store, and the process's resident memory is measured.
func TestMemoryStaysFlat(t *testing.T) {
	b, body := newBench(t), append(drawn("x"), make([]byte, 4<<20)...)
	config, address, pictures := b.config(), "https://a/x", 400
	if os.Getenv("LONG") == "1" {
		host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "image/png")
			_, _ = w.Write(body)
		}))
		t.Cleanup(host.Close)
		listed, err := upstream.ParseHost(strings.TrimPrefix(host.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		fetcher := upstream.NewFetcher(upstream.FetchConfig{Hosts: []upstream.Host{listed},
			Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
		config.Fetch, address, pictures = fetcher.Copy, host.URL+"/x", 10_000
		b.store.Store = passing{storetest.New(t).Open()}
	} else {
		b.store.Store = keys{}
		config.Fetch = func(_ context.Context, w io.Writer, _ string) (string, error) {
			for n := 0; n < len(body); n += 64 << 10 {
				_, _ = w.Write(body[n:min(n+64<<10, len(body))])
			}
			return "image/png", nil
		}
	}
	b.run(config)
	begun := 0
	for n := range pictures {
		if n > 0 && n%(pictures/4) == 0 {
			b.wait(n)
			now := resident()
			t.Logf("%d pictures: %d MB", n, now>>20)
			if begun == 0 {
				begun = now
			}
		}
		b.succeed(fmt.Sprint("t", n), address)
	}
	b.wait(pictures)
	ended := resident()
	if t.Logf("%d pictures of 4 MB: %d MB of memory, %d MB after a quarter", pictures, ended>>20, begun>>20); ended > begun+64<<20 {
		t.Error("memory grows with the pictures")
	}
}

// passing is a store that keeps nothing for long: ten thousand pictures of 4 MB fill a disk.
type passing struct{ store.Store }

func (p passing) Put(ctx context.Context, key string, o *store.Object) error {
	if err := p.Store.Put(ctx, key, o); err != nil {
		return err
	}
	return p.Delete(ctx, []string{key})
}

// resident is this process's resident memory in bytes, or where the system does not say that, what it has of the system.
func resident() (size int) {
	text, _ := os.ReadFile("/proc/self/status")
	if _, rest, found := strings.Cut(string(text), "VmRSS:"); found {
		_, _ = fmt.Sscan(rest, &size)
		return size << 10
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.Sys)
}

// wait waits until so many pictures are stored, for as long as any is.
func (b *bench) wait(pictures int) {
	for last, at := 0, time.Now(); ; time.Sleep(10 * time.Millisecond) {
		n := b.counted()["stored"]
		if n >= pictures {
			return
		}
		if n > last {
			last, at = n, time.Now()
		}
		if time.Since(at) > 2*time.Minute {
			b.Fatal(n, "of", pictures, "are stored")
		}
	}
}

// bytesStore is a store in memory.
type bytesStore struct {
	keys
	mu  sync.Mutex
	all map[string]store.Object
}

func newBytes() *bytesStore { return &bytesStore{all: map[string]store.Object{}} }

func (s *bytesStore) Put(_ context.Context, key string, o *store.Object) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[key] = store.Object{Body: append([]byte{}, o.Body...), Type: o.Type, Task: o.Task}
	return nil
}

func (s *bytesStore) Get(_ context.Context, key string) (*store.Kept, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.all[key]
	if !ok {
		return nil, store.ErrAbsent
	}
	return &store.Kept{ReadSeekCloser: open{strings.NewReader(string(o.Body))}, Size: int64(len(o.Body)), Type: o.Type, Task: o.Task,
		SHA256: strings.Repeat("0", 64)}, nil
}

type open struct{ *strings.Reader }

func (open) Close() error { return nil }
