package cache_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/cache"
)

// Two replicas share the account's rate of cancels, apart from that of queries; without Redis each uses the rate alone.
func TestCancelsOfReplicas(t *testing.T) {
	address := realRedis(t)
	a, b := open(t, "unix", address), open(t, "unix", address)
	cancels := []*cache.RedisQueries{a.Cancels, b.Cancels}
	for range 30 {
		_, _ = a.Allow(t.Context(), "search", false)
	}
	allowed := func() (n int) {
		for i := range 60 {
			if ok, err := cancels[i%2].Allow(t.Context(), "search", false); err != nil {
				t.Fatal(err)
			} else if ok {
				n++
			}
		}
		return n
	}
	if n := allowed(); n != 20 {
		t.Errorf("%d cancels at once, want 20", n)
	}
	at := time.Now()
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: address})
	_ = client.Close()
	gone := cache.NewRedis(cache.RedisConfig{Client: client, Timeout: time.Second, TTL: time.Hour, Rate: 20, Now: func() time.Time { return at }}).Cancels
	cancels = []*cache.RedisQueries{gone, gone}
	if n := allowed(); n != 20 {
		t.Errorf("%d cancels at once without Redis, want 20", n)
	}
}
