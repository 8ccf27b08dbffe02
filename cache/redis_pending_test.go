package cache_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/cache"
)

// around runs a command by calling do, or not; its error replaces the reply's.
type around func(cmd redis.Cmder, do func() error) error

func (a around) DialHook(next redis.DialHook) redis.DialHook { return next }

func (a around) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := a(cmd, func() error { return next(ctx, cmd) })
		if err != nil {
			cmd.SetErr(err)
		}
		return err
	}
}

func (a around) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// openAround opens a replica whose commands are run by a.
func openAround(t *testing.T, socket string, a around) *cache.Redis {
	client := client(t, socket)
	client.AddHook(a)
	return cache.NewRedis(cache.RedisConfig{Client: client, Timeout: time.Second, TTL: time.Hour, Fresh: time.Millisecond, Rate: 20, Now: time.Now})
}

func client(t *testing.T, socket string) *redis.Client {
	c := redis.NewClient(&redis.Options{Network: "unix", Addr: socket, Protocol: 2, MaxRetries: -1, DisableIdentity: true})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// A task is created and ends while Redis is away. Redis then gets its final state: a replica that briefly found it
// running would query it.
func TestAClaimIsToldAsItStands(t *testing.T) {
	socket := realRedis(t)
	own, away, first := client(t, socket), true, ""
	r := openAround(t, socket, func(_ redis.Cmder, do func() error) error {
		if away {
			return errAbsent
		}
		err := do()
		if first == "" {
			first = own.HGet(t.Context(), "sl1:{search}:task:t1", "final").Val()
		}
		return err
	})
	r.Put(t.Context(), aClaim("search", "t1"))
	claim, _, _ := r.Get(t.Context(), "search", "t1")
	if _, err := r.Hear(t.Context(), &claim, heard("t1", cache.Succeeded), []byte("end"), 0); err != nil {
		t.Fatal(err)
	}
	away = false
	if err := r.Maintain(t.Context()); err != nil {
		t.Error(err)
	}
	if first != "1" {
		t.Errorf("Redis gets an open task: %q", first)
	}
}

// A request that runs once is forgotten, and the reply is lost. Another request has the name when the command is
// repeated: its outcome stays.
func TestALateEndFreesNoOthersName(t *testing.T) {
	socket, lost := realRedis(t), false
	a := openAround(t, socket, func(_ redis.Cmder, do func() error) error {
		err := do()
		if err == nil && lost {
			return errors.New("the reply is lost")
		}
		return err
	})
	b := open(t, "unix", socket)
	ctx, name, body := t.Context(), cache.IdempotencyName{Team: "search", Digest: "d"}, sha256.Sum256([]byte("b"))
	begin := func(r *cache.Redis) cache.Outcome {
		t.Helper()
		was, first, err := r.Begin(ctx, name, body, rand.Text())
		if !first || err != nil {
			t.Fatal(first, err)
		}
		return was
	}
	refused := begin(a)
	lost = true
	a.End(ctx, name, body, refused)
	lost = false
	if a.Unwritten() != 1 {
		t.Errorf("the reply was not lost: %d unwritten", a.Unwritten())
	}
	made := begin(b)
	made.Status, made.Answer = 200, []byte("a task")
	b.End(ctx, name, body, made)
	if err := a.Maintain(ctx); err != nil || a.Unwritten() != 0 {
		t.Errorf("%v; %d unwritten", err, a.Unwritten())
	}
	if was, first, err := b.Begin(ctx, name, body, rand.Text()); first || err != nil || string(was.Answer) != "a task" {
		t.Errorf("the creation runs a second time: %+v, %v, %v", was, first, err)
	}
}

// More writes wait than are kept. The newest is dropped, and the next flush reports it once.
func TestTooManyWritesWait(t *testing.T) {
	r := openAround(t, realRedis(t), func(redis.Cmder, func() error) error { return errAbsent })
	body := sha256.Sum256([]byte("b"))
	for i := range 10_001 {
		r.End(t.Context(), cache.IdempotencyName{Team: "search", Digest: strconv.Itoa(i)}, body, cache.Outcome{Status: 200, Answer: []byte("a task")})
	}
	if n := r.Unwritten(); n != 10_000 {
		t.Errorf("%d writes wait, want 10,000", n)
	}
	if err := r.Maintain(t.Context()); err == nil || !strings.Contains(err.Error(), "1 claims, answers or outcomes were dropped") {
		t.Errorf("%v, want the dropped write", err)
	}
	if err := r.Maintain(t.Context()); err != nil && strings.Contains(err.Error(), "dropped") {
		t.Errorf("the dropped write is reported again: %v", err)
	}
	if n := r.Unwritten(); n != 10_000 {
		t.Errorf("%d writes wait after two flushes, want 10,000", n)
	}
}

// A request gives up because Redis does not answer, and its command reaches Redis after the name was freed. It takes nothing: the
// client's next request with that name runs.
func TestALateCommandTakesNoName(t *testing.T) {
	ctx, body := t.Context(), sha256.Sum256([]byte("b"))
	name, all := cache.IdempotencyName{Team: "search", Digest: "d"}, cache.IdempotencyName{Team: "search", Digest: "e"}
	for about, ask := range map[string]func(r *cache.Redis, token string) (runs bool, err error){
		"by an Idempotency-Key": func(r *cache.Redis, token string) (bool, error) {
			_, runs, err := r.Begin(ctx, name, body, token)
			return runs, err
		},
		"by its content": func(r *cache.Redis, token string) (bool, error) {
			_, _, runs, err := r.Join(ctx, all, body, cache.Attempt{Token: token, Number: 1, Counts: true})
			return runs, err
		},
	} {
		t.Run(about, func(t *testing.T) {
			socket := realRedis(t)
			own, on := client(t, socket), open(t, "unix", socket)
			delays, late := false, []any(nil) // late is the command that is under way
			slow := openAround(t, socket, func(cmd redis.Cmder, do func() error) error {
				if delays {
					delays, late = false, cmd.Args()
					return context.DeadlineExceeded
				}
				return do()
			})
			if _, err := ask(on, "before"); err != nil { // so that Redis has the script
				t.Fatal(err)
			}
			own.FlushDB(ctx)
			delays = true
			if _, err := ask(slow, "given up"); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
			if _ = slow.Maintain(ctx); slow.Unwritten() != 0 {
				t.Fatalf("%d unwritten", slow.Unwritten())
			}
			if reply, err := own.Do(ctx, late...).Result(); err != nil {
				t.Fatalf("the late command: %v, %v", reply, err)
			}
			if runs, err := ask(on, "sent again"); err != nil || !runs {
				t.Errorf("sent again it does not run: %v", err)
			}
		})
	}
}
