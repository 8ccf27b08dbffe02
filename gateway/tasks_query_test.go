package gateway_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"sluice/cache"
)

// waited signals a poll's check whether another replica still queries, and counts the checks that found no query.
type waited struct {
	*cache.Claims
	looks chan struct{}
	free  *atomic.Int32
}

func (w waited) Take(ctx context.Context, team, task string) (cache.Turn, error) {
	turn, err := w.Claims.Take(ctx, team, task)
	if turn == cache.Busy {
		select {
		case w.looks <- struct{}{}:
		default:
		}
	} else {
		w.free.Add(1)
	}
	return turn, err
}

// Another replica queries a task. A poll waits for its answer, and if that query fails the poll waits no longer: it
// gets the last known answer.
func TestAPollWaitsForAnotherReplica(t *testing.T) {
	parallel(t)
	for _, c := range []struct {
		name, status, cached string
		ends                 func(claims *cache.Claims, claim *cache.Claim)
	}{
		{"it is told", "RUNNING", "sluice;fwd=uri-miss;collapsed", func(claims *cache.Claims, claim *cache.Claim) {
			body := []byte(`{"output":{"task_id":"` + claim.Task + `","task_status":"RUNNING"}}`)
			_, _ = claims.Hear(context.Background(), claim, cache.ReadAnswer(body, time.UTC), body, 0)
		}},
		{"it asked in vain", "PENDING", "sluice;hit;ttl=-1;detail=stale", func(claims *cache.Claims, claim *cache.Claim) {
			claims.Release(context.Background(), claim.Team, claim.Task, time.Minute)
		}},
		{"it had no query left", "PENDING", "sluice;hit;ttl=-1;detail=stale", func(claims *cache.Claims, claim *cache.Claim) {
			claims.Release(context.Background(), claim.Team, claim.Task, 0)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := waited{looks: make(chan struct{}), free: new(atomic.Int32)}
			h, clock := tasked(t, func(p *plan) { w.Claims = cache.NewClaims(p.config.TaskTTL, p.now); p.claims = w })
			id := h.create(t)
			clock.move(6 * time.Second)
			if turn, err := w.Claims.Take(t.Context(), "search", id); turn != cache.Mine || err != nil {
				t.Fatal(turn, err)
			}
			claim, _, _ := w.Get(t.Context(), "search", id)
			go func() {
				<-w.looks // when the poll comes
				<-w.looks // while it waits
				c.ends(w.Claims, &claim)
			}()
			got := h.poll(id)
			if status, cached := got.member(t, "output", "task_status"), got.header.Get("Cache-Status"); status != c.status || cached != c.cached {
				t.Errorf("%s, %s; want %s, %s", status, cached, c.status, c.cached)
			}
			if n := w.free.Load(); n != 1 {
				t.Errorf("it checked %d times without finding another replica's query, want once", n)
			}
		})
	}
}
