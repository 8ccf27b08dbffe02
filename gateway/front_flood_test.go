package gateway_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sluice/cache"
)

// countedOutcomes count the calls of the store.
type countedOutcomes struct {
	*cache.Outcomes
	joins atomic.Int64
}

func (o *countedOutcomes) Join(ctx context.Context, all cache.IdempotencyName, body [sha256.Size]byte, a cache.Attempt) (cache.IdempotencyName, cache.Outcome, bool, error) {
	o.joins.Add(1)
	return o.Outcomes.Join(ctx, all, body, a)
}

// A team that is at its limit and sends pictures all the same is refused without a look at the store, like any request that was
// refused a moment ago; its repetitions are looked up.
func TestFrontFloodOfRefusedPicturesSparesTheStore(t *testing.T) {
	const flood = 600
	store := &countedOutcomes{Outcomes: cache.NewOutcomes(24*time.Hour, time.Now)}
	e := &easel{}
	h := painting(t, limited("quotas: {images: {day: 1}}"), e.on, func(p *plan) { p.outcomes = store })
	first := h.attempt(0)
	begun := time.Now()
	for i := range flood {
		body := strings.Replace(onePicture, "lighthouse", fmt.Sprint("mill ", i), 1)
		if got := h.ask("POST", frontImages, body, "X-Stainless-Retry-Count", "0"); got.status != http.StatusTooManyRequests {
			t.Fatal(got.status, got.body)
		}
	}
	asked := store.joins.Load()
	if most := 300 + int64(60*time.Since(begun).Seconds()); most < flood && asked > most {
		t.Errorf("%d of %d refused requests were looked up, want at most %d", asked, flood, most)
	}
	if again := h.attempt(1); again.body != first.body {
		t.Errorf("a repetition of a paid picture: %d %s", again.status, again.body)
	}
}
