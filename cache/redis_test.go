package cache_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"sluice/cache"
)

// double starts a Redis that a test looks into, and opens two replicas over it.
func double(t *testing.T) (server *miniredis.Miniredis, a, b *replica) {
	server = miniredis.RunT(t)
	return server, open(t, &redis.Options{Addr: server.Addr()}), open(t, &redis.Options{Addr: server.Addr()})
}

// However many tasks a team has, the answers of tasks that are not on the page are not read.
func TestAListReadsItsPage(t *testing.T) {
	at := realRedis(t)
	r, own := open(t, at), dial(t, at)
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
	}{
		{"all", cache.Filter{}, 10*11_000 + 600*30},
		{"open ones", cache.Filter{Open: true}, 10*11_000 + 600*30},
		{"of a model", cache.Filter{Model: "gen2.6-image"}, 10*11_000 + 600*600},
	} {
		before := sent()
		page, err := r.List(t.Context(), []string{"search"}, c.filter)
		read := sent() - before
		if page.Total != 600 || len(page.Tasks) != 10 || page.Tasks[0].Task != "t599" || len(page.Tasks[0].Body) != 10_000 || err != nil {
			t.Errorf("%s: %d of %d, %v", c.name, len(page.Tasks), page.Total, err)
		}
		if read > c.most {
			t.Errorf("%s: %d bytes are read, want at most %d", c.name, read, c.most)
		}
	}
}

// A task belongs to the team that claimed it first, over all replicas, even if the claims could not be written immediately.
func TestTheFirstTeamKeepsItsTask(t *testing.T) {
	server, a, b := double(t)
	a.put("search", "t1")
	if b.Put(t.Context(), aClaim("shop", "t1")) {
		t.Error("another team has the task")
	}
	server.SetError("LOADING")
	b.put("shop", "t1", "t2") // a paid task is not refused because Redis is away
	server.SetError("")
	b.maintain("had been claimed before: 1")
	b.maintain("")
	if n := b.redis.Unwritten(); n != 0 {
		t.Errorf("%d unwritten", n)
	}
	for _, r := range []*replica{a, b} {
		r.get("search", "t1")
		r.absent("shop", "t1", true)
		r.get("shop", "t2")
	}
	if ttl := server.TTL("sl1:task:t1"); ttl <= 0 || ttl > 2*time.Hour {
		t.Errorf("the owner is kept for %v", ttl)
	}
}

// A claim made while Redis is away works in this replica immediately and is written when Redis is back. Meanwhile the replica
// denies no task that it does not know.
func TestClaimedWithoutRedis(t *testing.T) {
	server, a, b := double(t)
	server.SetError("LOADING")
	a.put("search", "t1")
	b.absent("search", "t1", false)
	if ended := a.hear("search", "t1", cache.Succeeded, "end"); !ended.Final() {
		t.Errorf("%+v", ended)
	}
	server.SetError("")
	a.maintain("")
	if got := b.get("search", "t1"); string(got.Body) != "end" || got.Hold.ID != "h-t1" {
		t.Errorf("%+v", got)
	}
}

// A task is claimed for two holds of a team while Redis is away: the hold that Redis hears of first keeps it, and the other's process
// learns that. What that process heard does not end it: only that hold was settled. A claim whose reply was lost is made again, and counts
// as the first.
func TestTheFirstHoldKeepsItsTask(t *testing.T) {
	at := realRedis(t)
	a, b, second := open(t, at), open(t, at), aClaim("search", "t1")
	second.Hold.ID = "h-other"
	a.around = func(_ redis.Cmder, do func() error) error { return errors.Join(do(), errAway) }
	b.away.Store(true)
	a.put("search", "t1")
	if !b.Put(t.Context(), second) {
		t.Error("a paid task is refused because Redis is away")
	}
	b.hear("search", "t1", cache.Succeeded, "end")
	a.around = nil
	b.away.Store(false)
	a.maintain("")
	b.maintain("had been claimed before: 1")
	for _, r := range []*replica{a, b} {
		if got := r.get("search", "t1"); got.Hold.ID != "h-t1" || got.Final() || r.redis.Unwritten() != 0 {
			t.Errorf("%+v; %d unwritten", got, r.redis.Unwritten())
		}
	}
	if due := a.due(9); len(due) != 1 {
		t.Errorf("due are %+v", due)
	}
}

// A value that belongs to another team is not used.
func TestForeignValueIsNotShown(t *testing.T) {
	server, a, b := double(t)
	a.put("shop", "t1")
	fields, _ := server.HKeys("sl1:{shop}:task:t1")
	for _, field := range fields {
		server.HSet("sl1:{search}:task:t1", field, server.HGet("sl1:{shop}:task:t1", field))
	}
	b.absent("search", "t1", false)
}

// The data of a task, with the prompts and addresses in it, is deleted with the task. A claim that is written late is due and listed for
// as long as one that was written in time.
func TestHowLongKeysLive(t *testing.T) {
	server, a, _ := double(t)
	a.put("search", "t1", "t3")
	a.putAged(50*time.Minute, "t2")
	a.hear("search", "t1", cache.Succeeded, "end")
	a.End(t.Context(), onceD, bodySum, cache.Outcome{Status: 200, Answer: []byte("x")})
	for key, want := range map[string]string{
		"task:t1": "1h0m0s", "once:d": "1h0m0s", "task:t3": "2h0m0s", "tasks": "2h0m0s", "due": "2h0m0s",
		"task:t2": "1h10m0s", // of two hours 50 minutes have passed
	} {
		if life := server.TTL("sl1:{search}:" + key).Round(time.Minute).String(); life != want {
			t.Errorf("%s is kept for %s, want %s", key, life, want)
		}
	}
}

// Writes that fail for one team delay no other team's, and are made in their order later.
func TestABrokenTeamHoldsUpNoOther(t *testing.T) {
	server, a, b := double(t)
	server.SetError("LOADING")
	for team, task := range map[string]string{"search": "t1", "shop": "t2"} {
		a.put(team, task)
		a.hear(team, task, cache.Succeeded, "end")
	}
	server.SetError("")
	_ = server.Set("sl1:{search}:tasks", "of another type")
	_ = a.Maintain(t.Context())
	if got := b.get("shop", "t2"); string(got.Body) != "end" || a.redis.Unwritten() != 2 {
		t.Errorf("%+v; %d unwritten, want the broken team's 2", got, a.redis.Unwritten())
	}
	server.Del("sl1:{search}:tasks")
	_ = a.Maintain(t.Context())
	if got := b.get("search", "t1"); string(got.Body) != "end" || a.redis.Unwritten() != 0 {
		t.Errorf("%+v; %d unwritten", got, a.redis.Unwritten())
	}
	b.listed(1) // no part of the claim was written before
}

// A task is created and ends while Redis is away. Redis then gets its final state: a replica that briefly found it
// running would query it.
func TestAClaimIsToldAsItStands(t *testing.T) {
	at := realRedis(t)
	r, own, first := open(t, at), dial(t, at), ""
	r.away.Store(true)
	r.put("search", "t1")
	r.hear("search", "t1", cache.Succeeded, "end")
	r.away.Store(false)
	r.around = func(_ redis.Cmder, do func() error) error {
		err := do()
		if first == "" {
			first = own.HGet(t.Context(), "sl1:{search}:task:t1", "final").Val()
		}
		return err
	}
	r.maintain("")
	if first != "1" {
		t.Errorf("Redis gets an open task: %q", first)
	}
}

// A request that runs once is forgotten, and the reply is lost. Another request has the name when the command is
// repeated: its outcome stays.
func TestALateEndFreesNoOthersName(t *testing.T) {
	at := realRedis(t)
	a, b := open(t, at), open(t, at)
	refused := a.begin(onceD, true)
	a.around = func(_ redis.Cmder, do func() error) error {
		if err := do(); err != nil {
			return err
		}
		return errors.New("the reply is lost")
	}
	a.End(t.Context(), onceD, bodySum, refused)
	a.around = nil
	if n := a.redis.Unwritten(); n != 1 {
		t.Errorf("the reply was not lost: %d unwritten", n)
	}
	made := b.begin(onceD, true)
	made.Status, made.Answer = 200, []byte("a task")
	b.End(t.Context(), onceD, bodySum, made)
	a.maintain("")
	if was := b.begin(onceD, false); string(was.Answer) != "a task" || a.redis.Unwritten() != 0 {
		t.Errorf("the creation runs a second time: %+v", was)
	}
}

// More writes wait than are kept. The newest is dropped, and the next flush reports it once.
func TestTooManyWritesWait(t *testing.T) {
	_, r, _ := double(t)
	r.away.Store(true)
	for i := range 10_001 {
		r.End(t.Context(), cache.IdempotencyName{Team: "search", Digest: strconv.Itoa(i)}, bodySum,
			cache.Outcome{Status: 200, Answer: []byte("a task")})
	}
	for _, news := range []string{"1 claims, answers or outcomes were dropped", ""} {
		if n := r.redis.Unwritten(); n != 10_000 {
			t.Errorf("%d writes wait, want 10,000", n)
		}
		r.maintain(news)
	}
}

// A request gives up because Redis does not answer, and its command reaches Redis after the name was freed. It takes no name: the
// client's next request with that name runs.
func TestALateCommandTakesNoName(t *testing.T) {
	ctx := t.Context()
	for about, ask := range map[string]func(r *replica, token string) (runs bool, err error){
		"by an Idempotency-Key": func(r *replica, token string) (bool, error) {
			_, runs, err := r.Begin(ctx, onceD, bodySum, token)
			return runs, err
		},
		"by its content": func(r *replica, token string) (bool, error) {
			_, _, runs, err := r.Join(ctx, onceE, bodySum, cache.Attempt{Token: token, Number: 1, Counts: true})
			return runs, err
		},
	} {
		t.Run(about, func(t *testing.T) {
			at := realRedis(t)
			own, slow, on := dial(t, at), open(t, at), open(t, at)
			if _, err := ask(on, "before"); err != nil { // so that Redis has the script
				t.Fatal(err)
			}
			own.FlushDB(ctx)
			var late []any // the command that is under way
			slow.around = func(cmd redis.Cmder, do func() error) error {
				if late != nil {
					return do()
				}
				late = cmd.Args()
				return context.DeadlineExceeded
			}
			if _, err := ask(slow, "given up"); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
			if _ = slow.Maintain(ctx); slow.redis.Unwritten() != 0 {
				t.Fatalf("%d unwritten", slow.redis.Unwritten())
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

// exist checks which of the tasks t1 and none Exist reports for a team.
func (r *replica) exist(about, team string, t1, none bool) {
	r.Helper()
	if got, err := r.redis.Exist(r.Context(), team, []string{"none", "t1"}); err != nil ||
		!maps.Equal(got, map[string]bool{"t1": t1, "none": none}) {
		r.Errorf("%s %s has %v %v", about, team, got, err)
	}
}

// Exist reports a team's tasks without reading them, and Here what this process knows: another replica's tasks exist and are not
// known here until they are read. Another team's do not exist. A task that Redis may have lost is not denied, because replicas
// may not have restored it yet. Nor are tasks denied that Redis has.
func TestTasksThatExistAndThoseKnownHere(t *testing.T) {
	overRedis(t, func(t *testing.T, open func() *replica, flush func()) {
		one, other := open(), open()
		one.put("search", "t1", "t2")
		one.hear("search", "t1", cache.Succeeded, "{}")
		here := func(r *replica, known, serves bool) {
			t.Helper()
			if k, s := r.redis.Here("search", "t1"); k != known || s != serves {
				t.Errorf("known %v, serves %v, want %v, %v", k, s, known, serves)
			}
		}
		here(one, true, true)
		here(other, false, false)
		other.exist("at first", "search", true, false)
		other.exist("at first", "shop", false, false)
		other.get("search", "t1")
		here(other, true, true)
		other.get("search", "t2") // it knows the memory of the team
		flush()
		other.exist("after a loss", "search", true, true)
	})
}
