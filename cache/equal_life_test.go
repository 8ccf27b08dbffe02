package cache

import (
	"crypto/rand"
	"strconv"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// Refused attempts are remembered only as long as a repetition may come: a team whose requests are all refused fills no memory.
func TestRefusedAttemptsAreForgotten(t *testing.T) {
	now := time.Now()
	o := NewOutcomes(24*time.Hour, func() time.Time { return now })
	refuse := func(digest string) {
		name, was, runs, err := o.Join(t.Context(), IdempotencyName{"search", digest}, [32]byte{1}, Attempt{Token: rand.Text(), Counts: true})
		if err != nil || !runs {
			t.Fatal(runs, err)
		}
		o.End(t.Context(), name, was.Body, Outcome{Token: was.Token})
	}
	if _, _, _, err := o.Join(t.Context(), IdempotencyName{"search", "made"}, [32]byte{1}, Attempt{Token: rand.Text(), Counts: true}); err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		refuse(strconv.Itoa(i))
		refuse("made")
	}
	now = now.Add(refusedFor + time.Second)
	refuse("last")
	if kept := len(o.equal) + len(o.byName) + len(o.oldest) + len(o.refused) + len(o.equal[IdempotencyName{"search", "made"}]); kept > 6 {
		t.Errorf("%d entries are kept: equal %d, by name %d, by age %d and %d", kept, len(o.equal), len(o.byName), len(o.oldest), len(o.refused))
	}
}

// The same in Redis: a list of refused attempts alone lives for minutes, one with a request that was not refused as long as that.
func TestRefusedAttemptsAreForgottenByRedis(t *testing.T) {
	server := miniredis.RunT(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), Protocol: 2, DisableIdentity: true})
	t.Cleanup(func() { _ = client.Close() })
	o := NewRedis(RedisConfig{Client: client, Timeout: time.Second, TTL: time.Hour, Fresh: time.Millisecond, Rate: 20, Now: time.Now})
	all := IdempotencyName{"search", "d"}
	join := func(number int) (IdempotencyName, Outcome) {
		t.Helper()
		name, was, runs, err := o.Join(t.Context(), all, [32]byte{1}, Attempt{Token: rand.Text(), Number: number, Counts: number < 9})
		if err != nil || !runs {
			t.Fatal(runs, err)
		}
		return name, was
	}
	lives := func(about string, want time.Duration) {
		t.Helper()
		if life := server.TTL(equalKey(all)); life != want {
			t.Errorf("%s: the list lives for %s, want %s", about, life, want)
		}
	}
	name, was := join(0)
	lives("one that runs", time.Hour)
	o.End(t.Context(), name, was.Body, Outcome{Token: was.Token})
	lives("one that was refused", refusedFor)
	again, was := join(1)
	lives("its repetition", time.Hour)
	other, wasOther := join(0)
	o.End(t.Context(), again, was.Body, Outcome{Token: was.Token})
	lives("a refused one beside one that runs", time.Hour)
	o.End(t.Context(), other, wasOther.Body, Outcome{Token: wasOther.Token})
	lives("two refused ones", refusedFor)
	if _, first, err := o.Begin(t.Context(), again, [32]byte{1}, rand.Text()); err != nil || !first || again != name {
		t.Error(first, err)
	}
	lives("one that runs again after a wait", time.Hour)
}
