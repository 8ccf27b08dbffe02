package gateway_test

import (
	"context"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"sluice/cache"
	"sluice/gateway/simulator"
	"sluice/policy/limit"
)

// dueFirst records the teams that were to go first.
type dueFirst struct {
	*cache.Claims
	teams atomic.Pointer[string]
}

func (a *dueFirst) Due(ctx context.Context, most int, first map[string]bool) ([]cache.Claim, error) {
	teams := strings.Join(slices.Sorted(maps.Keys(first)), ",")
	a.teams.Store(&teams)
	return a.Claims.Due(ctx, most, first)
}

// faltering are claims whose background work panics, once each.
type faltering struct {
	*cache.Claims
	maintained, handed atomic.Int64
}

func (p *faltering) Maintain(ctx context.Context) error {
	if p.maintained.Add(1) == 1 {
		panic("of Maintain")
	}
	return p.Claims.Maintain(ctx)
}

func (p *faltering) Due(ctx context.Context, most int, first map[string]bool) ([]cache.Claim, error) {
	if p.handed.Add(1) == 1 {
		panic("of Due")
	}
	return p.Claims.Due(ctx, most, first)
}

// Background work that panics goes on in its next round.
func TestBackgroundWorkOutlivesItsPanics(t *testing.T) {
	p := new(faltering)
	h, _ := tasked(t, func(plan *plan) {
		p.Claims = cache.NewClaims(plan.config.TaskTTL, plan.now)
		plan.claims = p
	})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.gateway.Work(ctx)
	}()
	for begun := time.Now(); p.maintained.Load() < 2 || p.handed.Load() < 2; time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > time.Minute {
			t.Fatalf("after a minute there were %d rounds of Maintain and %d of Due", p.maintained.Load(), p.handed.Load())
		}
	}
	stop()
	<-done
}

// Teams that may have no more open tasks go first, whether their tasks are due or not.
func TestFullTeamsGoFirst(t *testing.T) {
	due := new(dueFirst)
	h, clock := tasked(t, limited("open_tasks: 2"), func(p *plan) {
		due.Claims = cache.NewClaims(p.config.TaskTTL, p.now)
		p.claims = due
	})
	finish := func(about, want string) {
		t.Helper()
		h.gateway.Finish(t.Context())
		if got := *due.teams.Load(); got != want {
			t.Errorf("%s: first go %q, want %q", about, got, want)
		}
	}
	h.create(t)
	h.create(t, "Authorization", "Bearer "+h.keys["shop"]) // which has no limit
	finish("there is room for one", "")
	h.create(t)
	finish("there is none", "search")
	finish("nothing is due", "search")
	clock.move(time.Minute)
	finish("they end", "search")
	finish("they have ended", "")
}

// If a full team has more tasks without end than there are queries, another team's task still gets its turn.
func TestFullTeamsLeaveTurns(t *testing.T) {
	h, clock := tasked(t, limited("open_tasks: 300"), func(p *plan) {
		p.queryRate, p.sim.TaskRate, p.config.PollInterval = 20, 20, time.Second
	})
	h.sim.SetFault(simulator.Fault{On: simulator.EndpointImage, Task: &simulator.FaultTask{Outcome: "never"}})
	for range 300 {
		h.create(t)
	}
	h.sim.SetFault()
	h.create(t, "Authorization", "Bearer "+h.keys["shop"])
	seconds := 0
	for ; seconds < 120 && h.settlements() == ""; seconds++ {
		clock.move(1100 * time.Millisecond)
		h.gateway.Finish(t.Context())
	}
	if got := h.settlements(); got != "succeeded 1" {
		t.Errorf("after two minutes %q is settled", got)
	}
	t.Logf("heard after %d s of a task that takes 11", seconds)
}

// Many tasks are due at once, as after Redis lost them. Each round queries as many as the rate leaves to the finisher: none waits for an
// interval because another was queried.
func TestManyTasksThatAreDueAtOnce(t *testing.T) {
	const tasks, left = 60, 15 // of 20 queries a second a quarter is left for clients
	h, clock := tasked(t, func(p *plan) { p.queryRate, p.sim.TaskRate = 20, 20 })
	for range tasks {
		h.create(t)
	}
	clock.move(time.Minute)
	rounds := 0
	for ; rounds < 100 && h.settlements() != "succeeded 60"; rounds++ {
		h.gateway.Finish(t.Context())
		clock.move(1100 * time.Millisecond)
	}
	if rounds > tasks/left+1 {
		t.Errorf("%d tasks take %d rounds, want one for every %d", tasks, rounds, left)
	}
}

// A task whose end was never learned is charged as held when its life ends, once, flagged, counted and logged, wherever claims
// are kept.
func TestNeverHeardOf(t *testing.T) {
	for _, form := range []string{"memory", "redis"} {
		t.Run(form, func(t *testing.T) {
			var server *miniredis.Miniredis
			h, clock := tasked(t, limited("quotas: {images: {month: 100}}"), func(p *plan) {
				if form == "redis" {
					server = miniredis.RunT(t)
					p.claims = claimsIn(t, server, p)
				}
			})
			move := func(d time.Duration) {
				clock.move(d)
				if server != nil {
					server.SetTime(clock.now())
					server.FastForward(d)
				}
			}
			move(0)
			id := h.create(t)
			h.sim.SetFault(simulator.Fault{On: simulator.EndpointTask, Error: &simulator.FaultError{Status: 500}})
			move(24*time.Hour - time.Second)
			h.gateway.Finish(t.Context())
			if strings.Contains(h.log.String(), "charged as held") {
				t.Error("it is charged while its end may still be heard")
			}
			move(2 * time.Second)
			for range 3 {
				move(31 * time.Second) // it may be handed out already
				h.gateway.Finish(t.Context())
			}
			rows, err := h.balances.Rows(t.Context(), limit.Query{Teams: []string{"search"}, Days: days(clock.now().Add(-26*time.Hour), 3)})
			if err != nil || len(rows) != 1 || rows[0].Used[limit.Images] != 1 || rows[0].Estimated[limit.Images] != 1 {
				t.Errorf("%+v, %v", rows, err)
			}
			if n := strings.Count(h.log.String(), "charged as held"); n != 1 {
				t.Errorf("it is logged %d times", n)
			}
			page := httptest.NewRecorder()
			h.tells.Metrics.Handler().ServeHTTP(page, httptest.NewRequest("GET", "/", nil))
			if !strings.Contains(page.Body.String(), `outcome="unheard"} 1`) {
				t.Errorf("it is not counted in\n%s", page.Body)
			}
			h.poll(id).wants(t, 404, "recall/task", "NotFound")
		})
	}
}

// claimsIn keeps claims in a Redis that shares the plan's clock.
func claimsIn(t *testing.T, server *miniredis.Miniredis, p *plan) *cache.Redis {
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), Protocol: 2, MaxRetries: -1, DisableIdentity: true})
	t.Cleanup(func() { _ = client.Close() })
	client.SAdd(t.Context(), "sl1:teams", "search", "shop")
	return cache.NewRedis(cache.RedisConfig{
		Client: client, Timeout: time.Minute, TTL: p.config.TaskTTL, Fresh: p.config.PollInterval, Rate: 20, Now: p.now,
	})
}
