package limit

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"sluice/policy"
	"sluice/policy/teams"
)

// The three forms of the accounts: in memory, in a real Redis, and in the double that stands in where no redis-server
// is installed. One contract holds for all.
type form struct {
	*testing.T
	name   string
	clock  *testClock
	memory *Memory
	redis  *Redis
	client redis.UniversalClient
	epoch  map[string]int64 // by team, as a caller would remember it
	before func()           // called before each step of a history; nil: nothing is
	// lenient: what fails panics, for the caller to recover.
	lenient bool
}

// testClock is moved by the test.
type testClock struct {
	mu    sync.Mutex
	at    time.Time
	asked atomic.Int64
}

func (c *testClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *testClock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func (c *testClock) micros() int64 { return c.now().UnixMicro() }

// wrong is the time as a process has it whose own clock nobody may rely on: right, a day slow, a day fast.
func (c *testClock) wrong() time.Time {
	return c.now().AddDate(0, 0, int(c.asked.Add(1)%3)-1)
}

func newClock() *testClock { return &testClock{at: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)} }

func newMemoryForm(t *testing.T) *form {
	c := newClock()
	return &form{T: t, name: "memory", clock: c, memory: NewMemory(c.now)}
}

func newRedisForm(t *testing.T, client redis.UniversalClient) *form {
	c := newClock()
	r := NewRedis(client)
	r.clock, r.now = c.micros, c.wrong
	return &form{T: t, name: "redis", clock: c, redis: r, client: client, epoch: map[string]int64{}}
}

// forms runs a test over every form.
func forms(t *testing.T, test func(f *form)) {
	t.Run("memory", func(t *testing.T) { test(newMemoryForm(t)) })
	t.Run("redis", func(t *testing.T) { test(newRedisForm(t, realRedis(t))) })
	t.Run("miniredis", func(t *testing.T) { test(newRedisForm(t, fakeRedis(t))) })
}

func fakeRedis(t *testing.T) redis.UniversalClient {
	server := miniredis.RunT(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), Protocol: 2, MaxRetries: -1, DisableIdentity: true})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// server is the one redis-server of this test binary; each test has a database of its own, emptied before.
var server struct {
	sync.Mutex
	socket string
	port   int
	next   int
	stop   func()
}

func realRedis(t testing.TB) redis.UniversalClient {
	server.Lock()
	defer server.Unlock()
	if server.socket == "" {
		startRedis(t)
	}
	server.next = (server.next + 1) % 16
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: server.socket, DB: server.next, Protocol: 2, MaxRetries: -1, DisableIdentity: true, PoolSize: 64})
	if err := client.FlushDB(context.Background()).Err(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// tcpRedis is the same server over TCP, as a gateway reaches it.
func tcpRedis(t testing.TB) redis.UniversalClient {
	realRedis(t)
	client := redis.NewClient(&redis.Options{Addr: fmt.Sprintf("127.0.0.1:%d", server.port), DB: server.next, Protocol: 2, MaxRetries: -1, DisableIdentity: true, ContextTimeoutEnabled: true, PoolSize: 64, PipelinePoolSize: -1})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func startRedis(t testing.TB) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("CI_REQUIRES_REDIS") != "" {
			t.Fatal("redis-server is not installed, and CI requires it")
		}
		t.Skip("redis-server is not installed; miniredis runs the same test")
	}
	dir, err := os.MkdirTemp("", "sluice-redis")
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "socket")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server.port = listener.Addr().(*net.TCPAddr).Port
	_ = listener.Close()
	command := exec.Command(path, "--port", fmt.Sprint(server.port), "--bind", "127.0.0.1", "--unixsocket", socket, "--save", "", "--dir", dir)
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	server.stop = func() { _ = command.Process.Kill(); _ = command.Wait(); _ = os.RemoveAll(dir) }
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.Contains(lines.Text(), "ready to accept connections at") {
	}
	go func() {
		for lines.Scan() { // it must not block on its log
		}
	}()
	if conn, err := net.Dial("unix", socket); err != nil {
		t.Fatalf("redis-server did not start: %v", err)
	} else {
		_ = conn.Close()
	}
	server.socket = socket
}

// fail ends the test, or the history where the form is lenient.
func (f *form) fail(format string, args ...any) {
	f.Helper()
	if f.lenient {
		panic(fmt.Sprintf(format, args...))
	}
	f.Fatalf(format, args...)
}

func (f *form) admit(h Hold) state {
	f.Helper()
	s, err := f.tryAdmit(h)
	if err != nil {
		f.fail("%s: admit %+v: %v", f.name, h, err)
	}
	return s
}

func (f *form) tryAdmit(h Hold) (state, error) {
	t := termsOf(h.Team)
	if h.Lease == 0 {
		h.Lease = time.Hour
	}
	if f.memory != nil {
		return f.memory.admit(context.Background(), &h, &t)
	}
	s, err := f.redis.admit(context.Background(), &h, &t, &loan{}, witness{epoch: f.epoch[h.Team.ID]})
	if err == nil && s.outcome != lost {
		f.epoch[h.Team.ID] = s.epoch
	}
	return s, err
}

func (f *form) held(h Hold) *Held {
	date, t := calendarOf(f.clock.now()), termsOf(h.Team)
	rates := t.rateSet()
	return &Held{ID: h.ID, Team: h.Team.ID, Model: h.Model, Endpoint: h.Endpoint, Amounts: h.Amounts, Day: date.day, Month: date.month, Task: h.Task, rates: rates}
}

func (f *form) settle(h *Held, team *teams.Team, used Amounts, estimated bool) bool {
	f.Helper()
	done, err := f.trySettle(h, team, used, estimated)
	if err != nil {
		f.fail("%s: settle %+v: %v", f.name, h, err)
	}
	return done
}

func (f *form) trySettle(h *Held, team *teams.Team, used Amounts, estimated bool) (bool, error) {
	c := &Charge{Held: h, Team: team, Amounts: used, Estimated: estimated}
	if f.memory != nil {
		t := termsOf(team)
		return f.memory.settle(context.Background(), c, &t)
	}
	return f.redis.settle(context.Background(), c, used, false)
}

func (f *form) extend(h *Held, lease time.Duration) {
	f.Helper()
	var err error
	if f.memory != nil {
		err = f.memory.extend(context.Background(), h, lease)
	} else {
		_, err = f.redis.extend(context.Background(), h, lease)
	}
	if err != nil {
		f.fail("%v", err)
	}
}

func (f *form) sweep(team string) int {
	f.Helper()
	var n int
	var err error
	if f.memory != nil {
		n, err = f.memory.sweep(context.Background(), team, 100)
	} else {
		n, err = f.redis.sweep(context.Background(), team, 100)
	}
	if err != nil {
		f.fail("%v", err)
	}
	return n
}

// look reads a team's accounts and changes nothing.
func (f *form) look(team *teams.Team) state {
	f.Helper()
	return f.admit(Hold{Team: team})
}

// team reads a team out of the lines of a teams file.
func team(t testing.TB, lines ...string) *teams.Team {
	t.Helper()
	doc := "teams:\n  - id: search\n"
	for _, line := range lines {
		doc += "    " + line + "\n"
	}
	file, err := teams.Parse([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	return file.List[0]
}

func hold(id string, team *teams.Team, amounts Amounts) Hold {
	return Hold{ID: id, Team: team, Model: "llm-max", Endpoint: policy.EndpointText, Amounts: amounts}
}

func id(n int) string { return fmt.Sprintf("h%d", n) }
