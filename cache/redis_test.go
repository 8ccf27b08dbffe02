package cache_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"sluice/cache"
)

// claims has the methods that every form promises the gateway.
type claims interface {
	Put(ctx context.Context, claim cache.Claim) bool
	Get(ctx context.Context, team, task string) (cache.Claim, bool, error)
	List(ctx context.Context, teams []string, f cache.Filter) ([]cache.Claim, int, error)
	Take(ctx context.Context, team, task string) (cache.Turn, error)
	Release(ctx context.Context, team, task string, after time.Duration)
	Hear(ctx context.Context, claim *cache.Claim, answer cache.Answer, body []byte, queries int) (cache.Claim, error)
	Due(ctx context.Context, most int, first map[string]bool) ([]cache.Claim, error)
	Schedule(ctx context.Context, claim *cache.Claim, at time.Time) error
	Forget(ctx context.Context, claim *cache.Claim) error
	Maintain(ctx context.Context) error
	Allow(ctx context.Context, team string, spare bool) (bool, error)
	Begin(ctx context.Context, name cache.IdempotencyName, body [sha256.Size]byte, token string) (cache.Outcome, bool, error)
	Join(ctx context.Context, all cache.IdempotencyName, body [sha256.Size]byte, a cache.Attempt) (cache.IdempotencyName, cache.Outcome, bool, error)
	End(ctx context.Context, name cache.IdempotencyName, body [sha256.Size]byte, outcome cache.Outcome)
	Leave(ctx context.Context, name cache.IdempotencyName)
}

type inMemory struct {
	*cache.Claims
	*cache.Queries
	*cache.Outcomes
}

// forms runs a test over memory, a real Redis and its double. replica opens another view of the same state.
func forms(t *testing.T, test func(t *testing.T, replica func() claims)) {
	t.Run("memory", func(t *testing.T) {
		m := inMemory{cache.NewClaims(time.Hour, time.Now), cache.NewQueries(20, time.Now), cache.NewOutcomes(time.Hour, time.Now)}
		test(t, func() claims { return m })
	})
	t.Run("redis", func(t *testing.T) {
		address := realRedis(t)
		test(t, func() claims { return open(t, "unix", address) })
	})
	t.Run("miniredis", func(t *testing.T) {
		server := miniredis.RunT(t)
		test(t, func() claims { return open(t, "tcp", server.Addr()) })
	})
}

func open(t *testing.T, network, address string) *cache.Redis {
	client := redis.NewClient(&redis.Options{Network: network, Addr: address, Protocol: 2, MaxRetries: -1, DisableIdentity: true, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = client.Close() })
	client.SAdd(t.Context(), "sl1:teams", "search", "shop")
	return cache.NewRedis(cache.RedisConfig{Client: client, Timeout: time.Second, TTL: time.Hour, Fresh: time.Millisecond, Rate: 20, Now: time.Now})
}

// realRedis starts a redis-server for the test and returns its socket.
func realRedis(t *testing.T) string {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("CI_REQUIRES_REDIS") != "" {
			t.Fatal("redis-server is not installed, and CI requires it")
		}
		t.Skip("redis-server is not installed; miniredis runs the same test")
	}
	dir, err := os.MkdirTemp("", "sluice")
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "socket")
	server := exec.Command(path, "--port", "0", "--unixsocket", socket, "--save", "", "--dir", dir)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait(); _ = os.RemoveAll(dir) })
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		if conn, err := net.Dial("unix", socket); err == nil {
			_ = conn.Close()
			return socket
		}
		if time.Since(begun) > 10*time.Second {
			t.Fatal("redis-server did not start")
		}
	}
}

func aClaim(team, task string) cache.Claim {
	return cache.Claim{
		Team: team, Task: task, Key: "k", Model: "gen2.6-image", Hold: cache.Hold{ID: "h-" + task, Day: 20261121, Month: 202611, Images: 4, Price: 7},
		Answer: heard(task, cache.Pending), Body: []byte(`{"output":{"task_status":"PENDING"}}`),
	}
}

// A claim or an answer of one replica is known to the others, and to no other team.
func TestReplicasKnowTheSame(t *testing.T) {
	forms(t, func(t *testing.T, replica func() claims) {
		ctx, a, b := t.Context(), replica(), replica()
		a.Put(ctx, aClaim("search", "t1"))
		got, ok, err := b.Get(ctx, "search", "t1")
		if want := aClaim("search", "t1"); err != nil || !ok || got.Hold != want.Hold || got.Model != want.Model || got.Key != "k" || string(got.Body) != string(want.Body) || time.Since(got.Created) > time.Minute {
			t.Fatalf("%+v %v %v", got, ok, err)
		}
		for _, other := range [][2]string{{"shop", "t1"}, {"search", "t2"}} {
			if c, ok, err := b.Get(ctx, other[0], other[1]); ok || err != nil {
				t.Errorf("%v got %+v, %v", other, c, err)
			}
		}
		again := aClaim("search", "t1")
		again.Model = "other"
		b.Put(ctx, again)
		heardBy, err := a.Hear(ctx, &got, heard("t1", cache.Succeeded), []byte("end"), 0)
		if err != nil || !heardBy.Final() || string(heardBy.Body) != "end" || heardBy.Model != "gen2.6-image" {
			t.Fatalf("%+v %v", heardBy, err)
		}
		time.Sleep(2 * time.Millisecond) // the other's is not fresh any more
		if got, _, _ := b.Get(ctx, "search", "t1"); string(got.Body) != "end" || !got.Final() {
			t.Errorf("the other replica has %+v", got)
		}
		if back, err := b.Hear(ctx, &got, heard("t1", cache.Running), []byte("late"), 0); err != nil || string(back.Body) != "end" {
			t.Errorf("F-U9: the state went back to %+v, %v", back, err)
		}
	})
}

// The time of an answer does not depend on how long reading it takes.
func TestWhichAnswerWasHeardLater(t *testing.T) {
	forms(t, func(t *testing.T, replica func() claims) {
		a, b := replica(), replica()
		a.Put(t.Context(), aClaim("search", "t1"))
		read := func() cache.Claim {
			time.Sleep(2 * time.Millisecond) // the answer from before is no longer fresh
			claim, ok, err := b.Get(t.Context(), "search", "t1")
			if !ok || err != nil {
				t.Fatal(ok, err)
			}
			return claim
		}
		was := read()
		for range 20 {
			if again := read(); again.HeardAfter(&was) || was.HeardAfter(&again) {
				t.Fatalf("one answer was heard at %v and at %v", was.Fetched, again.Fetched)
			}
		}
		if _, err := a.Hear(t.Context(), &was, heard("t1", cache.Pending), []byte("p"), 0); err != nil {
			t.Fatal(err)
		}
		if again := read(); !again.HeardAfter(&was) || was.HeardAfter(&again) {
			t.Errorf("the answer that was heard at %v is not later than that at %v", again.Fetched, was.Fetched)
		}
	})
}

// One replica at a time queries upstream, until the answer is heard.
func TestOneReplicaQueries(t *testing.T) {
	forms(t, func(t *testing.T, replica func() claims) {
		a, b := replica(), replica()
		a.Put(t.Context(), aClaim("search", "t1"))
		claim, _, _ := a.Get(t.Context(), "search", "t1")
		mine, err := a.Take(t.Context(), "search", "t1")
		theirs, errB := b.Take(t.Context(), "search", "t1")
		if err != nil || errB != nil || mine != cache.Mine || theirs != cache.Busy {
			t.Fatalf("%v %v, %v %v", mine, err, theirs, errB)
		}
		if _, err := a.Hear(t.Context(), &claim, heard("t1", cache.Running), []byte("r"), 0); err != nil {
			t.Fatal(err)
		}
		if theirs, err := b.Take(t.Context(), "search", "t1"); err != nil || theirs != cache.Mine {
			t.Errorf("the answer was heard, and no replica may query: %v", err)
		}
		b.Release(t.Context(), "search", "t1", time.Minute)
		if turn, err := a.Take(t.Context(), "search", "t1"); err != nil || turn != cache.Resting {
			t.Errorf("a query has just failed, and the turn is %d, %v", turn, err)
		}
		b.Release(t.Context(), "search", "t1", 0)
		if mine, err := a.Take(t.Context(), "search", "t1"); err != nil || mine != cache.Mine {
			t.Errorf("it was released, and no replica may query: %v", err)
		}
	})
}

// Each due task is handed to one caller, and not again until it is scheduled or a while has passed.
func TestDueIsHandedOutOnce(t *testing.T) {
	forms(t, func(t *testing.T, replica func() claims) {
		ctx := t.Context()
		views := []claims{replica(), replica(), replica()}
		for n := range 50 {
			views[n%3].Put(ctx, aClaim([]string{"search", "shop"}[n%2], fmt.Sprint("t", n)))
		}
		var handed sync.Map
		var n atomic.Int64
		var handing sync.WaitGroup
		for _, view := range views {
			handing.Go(func() {
				for range 10 {
					list, err := view.Due(ctx, 7, nil)
					if err != nil {
						t.Error(err)
					}
					for _, claim := range list {
						if _, twice := handed.LoadOrStore(claim.Task, true); twice {
							t.Errorf("%s was handed out twice", claim.Task)
						}
						n.Add(1)
					}
				}
			})
		}
		handing.Wait()
		if n.Load() != 50 {
			t.Errorf("%d tasks were handed out, want 50", n.Load())
		}
		first, second, third := aClaim("search", "t0"), aClaim("search", "t2"), aClaim("search", "t4")
		_, _ = views[0].Hear(ctx, &first, heard("t0", cache.Failed), []byte("x"), 1)
		_ = views[0].Forget(ctx, &third)
		for _, claim := range []*cache.Claim{&first, &second, &third} {
			if err := views[1].Schedule(ctx, claim, time.Now().Add(-time.Second)); err != nil {
				t.Error(err)
			}
		}
		list, err := views[2].Due(ctx, 100, nil)
		if err != nil || len(list) != 1 || list[0].Task != "t2" || list[0].Hold.ID != "h-t2" {
			t.Errorf("due are %+v, %v; want t2 alone", list, err)
		}
	})
}

// A team's list has its own tasks, newest first, whichever replica created them.
func TestListOverReplicas(t *testing.T) {
	forms(t, func(t *testing.T, replica func() claims) {
		views := []claims{replica(), replica()}
		for n := range 25 {
			views[n%2].Put(t.Context(), aClaim("search", fmt.Sprint("t", n)))
		}
		views[0].Put(t.Context(), aClaim("shop", "theirs"))
		page, total, err := views[1].List(t.Context(), []string{"search"}, cache.Filter{Page: 2})
		if err != nil || total != 25 || len(page) != 10 || page[0].Task != "t14" {
			t.Errorf("%d of %d: %+v, %v", len(page), total, page, err)
		}
		if page, total, _ := views[1].List(t.Context(), []string{"search"}, cache.Filter{Task: "theirs"}); total != 0 {
			t.Errorf("another team's task is listed: %+v", page)
		}
		if page, total, err := views[1].List(t.Context(), []string{"search"}, cache.Filter{Page: 4}); total != 25 || len(page) != 0 || err != nil {
			t.Errorf("behind the last page: %d of %d, %v", len(page), total, err)
		}
		claim, _, _ := views[1].Get(t.Context(), "search", "t3")
		_, _ = views[1].Hear(t.Context(), &claim, heard("t3", cache.Running), []byte("r"), 0)
		page, total, err = views[0].List(t.Context(), []string{"search"}, cache.Filter{Status: cache.Running})
		if total != 1 || len(page) != 1 || page[0].Task != "t3" || string(page[0].Body) != "r" || page[0].Hold.ID != "h-t3" || err != nil {
			t.Errorf("the list of running tasks: %+v of %d, %v", page, total, err)
		}
	})
}

// However many tasks a team has, the answers of tasks that are not on the page are not read.
func TestAListReadsItsPage(t *testing.T) {
	socket := realRedis(t)
	r, own := open(t, "unix", socket), client(t, socket)
	sent := func() (bytes int) {
		_, text, _ := strings.Cut(own.Info(t.Context(), "stats").Val(), "total_net_output_bytes:")
		if _, err := fmt.Sscan(text, &bytes); err != nil {
			t.Fatal(err)
		}
		return bytes
	}
	for n := range 600 {
		claim := aClaim("search", fmt.Sprint("t", n))
		claim.Body = make([]byte, 10_000)
		r.Put(t.Context(), claim)
	}
	for _, c := range []struct {
		name   string
		filter cache.Filter
		most   int // bytes: the page's ten answers, and the name or the filtered fields of each task
	}{{"all", cache.Filter{}, 10*11_000 + 600*30}, {"open ones", cache.Filter{Open: true}, 10*11_000 + 600*600}} {
		before := sent()
		page, total, err := r.List(t.Context(), []string{"search"}, c.filter)
		read := sent() - before
		if total != 600 || len(page) != 10 || page[0].Task != "t599" || len(page[0].Body) != 10_000 || err != nil {
			t.Errorf("%s: %d of %d, %v", c.name, len(page), total, err)
		}
		if read > c.most {
			t.Errorf("%s: %d bytes are read, want at most %d", c.name, read, c.most)
		}
	}
}

// All replicas together keep to the rate of queries.
func TestQueriesOverReplicas(t *testing.T) {
	forms(t, func(t *testing.T, replica func() claims) {
		views := []claims{replica(), replica(), replica()}
		begun, granted := time.Now(), 0
		for n := range 200 {
			ok, err := views[n%3].Allow(t.Context(), fmt.Sprint("team", n%4), false)
			if err != nil {
				t.Fatal(err)
			}
			if ok {
				granted++
			}
		}
		if took := time.Since(begun); took < time.Second && granted > 20 || granted < 15 {
			t.Errorf("%d queries in %v", granted, took)
		}
	})
}

// A name runs once over all replicas, and its outcome is known to all.
func TestOnceOverReplicas(t *testing.T) {
	forms(t, func(t *testing.T, replica func() claims) {
		ctx, name := t.Context(), cache.IdempotencyName{Team: "search", Digest: "d"}
		views := []claims{replica(), replica()}
		body := sha256.Sum256([]byte("body"))
		begun, first, err := views[0].Begin(ctx, name, body, rand.Text())
		if err != nil || !first || begun.Token == "" {
			t.Fatal(begun, first, err)
		}
		if was, first, err := views[1].Begin(ctx, name, body, rand.Text()); err != nil || first || was.Status != 0 || was.Body != body {
			t.Fatalf("%+v %v %v", was, first, err)
		}
		views[0].End(ctx, name, body, cache.Outcome{Body: body, Token: begun.Token, Status: 200, Header: map[string]string{"A": "b"}, Answer: []byte("x")})
		if was, first, err := views[1].Begin(ctx, name, body, rand.Text()); err != nil || first || was.Status != 200 || string(was.Answer) != "x" || was.Header["A"] != "b" {
			t.Errorf("%+v %v %v", was, first, err)
		}
		again := cache.IdempotencyName{Team: "search", Digest: "e"}
		begun, _, _ = views[0].Begin(ctx, again, body, rand.Text())
		views[0].End(ctx, again, body, cache.Outcome{Body: body, Token: begun.Token})
		if _, first, err := views[1].Begin(ctx, again, body, rand.Text()); err != nil || !first {
			t.Errorf("a request without a kept outcome may not run again: %v", err)
		}
		views[0].End(ctx, again, body, cache.Outcome{Body: body, Token: begun.Token})
		if was, first, err := views[0].Begin(ctx, again, body, rand.Text()); err != nil || first || was.Status != 0 {
			t.Errorf("the end of one request has freed the name of another: %+v, %v", was, err)
		}
	})
}

// A task belongs to the team that claimed it first, over all replicas, even if the claims could not be written at once.
func TestTheFirstTeamKeepsItsTask(t *testing.T) {
	server := miniredis.RunT(t)
	a, b := open(t, "tcp", server.Addr()), open(t, "tcp", server.Addr())
	ctx := t.Context()
	if first, other, again := a.Put(ctx, aClaim("search", "t1")), b.Put(ctx, aClaim("shop", "t1")), b.Put(ctx, aClaim("search", "t1")); !first || other || !again {
		t.Errorf("first %t, other team %t, again %t", first, other, again)
	}
	server.SetError("LOADING")
	if !b.Put(ctx, aClaim("shop", "t1")) || !b.Put(ctx, aClaim("shop", "t2")) {
		t.Error("a paid task is refused because Redis is away")
	}
	server.SetError("")
	if err := b.Maintain(ctx); err != nil || b.Unwritten() != 0 {
		t.Errorf("%v; %d unwritten", err, b.Unwritten())
	}
	for _, tt := range []struct {
		team, task string
		want       bool
	}{{"search", "t1", true}, {"shop", "t1", false}, {"shop", "t2", true}} {
		for _, r := range []*cache.Redis{a, b} {
			if _, ok, _ := r.Get(ctx, tt.team, tt.task); ok != tt.want {
				t.Errorf("%s has %s: %t", tt.team, tt.task, ok)
			}
		}
	}
	if ttl := server.TTL("sl1:task:t1"); ttl <= 0 || ttl > 2*time.Hour {
		t.Errorf("the owner is kept for %v", ttl)
	}
}

// A claim made while Redis is away works in this replica at once and is written when Redis is back. Meanwhile the replica
// denies no task that it does not know.
func TestClaimedWithoutRedis(t *testing.T) {
	server := miniredis.RunT(t)
	a, b := open(t, "tcp", server.Addr()), open(t, "tcp", server.Addr())
	server.SetError("LOADING")
	ctx := t.Context()
	a.Put(ctx, aClaim("search", "t1"))
	if _, ok, err := a.Get(ctx, "search", "t1"); err != nil || !ok {
		t.Errorf("the replica that made it does not know it: %v", err)
	}
	if _, ok, err := b.Get(ctx, "search", "t1"); err == nil || ok {
		t.Error("another replica denies or shows it")
	}
	claim, _, _ := a.Get(ctx, "search", "t1")
	if ended, err := a.Hear(ctx, &claim, heard("t1", cache.Succeeded), []byte("end"), 0); err != nil || !ended.Final() {
		t.Errorf("%+v, %v", ended, err)
	}
	server.SetError("")
	if err := a.Maintain(ctx); err != nil {
		t.Error(err)
	}
	if got, ok, err := b.Get(ctx, "search", "t1"); err != nil || !ok || string(got.Body) != "end" || got.Hold.ID != "h-t1" {
		t.Errorf("%+v %v %v", got, ok, err)
	}
}

// A value that belongs to another team is not used.
func TestForeignValueIsNotShown(t *testing.T) {
	server := miniredis.RunT(t)
	a, b := open(t, "tcp", server.Addr()), open(t, "tcp", server.Addr())
	a.Put(t.Context(), aClaim("shop", "t1"))
	for field, value := range hash(t, server, "sl1:{shop}:task:t1") {
		server.HSet("sl1:{search}:task:t1", field, value)
	}
	if got, ok, err := b.Get(t.Context(), "search", "t1"); ok || err == nil {
		t.Errorf("another team's claim was shown: %+v", got)
	}
}

func hash(t *testing.T, server *miniredis.Miniredis, key string) map[string]string {
	fields, err := server.HKeys(key)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, field := range fields {
		all[field] = server.HGet(key, field)
	}
	return all
}

// The data of a task, with the prompts and addresses in it, is deleted with the task.
func TestStoredAnswersEnd(t *testing.T) {
	server := miniredis.RunT(t)
	a := open(t, "tcp", server.Addr())
	a.Put(t.Context(), aClaim("search", "t1"))
	claim := aClaim("search", "t1")
	_, _ = a.Hear(t.Context(), &claim, heard("t1", cache.Succeeded), []byte("end"), 0)
	a.End(t.Context(), cache.IdempotencyName{Team: "search", Digest: "d"}, [sha256.Size]byte{}, cache.Outcome{Status: 200, Answer: []byte("x")})
	for _, key := range []string{"sl1:{search}:task:t1", "sl1:{search}:once:d"} {
		if ttl := server.TTL(key); ttl <= 0 || ttl > time.Hour {
			t.Errorf("%s is kept for %v, the task lives for an hour", key, ttl)
		}
	}
}

// Writes that fail for one team delay no other team's, and are made in their order later.
func TestABrokenTeamHoldsUpNoOther(t *testing.T) {
	server := miniredis.RunT(t)
	a, b := open(t, "tcp", server.Addr()), open(t, "tcp", server.Addr())
	ctx := t.Context()
	server.SetError("LOADING")
	for team, task := range map[string]string{"search": "t1", "shop": "t2"} {
		a.Put(ctx, aClaim(team, task))
		claim, _, _ := a.Get(ctx, team, task)
		_, _ = a.Hear(ctx, &claim, heard(task, cache.Succeeded), []byte("end"), 0)
	}
	server.SetError("")
	_ = server.Set("sl1:{search}:tasks", "of another type")
	_ = a.Maintain(ctx)
	if got, ok, err := b.Get(ctx, "shop", "t2"); err != nil || !ok || string(got.Body) != "end" || a.Unwritten() != 2 {
		t.Errorf("%+v %v %v; %d unwritten, want the broken team's 2", got, ok, err, a.Unwritten())
	}
	server.Del("sl1:{search}:tasks")
	_ = a.Maintain(ctx)
	if got, ok, err := b.Get(ctx, "search", "t1"); err != nil || !ok || string(got.Body) != "end" || a.Unwritten() != 0 {
		t.Errorf("%+v %v %v; %d unwritten", got, ok, err, a.Unwritten())
	}
	if _, total, err := b.List(ctx, []string{"search"}, cache.Filter{}); err != nil || total != 1 {
		t.Errorf("%d listed, %v: half of the claim was written", total, err)
	}
}

// A request that has ended takes nothing, however late its Begin or Join arrives; another one with its name runs.
func TestARequestThatHasEndedTakesNothing(t *testing.T) {
	forms(t, func(t *testing.T, replica func() claims) {
		ctx, views, body := t.Context(), []claims{replica(), replica()}, sha256.Sum256([]byte("body"))
		name, all := cache.IdempotencyName{Team: "search", Digest: "d"}, cache.IdempotencyName{Team: "search", Digest: "e"}
		views[0].End(ctx, name, body, cache.Outcome{Body: body, Token: "given up"})
		if was, runs, err := views[1].Begin(ctx, name, body, "given up"); runs || !errors.Is(err, cache.ErrEnded) {
			t.Errorf("a late begin: %+v, %v, %v", was, runs, err)
		}
		if _, runs, err := views[1].Begin(ctx, name, body, "sent again"); err != nil || !runs {
			t.Errorf("the next request: %v, %v", runs, err)
		}
		views[0].End(ctx, all, body, cache.Outcome{Body: body, Token: "given up too"})
		late := cache.Attempt{Token: "given up too", Counts: true}
		if _, was, runs, err := views[1].Join(ctx, all, body, late); runs || !errors.Is(err, cache.ErrEnded) {
			t.Errorf("a late join: %+v, %v, %v", was, runs, err)
		}
		if _, _, runs, err := views[1].Join(ctx, all, body, cache.Attempt{Token: "repeated", Number: 1, Counts: true}); err != nil || !runs {
			t.Errorf("the repetition: %v, %v", runs, err)
		}
	})
}
