package cache_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/cache"
	"sluice/policy/limit/limittest"
)

// store has the methods that every form promises the gateway.
type store interface {
	Put(ctx context.Context, claim cache.Claim) bool
	Get(ctx context.Context, team, task string) (cache.Claim, bool, error)
	Owner(ctx context.Context, task string) (team string, known bool, err error)
	List(ctx context.Context, teams []string, f cache.Filter) (cache.Page, error)
	Take(ctx context.Context, team, task string) (cache.Turn, error)
	Release(ctx context.Context, team, task string, after time.Duration)
	Hear(ctx context.Context, claim *cache.Claim, answer cache.Answer, body []byte, queries int) (cache.Claim, error)
	Streamed(ctx context.Context, claim *cache.Claim, counted string)
	Due(ctx context.Context, most int, first map[string]bool) ([]cache.Claim, error)
	Schedule(ctx context.Context, claim *cache.Claim, at time.Time) error
	Forget(ctx context.Context, claim *cache.Claim) error
	Maintain(ctx context.Context) error
	Allow(ctx context.Context, w cache.Wish) (bool, error)
	Begin(ctx context.Context, name cache.IdempotencyName, body [sha256.Size]byte, token string) (cache.Outcome, bool, error)
	Join(ctx context.Context, all cache.IdempotencyName, body [sha256.Size]byte, a cache.Attempt) (cache.IdempotencyName, cache.Outcome, bool,
		error)
	End(ctx context.Context, name cache.IdempotencyName, body [sha256.Size]byte, outcome cache.Outcome)
	Leave(ctx context.Context, name cache.IdempotencyName)
}

// replica is one process's view of a store, with a clock that can be behind, and a Redis that can be away.
type replica struct {
	store
	*testing.T
	redis  *cache.Redis // nil in memory
	behind atomic.Int64 // nanoseconds
	memory atomic.Int64 // of Redis, by number
	away   atomic.Bool
	panics atomic.Int64                                 // of background work
	around func(cmd redis.Cmder, do func() error) error // runs a command by calling do, or not; nil: calls it
}

// forms runs a test over memory, a real Redis and its double. open opens another view of the same state.
func forms(t *testing.T, test func(t *testing.T, open func() *replica)) {
	t.Run("memory", func(t *testing.T) {
		test(t, inMemory(t))
	})
	overRedis(t, func(t *testing.T, open func() *replica, _ func()) { test(t, open) })
}

// inMemory returns what opens views of one state in memory, which share a clock.
func inMemory(t *testing.T) func() *replica {
	r := &replica{T: t}
	r.store = struct {
		*cache.Claims
		*cache.Queries
		*cache.Outcomes
	}{cache.NewClaims(time.Hour, r.now), cache.NewQueries(20, r.now), cache.NewOutcomes(time.Hour, r.now)}
	return func() *replica { return r }
}

// overRedis runs a test over a real Redis and its double. flush makes Redis lose its memory.
func overRedis(t *testing.T, test func(t *testing.T, open func() *replica, flush func())) {
	limittest.Redises(t, func(t *testing.T, own redis.UniversalClient) {
		at := own.(*redis.Client).Options()
		test(t, func() *replica { return open(t, at) }, func() {
			if err := own.FlushDB(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
		})
	})
}

// open opens a replica over Redis.
func open(t *testing.T, at *redis.Options) *replica {
	r := &replica{T: t}
	r.memory.Store(1)
	client := dial(t, at)
	client.SAdd(t.Context(), "sl1:teams", "search", "shop")
	client.AddHook(r)
	r.redis = cache.NewRedis(cache.RedisConfig{
		Client: client, Timeout: time.Minute, TTL: time.Hour, Fresh: time.Millisecond, Rate: 20, Now: r.now, Memory: r.memory.Load,
		Fence: r.fence,
	})
	r.store = r.redis
	return r
}

// fence counts panics.
func (r *replica) fence(work func()) (whole bool) {
	defer func() {
		if recover() != nil {
			r.panics.Add(1)
		}
	}()
	work()
	return true
}

func dial(t *testing.T, at *redis.Options) *redis.Client {
	c := redis.NewClient(&redis.Options{Network: at.Network, Addr: at.Addr, DB: at.DB, Protocol: 2, MaxRetries: -1, DisableIdentity: true,
		ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestMain(m *testing.M) {
	code := m.Run()
	limittest.StopRedis()
	os.Exit(code)
}

// realRedis empties a database of the redis-server of the tests.
func realRedis(t *testing.T) *redis.Options { return limittest.RealRedis(t).(*redis.Client).Options() }

func (r *replica) now() time.Time { return time.Now().Add(-time.Duration(r.behind.Load())) }

var errAway = errors.New("away")

// A replica is the hook of its own client.

func (r *replica) DialHook(next redis.DialHook) redis.DialHook { return next }

func (r *replica) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		do := func() error { return next(ctx, cmd) }
		err := errAway
		switch {
		case r.away.Load():
		case r.around == nil:
			return do()
		default:
			err = r.around(cmd, do)
		}
		if err != nil {
			cmd.SetErr(err)
		}
		return err
	}
}

func (r *replica) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if !r.away.Load() {
			return next(ctx, cmds)
		}
		for _, cmd := range cmds {
			cmd.SetErr(errAway)
		}
		return errAway
	}
}

// What tests do with a replica. Each fails the test if it fails.

func aClaim(team, task string) cache.Claim {
	return cache.Claim{
		Team: team, Task: task, Key: "k", Model: "gen2.6-image", Callback: "jobs/42",
		Hold:   cache.Hold{ID: "h-" + task, Day: 20261121, Month: 202611, Images: 4, Size: "1K", Price: 7, Whole: []byte(`{"model":"*"}`)},
		Answer: heard(task, cache.Pending), Body: []byte(`{"output":{"task_status":"PENDING"}}`),
	}
}

func heard(task string, status cache.Status) cache.Answer {
	return cache.Answer{Task: task, Status: status}
}

// put claims tasks for a team.
func (r *replica) put(team string, tasks ...string) {
	r.Helper()
	for _, task := range tasks {
		if !r.Put(r.Context(), aClaim(team, task)) {
			r.Fatalf("%s is not %s's", task, team)
		}
	}
}

// many claims n tasks and returns their ids.
func (r *replica) many(team, name string, n int) (tasks []string) {
	for i := range n {
		tasks = append(tasks, fmt.Sprint(name, i))
	}
	r.put(team, tasks...)
	return tasks
}

// get returns a claim, which must exist.
func (r *replica) get(team, task string) cache.Claim {
	r.Helper()
	claim, ok, err := r.Get(r.Context(), team, task)
	if !ok || err != nil {
		r.Fatalf("%s's %s: %v, %v", team, task, ok, err)
	}
	return claim
}

// hear records an answer with this body in the store.
func (r *replica) hear(team, task string, status cache.Status, body string) cache.Claim {
	r.Helper()
	claim := r.get(team, task)
	claim, err := r.Hear(r.Context(), &claim, heard(task, status), []byte(body), 0)
	if err != nil {
		r.Fatal(err)
	}
	return claim
}

// take takes a turn to query a task and checks the result.
func (r *replica) take(task string, want cache.Turn) {
	r.Helper()
	if got, err := r.Take(r.Context(), "search", task); got != want || err != nil {
		r.Errorf("the turn to query %s is %v, %v; want %v", task, got, err, want)
	}
}

// schedule makes tasks due, a second ago.
func (r *replica) schedule(team string, tasks ...string) {
	r.Helper()
	for _, task := range tasks {
		if err := r.Schedule(r.Context(), &cache.Claim{Team: team, Task: task}, r.now().Add(-time.Second)); err != nil {
			r.Error(err)
		}
	}
}

// due takes up to most due tasks.
func (r *replica) due(most int, first ...string) []cache.Claim {
	r.Helper()
	goes := map[string]bool{}
	for _, team := range first {
		goes[team] = true
	}
	list, err := r.Due(r.Context(), most, goes)
	if err != nil {
		r.Fatal(err)
	}
	return list
}

// listed checks that the team's list has that many tasks.
func (r *replica) listed(want int) {
	r.Helper()
	if page, err := r.List(r.Context(), []string{"search"}, cache.Filter{}); page.Total != want || err != nil {
		r.Errorf("%d are listed, %v; want %d", page.Total, err, want)
	}
}

// absent checks that the store denies a task, or, if it cannot know, that it returns an error.
func (r *replica) absent(team, task string, tells bool) {
	r.Helper()
	if got, ok, err := r.Get(r.Context(), team, task); ok || (err == nil) != tells {
		r.Errorf("%s's %s is %+v, %v, %v", team, task, got, ok, err)
	}
}

// maintain checks that Maintain reports news with these words, or none.
func (r *replica) maintain(news string) {
	r.Helper()
	if err := r.Maintain(r.Context()); (err != nil) != (news != "") || err != nil && !strings.Contains(err.Error(), news) {
		r.Errorf("Maintain reports %v, want %q", err, news)
	}
}

// begin begins a request that runs once, and checks whether it runs.
func (r *replica) begin(name cache.IdempotencyName, want bool) cache.Outcome {
	r.Helper()
	was, first, err := r.Begin(r.Context(), name, bodySum, rand.Text())
	if first != want || err != nil {
		r.Errorf("it runs: %v, %v, %+v; want %v", first, err, was, want)
	}
	return was
}

var (
	bodySum = sha256.Sum256([]byte("body"))
	onceD   = cache.IdempotencyName{Team: "search", Digest: "d"}
	onceE   = cache.IdempotencyName{Team: "search", Digest: "e"}
)
