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
	"testing/synctest"
	"time"

	"sluice/gateway/mirror"
	"sluice/gateway/mirror/store"
	"sluice/gateway/mirror/store/storetest"
	"sluice/gateway/upstream"
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
	counted map[string]int
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
		day: time.Now().UTC().Format("2006/01/02"), hosts: map[string]error{}, counted: map[string]int{},
	}
}

func (b *bench) count(what string, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.counted[what] += n
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

func (b *bench) fetches() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.fetched)
}

func (b *bench) config() mirror.Config {
	return mirror.Config{
		Store: b.store, Works: b.works, Fetch: b.fetch, Measures: b, Now: time.Now, Log: slog.New(slog.NewTextHandler(&b.log, nil)),
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
	w := &event.Work{Task: task, Day: b.day, Ends: time.Now().Add(24 * time.Hour), Told: true, Head: []byte(`{"task_id":"` + task + `"}`)}
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
	if got, err := io.ReadAll(kept); err != nil || !bytes.Equal(got, drawn(address)) || kept.Task == "" || kept.Type != "image/png" || len(kept.SHA256) != 64 {
		b.Errorf("%s: %d bytes, %+v, %v", key, len(got), kept, err)
	}
}

// A success is told when its pictures are stored, as they are.
func TestPicturesAreStoredBeforeTheyAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.run(b.config())
		b.succeed("t1", "https://a/1", "https://a/2")
		time.Sleep(2 * time.Second)
		b.want("task.succeeded t1 2")
		b.kept("search/"+b.day+"/t1/1.png", "https://a/1")
		b.kept("search/"+b.day+"/t1/2.png", "https://a/2")
		if b.counted["stored"] != 2 || b.counted["bytes"] != len(drawn("https://a/1"))*2 || b.fetches() != 2 {
			t.Error(b.counted, b.fetched)
		}
	})
}

// A picture that its host does not give yet holds its success back for ten minutes; what is stored later is told then.
func TestWhatIsStoredLaterIsToldThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		m, _ := b.run(b.config())
		b.host("https://a/2", upstream.ErrStatus)
		b.succeed("t1", "https://a/1", "https://a/2")
		time.Sleep(event.HeldBack - time.Second)
		b.want("")
		if n := m.Waiting(); n != 1 {
			t.Error(n, "pictures wait")
		}
		time.Sleep(2 * time.Second)
		b.want("task.succeeded t1 1 pending")
		b.host("https://a/2", nil)
		time.Sleep(40 * time.Minute)
		b.want("task.stored t1 2, task.succeeded t1 1 pending")
		if n := m.Waiting(); n != 0 || b.counted["failed fetch"] < 4 || b.counted["stored"] != 2 {
			t.Error(n, b.counted)
		}
		if log := b.log.String(); !strings.Contains(log, "task=t1 picture=2") || strings.Contains(log, "https://a") {
			t.Error(log)
		}
	})
}

// While the store is away everything waits, and nothing is lost: what waits is not fetched in vain, and goes on when it is back.
func TestNothingIsLostWhileTheStoreIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.run(b.config())
		b.store.set(true)
		const tasks = 200
		for n := range tasks {
			b.succeed(fmt.Sprint("t", n), fmt.Sprint("https://a/", n))
		}
		time.Sleep(5 * time.Minute)
		b.want("")
		if n := b.fetches(); n > 8+5*6+1 {
			t.Error(n, "fetches while the store was away")
		}
		if log := b.log.String(); strings.Count(log, "the store is away") != 1 {
			t.Error(log)
		}
		b.store.set(false)
		time.Sleep(time.Minute)
		if got := strings.Count(b.told(), "task.succeeded"); got != tasks || b.counted["stored"] != tasks || strings.Contains(b.told(), "pending") {
			t.Errorf("%d told, %v", got, b.counted)
		}
		if b.counted["lost expired"]+b.counted["lost refused"] > 0 || !strings.Contains(b.log.String(), "store=back") {
			t.Error(b.counted, b.log.String())
		}
	})
}

// What is no picture is never stored, and what expires first is lost: both are counted and named, and the success is told without them.
func TestWhatIsLostIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.run(b.config())
		b.host("https://a/1", upstream.ErrNoImage)
		b.host("https://a/2", upstream.ErrTooLarge)
		b.host("https://a/3", upstream.ErrAddress)
		b.succeed("t1", "https://a/1", "https://a/2", "https://a/0")
		time.Sleep(2 * time.Second)
		b.want("task.succeeded t1 1")
		b.succeed("t2", "https://a/3")
		time.Sleep(23 * time.Hour)
		b.want("task.succeeded t1 1, task.succeeded t2 0 pending")
		if b.counted["lost refused"] != 2 || b.counted["lost expired"] != 0 {
			t.Error(b.counted)
		}
		time.Sleep(2 * time.Hour)
		b.want("task.succeeded t1 1, task.succeeded t2 0 pending")
		log := b.log.String()
		if b.counted["lost expired"] != 1 || !strings.Contains(log, "task=t2 picture=1 lost=expired") || !strings.Contains(log, "task=t1 picture=2 lost=refused") {
			t.Error(b.counted, log)
		}
		before := b.fetches()
		time.Sleep(24 * time.Hour)
		if b.fetches() != before {
			t.Error("what is lost is fetched")
		}
	})
}

// The work of a replica that is killed is another's after the lease; one that stops gives it back at once.
func TestAnotherReplicaGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.succeed("killed", "https://a/1")
		if list, _ := b.works.TakeWork(t.Context(), 9); len(list) != 1 { // and is killed
			t.Fatal(list)
		}
		_, stop := b.run(b.config())
		time.Sleep(event.Lease - time.Second)
		b.want("")
		time.Sleep(3 * time.Second)
		b.want("task.succeeded killed 1")
		stop()
		config, hangs := b.config(), make(chan struct{})
		config.Fetch = func(ctx context.Context, _ io.Writer, _ string) (string, error) {
			close(hangs)
			<-ctx.Done()
			return "", ctx.Err()
		}
		b.succeed("stopped", "https://a/2")
		_, stop = b.run(config)
		<-hangs
		time.Sleep(2*event.Lease + time.Second) // it is renewed
		if list, _ := b.works.TakeWork(t.Context(), 9); len(list) > 0 {
			t.Error("two replicas have it")
		}
		stop()
		b.run(b.config())
		time.Sleep(2 * time.Second)
		b.want("task.succeeded killed 1, task.succeeded stopped 1")
	})
}

// A replica without a store stores nothing, and tells what is late.
func TestWithoutAStoreLateSuccessesAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		config := b.config()
		config.Store = nil
		b.run(config)
		b.succeed("t1", "https://a/1")
		time.Sleep(event.HeldBack + 2*time.Second)
		b.want("task.succeeded t1 0 pending")
		if list, _ := b.works.TakeWork(t.Context(), 9); len(list) != 1 {
			t.Error("the work is not left to others", list)
		}
	})
}

// keys is a store that keeps nothing but keys.
type keys map[string]bool

func (k keys) Put(_ context.Context, key string, _ *store.Object) error { k[key] = true; return nil }
func (k keys) Get(context.Context, string) (*store.Kept, error)         { return nil, store.ErrAbsent }
func (k keys) Sign(context.Context, string, time.Duration) (string, error) {
	return "", store.ErrUnsigned
}

func (k keys) List(_ context.Context, prefix, after string, most int) (list []string, err error) {
	for _, key := range slices.Sorted(maps.Keys(k)) {
		if strings.HasPrefix(key, prefix) && key > after && len(list) < most {
			list = append(list, key)
		}
	}
	return list, nil
}

func (k keys) Delete(_ context.Context, list []string) error {
	for _, key := range list {
		delete(k, key)
	}
	return nil
}

// Pictures are deleted when a day's last one is older than its team keeps; other teams' are not, nor what is no picture.
func TestWhatIsTooOldIsDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.store.Store = keys{}
		put := func(key string) {
			if err := b.store.Store.Put(t.Context(), key, &store.Object{Body: []byte(b.day), Type: "image/png"}); err != nil {
				t.Fatal(err)
			}
		}
		date := func(days int) string { return time.Now().UTC().AddDate(0, 0, -days).Format("2006/01/02") }
		for days := range 6 {
			for task := range 250 {
				name := fmt.Sprintf("t%d-%d", days, task)
				put("search/" + date(days) + "/" + name + "/1.png")
				put("search/" + date(days) + "/" + name + "/2.jpg")
				put("search/tasks/" + name)
			}
			put("shop/" + date(days) + "/t/1.png")
		}
		config := b.config()
		config.Keep = func() map[string]time.Duration { return map[string]time.Duration{"search": 72 * time.Hour} }
		b.run(config)
		b.run(config) // another replica, which does nothing
		time.Sleep(2 * time.Second)
		if b.counted["deleted"] != 2*2*250 || strings.Count(b.log.String(), "deleted=1000") != 1 {
			t.Error(b.counted, b.log.String())
		}
		all, err := b.store.List(t.Context(), "", "", 10_000)
		if err != nil || len(all) != 4*3*250+6 {
			t.Error(len(all), err)
		}
		for _, key := range all {
			if strings.Contains(key, "t4-") || strings.Contains(key, "t5-") {
				t.Error(key, "is kept")
			}
		}
		time.Sleep(24 * time.Hour)
		if b.counted["deleted"] != 3*2*250 {
			t.Error(b.counted)
		}
	})
}

// A day's successes are compared with the store, and what is missing is named.
func TestADayIsVerified(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.run(b.config())
		b.host("https://a/2", upstream.ErrNoImage)
		b.succeed("t1", "https://a/1", "https://a/2")
		b.succeed("t2", "https://a/3")
		time.Sleep(2 * time.Second)
		verify := func() string {
			var out bytes.Buffer
			v := mirror.Verification{Store: b.store, Teams: []string{"search", "shop"}, Succeeded: b.works.Succeeded}
			missing, err := v.Run(t.Context(), &out, b.day)
			return fmt.Sprint(out.String(), missing, err)
		}
		want := "missing search t1 2\n" + b.day + ": 2 tasks succeeded with 3 pictures, 1 of them are missing\n1<nil>"
		if got := verify(); strings.ReplaceAll(got, " <nil>", "<nil>") != want {
			t.Error(got)
		}
		if err := b.store.Delete(t.Context(), []string{"search/" + b.day + "/t2/1.png"}); err != nil {
			t.Fatal(err)
		}
		if got := verify(); !strings.Contains(got, "missing search t2 1\n") || !strings.Contains(got, "2 of them") {
			t.Error(got)
		}
	})
}
