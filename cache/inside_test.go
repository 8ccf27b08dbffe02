package cache

import (
	"crypto/rand"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// Of two answers that arrive in one process at the same time, the later state is kept in either order.
func TestNearKeepsTheLater(t *testing.T) {
	n, begun := newLocalCache(), time.Now()
	for i := range 5000 {
		task := fmt.Sprint(i)
		var keeping sync.WaitGroup
		for _, status := range []Status{Running, Succeeded} {
			keeping.Go(func() { n.merge(&Claim{Team: "s", Task: task, Answer: Answer{Status: status}, Fetched: begun}) })
		}
		keeping.Wait()
		if !n.get("s", task).Final() {
			t.Fatal("the end was overwritten by RUNNING")
		}
	}
}

// Of two answers with the same state, the one received later is kept, by Redis's number if it has one. A read changes nothing,
// and this process's own counts continue.
func TestNearKeepsTheLaterOfOneState(t *testing.T) {
	now := time.Now()
	claim := func(body string, fetched int64, after time.Duration) *Claim {
		return &Claim{Team: "s", Task: "t", Answer: Answer{Status: Running}, Body: []byte(body), counts: new(counts), fetched: fetched,
			Fetched: now.Add(after)}
	}
	for _, c := range []struct {
		name          string
		first, second *Claim
		kept          string
	}{
		{"read later", claim("a", 0, 0), claim("b", 0, 1), "b"},
		{"read before", claim("a", 0, 1), claim("b", 0, 0), "a"},
		{"the same, read again", claim("a", 7, 1), claim("b", 7, 0), "b"},
		{"stored before, read later", claim("a", 8, 0), claim("b", 7, 1), "a"},
		{"stored later, read before", claim("a", 7, 1), claim("b", 8, 0), "b"},
	} {
		n := newLocalCache()
		n.merge(c.first)
		c.first.CountPoll()
		merged := n.merge(c.second)
		got := n.get("s", "t")
		if string(got.Body) != c.kept || merged != got {
			t.Errorf("%s: %s is kept, want %s", c.name, got.Body, c.kept)
		}
		if served, _ := got.Polls(); served != 1 {
			t.Errorf("%s: %d polls are counted, want 1", c.name, served)
		}
	}
}

// Refused attempts are remembered only as long as a repetition may arrive: a team whose requests are all refused fills no memory.
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
	if _, _, _, err := o.Join(t.Context(), IdempotencyName{"search", "made"}, [32]byte{1},
		Attempt{Token: rand.Text(), Counts: true}); err != nil {
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

// The same in Redis: a list of only refused attempts lives for minutes, one with a request that was not refused as long as that
// request.
func TestRefusedAttemptsAreForgottenByRedis(t *testing.T) {
	server := miniredis.RunT(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), Protocol: 2, DisableIdentity: true})
	t.Cleanup(func() { _ = client.Close() })
	o := NewRedis(RedisConfig{Client: client, Timeout: time.Minute, TTL: time.Hour, Fresh: time.Millisecond, Rate: 20, Now: time.Now})
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

// What is kept beside Redis takes no more memory than it is weighed.
func TestClaimsTakeWhatTheyWeigh(t *testing.T) {
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	kept, before := newLocalCache(), heap()
	const most = 20_000
	for range most {
		text := func(about string) string { return about + "-" + rand.Text()[:12] } // memory of its own, as in a reply
		claim := &Claim{
			Team: "search", Task: text("task-of-the-service-with-a-long-id"), Key: text(""), Model: text("gen2.6"), Callback: text("jobs"),
			Body: make([]byte, 700), counts: new(counts), written: text(""),
			Hold: Hold{ID: text("request-with-an-id"), Endpoint: text("image"), Tag: text("tag"), Key: text(""), Size: text("1280*1280"),
				Whole: make([]byte, 300)}, Fetched: time.Now(),
		}
		claim.Answer = Answer{Task: text("task-of-the-service-with-a-long-id"), Status: Status(text("SUCC"))}
		kept.merge(claim)
	}
	kept.claims.CleanUp()
	took, weighs := int64(heap())-int64(before), int64(kept.claims.WeightedSize())
	t.Logf("%d bytes a claim, weighed %d", took/most, weighs/most)
	if n := kept.claims.EstimatedSize(); n != most || took > weighs || took < weighs/2 {
		t.Errorf("%d claims take %d bytes and are weighed %d", n, took, weighs)
	}
	runtime.KeepAlive(kept)
}
