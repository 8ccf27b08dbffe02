package gateway_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"sluice/cache"
)

// slowRedis keeps the next command under way, until the test delivers it.
type slowRedis struct {
	delays bool
	late   []any
}

func (s *slowRedis) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *slowRedis) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (s *slowRedis) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if s.delays {
			s.delays, s.late = false, cmd.Args()
			cmd.SetErr(context.DeadlineExceeded)
			return context.DeadlineExceeded
		}
		return next(ctx, cmd)
	}
}

// Redis does not answer in time, the client is told to send its request again, and the first one's call reaches Redis late: the request
// that is sent again makes its task.
func TestARequestSentAgainIsNotLockedOut(t *testing.T) {
	for about, ask := range map[string]func(h *harness, number string) reading{
		"by an Idempotency-Key": func(h *harness, _ string) reading {
			return h.ask("POST", imagePath, imageBody, append([]string{"Idempotency-Key", "a"}, async...)...)
		},
		"pictures by an Idempotency-Key": func(h *harness, _ string) reading {
			return h.ask("POST", frontImages, onePicture, "Idempotency-Key", "a")
		},
		"pictures by their content": func(h *harness, number string) reading {
			return h.ask("POST", frontImages, onePicture, "X-Stainless-Retry-Count", number)
		},
	} {
		t.Run(about, func(t *testing.T) {
			var server *miniredis.Miniredis
			var network *redis.Client
			var store *cache.Redis
			slow, e := new(slowRedis), &easel{}
			h := painting(t, e.on, func(p *plan) { // here, so that all is closed before goroutines are counted
				server = miniredis.RunT(t)
				open := func() *redis.Client {
					client := redis.NewClient(&redis.Options{Addr: server.Addr(), Protocol: 2, DisableIdentity: true, MaxRetries: -1})
					t.Cleanup(func() { _ = client.Close() })
					return client
				}
				client := open()
				client.AddHook(slow)
				network = open()
				store = cache.NewRedis(cache.RedisConfig{Client: client, Timeout: time.Second, TTL: time.Hour, Fresh: time.Millisecond, Rate: 20, Now: time.Now})
				p.outcomes, p.config.ImageWait = store, time.Second
			})
			for _, number := range []string{"0", "1"} { // so that Redis has the scripts
				ask(h, number)
			}
			server.FlushDB()
			made := e.count(&e.made, 0)
			slow.delays = true
			if got := ask(h, "0"); got.status != http.StatusServiceUnavailable || got.header.Get("Sluice-Refusal") != "admit/state" {
				t.Fatalf("%d %s", got.status, got.body)
			}
			if _ = store.Maintain(t.Context()); store.Unwritten() != 0 {
				t.Fatalf("%d writes wait", store.Unwritten())
			}
			if err := network.Do(t.Context(), slow.late...).Err(); err != nil {
				t.Fatal(err)
			}
			if got := ask(h, "1"); got.status != http.StatusOK || e.count(&e.made, 0) != made+1 {
				t.Errorf("%d %s, %d tasks made", got.status, got.body, e.made-made)
			}
		})
	}
}
