package cache_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"sluice/cache"
)

// absence is a Redis that the test can take away.
type absence struct{ atomic.Bool }

var errAbsent = errors.New("away")

func (a *absence) DialHook(next redis.DialHook) redis.DialHook { return next }

func (a *absence) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if a.Load() {
			cmd.SetErr(errAbsent)
			return errAbsent
		}
		return next(ctx, cmd)
	}
}

func (a *absence) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if a.Load() {
			for _, cmd := range cmds {
				cmd.SetErr(errAbsent)
			}
			return errAbsent
		}
		return next(ctx, cmds)
	}
}

// replica is one process's view of the state in Redis, with a clock that can be behind and a Redis that can be away.
type replica struct {
	*cache.Redis
	behind atomic.Int64 // nanoseconds
	memory atomic.Int64 // of Redis, by number
	away   *absence
}

func newReplica(t *testing.T, network, address string) *replica {
	client := redis.NewClient(&redis.Options{Network: network, Addr: address, Protocol: 2, MaxRetries: -1, DisableIdentity: true, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = client.Close() })
	client.SAdd(t.Context(), "sl1:teams", "search", "shop")
	r := &replica{away: new(absence)}
	r.memory.Store(1)
	client.AddHook(r.away)
	r.Redis = cache.NewRedis(cache.RedisConfig{
		Client: client, Timeout: time.Second, TTL: time.Hour, Fresh: time.Millisecond, Rate: 20,
		Now:    func() time.Time { return time.Now().Add(-time.Duration(r.behind.Load())) },
		Memory: r.memory.Load,
	})
	return r
}

// putAged claims a task that is so old, as a replica does that could not reach Redis until now.
func (r *replica) putAged(t *testing.T, age time.Duration, claim cache.Claim) {
	t.Helper()
	r.away.Store(true)
	r.behind.Store(int64(age))
	r.Put(t.Context(), claim)
	r.behind.Store(0)
	r.away.Store(false)
	if err := r.Maintain(t.Context()); err != nil || r.Unwritten() > 0 {
		t.Fatalf("%d unwritten, %v", r.Unwritten(), err)
	}
}

// overRedis runs a test over a real Redis and its double. replica opens another view of it; flush makes it lose its memory.
func overRedis(t *testing.T, test func(t *testing.T, replica func() *replica, flush func())) {
	run := func(network, address string) func(t *testing.T) {
		return func(t *testing.T) {
			client := redis.NewClient(&redis.Options{Network: network, Addr: address, Protocol: 2, DisableIdentity: true})
			t.Cleanup(func() { _ = client.Close() })
			test(t, func() *replica { return newReplica(t, network, address) }, func() {
				if err := client.FlushAll(t.Context()).Err(); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
	t.Run("redis", func(t *testing.T) { run("unix", realRedis(t))(t) })
	t.Run("miniredis", func(t *testing.T) { run("tcp", miniredis.RunT(t).Addr())(t) })
}

// agedForms runs a test over every form, with tasks that were claimed so long ago.
func agedForms(t *testing.T, age time.Duration, tasks []cache.Claim, test func(t *testing.T, other claims)) {
	t.Run("memory", func(t *testing.T) {
		clock := &clock{time.Now().Add(-age)}
		m := inMemory{cache.NewClaims(time.Hour, clock.now), nil, nil}
		for i := range tasks {
			m.Put(t.Context(), tasks[i])
		}
		clock.Time = clock.Add(age)
		test(t, m)
	})
	overRedis(t, func(t *testing.T, replica func() *replica, _ func()) {
		r := replica()
		for i := range tasks {
			r.putAged(t, age, tasks[i])
		}
		test(t, replica())
	})
}

// An expired task whose end was never seen is handed out with its hold, so that it is charged. Polls and lists no
// longer find it.
func TestUnheardOfIsHandedOut(t *testing.T) {
	agedForms(t, 90*time.Minute, []cache.Claim{aClaim("search", "t1")}, func(t *testing.T, other claims) {
		if got, ok, err := other.Get(t.Context(), "search", "t1"); ok || err != nil {
			t.Errorf("a poll finds it: %+v %v", got, err)
		}
		if page, total, err := other.List(t.Context(), []string{"search"}, cache.Filter{}); total != 0 || err != nil {
			t.Errorf("it is listed: %+v %v", page, err)
		}
		due, err := other.Due(t.Context(), 10, nil)
		if err != nil || len(due) != 1 || due[0].Hold != aClaim("search", "t1").Hold || time.Since(due[0].Created) < 80*time.Minute {
			t.Fatalf("due are %+v, %v", due, err)
		}
		if err := other.Forget(t.Context(), &due[0]); err != nil {
			t.Error(err)
		}
		if err := other.Schedule(t.Context(), &due[0], time.Now().Add(-time.Second)); err != nil {
			t.Error(err)
		}
		if due, err := other.Due(t.Context(), 10, nil); err != nil || len(due) != 0 {
			t.Errorf("due again are %+v, %v", due, err)
		}
	})
}

// A claim that is written late is due and listed for as long as one that was written in time.
func TestALateClaimShortensNoList(t *testing.T) {
	server := miniredis.RunT(t)
	a := newReplica(t, "tcp", server.Addr())
	a.Put(t.Context(), aClaim("search", "t1"))
	a.putAged(t, 50*time.Minute, aClaim("search", "t2"))
	for _, key := range []string{"sl1:{search}:tasks", "sl1:{search}:due"} {
		if ttl := server.TTL(key); ttl < time.Hour {
			t.Errorf("%s is kept for %v, a task of it lives for an hour", key, ttl)
		}
	}
	if n := fmt.Sprint(server.TTL("sl1:{search}:task:t2").Round(time.Minute)); n != "1h10m0s" {
		t.Errorf("the late claim is kept for %s, of two hours 50 minutes have passed", n)
	}
}
