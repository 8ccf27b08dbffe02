package accounts_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/gateway/accounts"
	"sluice/gateway/upstream"
	"sluice/policy/account"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
)

// setOf is a set of accounts, each with the lines of a list in an accounts file.
func setOf(t testing.TB, lines ...string) accounts.Set {
	t.Helper()
	file, err := teams.ParseAccounts([]byte("accounts:\n  - {key_file: /key, " + strings.Join(lines, "}\n  - {key_file: /key, ") + "}\n"))
	if err != nil {
		t.Fatal(err)
	}
	set := accounts.Set{File: file, Keys: map[string]upstream.Secret{}}
	for _, a := range file.List {
		set.Keys[a.ID] = upstream.Secret("sk-canary-" + a.ID + "-0123456789")
	}
	return set
}

// poolOf is a pool with a clock that the test moves.
func poolOf(t testing.TB, set accounts.Set, changes ...func(*accounts.Config)) (*accounts.Pool, *limittest.Clock) {
	t.Helper()
	clock := limittest.NewClock()
	config := accounts.Config{Base: &url.URL{Scheme: "http", Host: "service.example", Path: "/api/v1"}, Now: clock.Now,
		Logger: slog.New(slog.DiscardHandler)}
	for _, change := range changes {
		change(&config)
	}
	r := accounts.New(config, set)
	t.Cleanup(r.Close)
	return r, clock
}

var (
	want      = account.Want{Model: "m", Team: "search"}
	worked    = account.Answer{Sent: true, Complete: true, Status: 200}
	throttled = account.Answer{Sent: true, Complete: true, Status: 429, Code: "Throttling", RetryAfter: 10 * time.Second}
	refused   = account.Answer{Sent: true, Complete: true, Status: 401}
)

// inFlight is what operators are shown as in flight, by account.
func inFlight(r *accounts.Pool) string {
	var list []string
	for _, s := range r.Standings() {
		list = append(list, fmt.Sprint(s.ID, ":", s.InFlight))
	}
	return strings.Join(list, " ")
}

func TestAnAttemptIsCountedOnce(t *testing.T) {
	r, clock := poolOf(t, setOf(t, "id: a", "id: b, weight: 0"))
	one, choice := r.Choose(want)
	if one.Account == nil || one.ID != "a" || choice.Account.ID != "a" || inFlight(r) != "a:1 b:0" {
		t.Fatalf("%+v, in flight %s", choice, inFlight(r))
	}
	two, _ := r.Choose(want)
	if inFlight(r) != "a:2 b:0" {
		t.Error(inFlight(r))
	}
	one.End(worked)
	one.End(worked)
	one.Drop()
	clock.Move(time.Second)
	if inFlight(r) != "a:1 b:0" {
		t.Error(inFlight(r))
	}
	r.Replace(setOf(t, "id: b"))
	two.Drop()
	r.Replace(setOf(t, "id: a", "id: b"))
	if inFlight(r) != "a:0 b:0" {
		t.Error(inFlight(r))
	}
	var none accounts.Attempt
	none.Drop()
}

// Without an accounts file, what the service answers is shown, and refuses nothing.
func TestTheOnlyAccountIsRefusedNothing(t *testing.T) {
	r, clock := poolOf(t, accounts.Main("sk-canary-0123456789"))
	for _, answer := range []account.Answer{throttled, refused} {
		attempt, _ := r.Choose(want)
		attempt.End(answer)
		clock.Move(time.Millisecond)
	}
	if s := r.Standings()[0]; s.ID != teams.MainAccount || s.State != account.Out || len(s.Cooling) != 1 || s.Key != "…6789" {
		t.Errorf("%+v", s)
	}
	attempt, choice := r.Choose(want)
	if attempt.Account == nil || attempt.Spec() != nil || r.Now().Several() {
		t.Errorf("%+v", choice)
	}
	attempt.End(worked)
	again := want
	again.Tried = []string{teams.MainAccount}
	if attempt, choice := r.Choose(again); attempt.Account != nil || choice.Refusal != account.Exhausted {
		t.Errorf("%+v", choice)
	}
}

// However many requests come when a pause ends, one of them probes.
func TestOneOfManyConcurrentRequestsProbes(t *testing.T) {
	for range 300 {
		r, clock := poolOf(t, setOf(t, "id: a", `id: b, models: ["other"]`))
		attempt, _ := r.Choose(want)
		attempt.End(throttled)
		clock.Move(11 * time.Second)
		var probes atomic.Int64
		var choosing sync.WaitGroup
		start := make(chan struct{})
		for range 16 {
			choosing.Go(func() {
				<-start
				if probe, _ := r.Choose(want); probe.Account != nil {
					probes.Add(1)
				}
			})
		}
		close(start)
		choosing.Wait()
		if probes.Load() != 1 || inFlight(r) != "a:1 b:0" {
			t.Fatalf("%d requests probe; in flight %s", probes.Load(), inFlight(r))
		}
	}
}

// That an account of a task is not in the file is logged once for each time that it was removed.
func TestARemovedAccountIsLoggedOnce(t *testing.T) {
	var log strings.Builder
	r, _ := poolOf(t, setOf(t, "id: a"), func(c *accounts.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	for range 2 {
		for range 3 {
			if r.Of("gone") != nil || r.Has("gone") || r.QueryRate("gone") != 0 {
				t.Error("it is there")
			}
		}
		r.Replace(setOf(t, "id: a", "id: gone"))
		r.Replace(setOf(t, "id: a"))
	}
	if n := strings.Count(log.String(), "account=gone"); n != 2 {
		t.Errorf("%d lines:\n%s", n, log.String())
	}
}

// Operators are shown what the file allows an account.
func TestStandingsHaveTheRatesAndQuotasOfTheFile(t *testing.T) {
	r, _ := poolOf(t, setOf(t, "id: a, rates: [{requests: {per: 1s, limit: 5}}], quotas: {images: {day: 7}}", "id: b"))
	s := r.Standings()
	if len(s[0].Limits) != 1 || s[0].Limits[0].Rates[0].Limit != 5 || s[0].Quotas == nil || s[0].Quotas.Quotas[0].Limit != 7 ||
		s[1].Limits != nil || s[1].Quotas != nil {
		t.Errorf("%+v", s)
	}
}

// What a query shows about the key counts; what it shows about rates does not, because queries have their own.
func TestQueriesShowOnlyWhetherTheKeyIsGood(t *testing.T) {
	r, clock := poolOf(t, setOf(t, "id: a", "id: b"))
	for _, tt := range []struct {
		answer account.Answer
		state  account.State
	}{{throttled, account.OK}, {refused, account.Out}, {worked, account.Out}} {
		query := r.Asks(r.Of("a"))
		query.End(tt.answer)
		clock.Move(time.Second)
		if s := r.Standings()[0]; s.State != tt.state || s.InFlight != 0 {
			t.Errorf("after %+v: %+v", tt.answer, s)
		}
	}
}

// A query that began with the key before says nothing about the new one.
func TestAQueryWithTheKeyBeforeShowsNothing(t *testing.T) {
	set := setOf(t, "id: a", "id: b")
	r, clock := poolOf(t, set)
	query := r.Asks(r.Of("a"))
	clock.Move(time.Second)
	set.Keys["a"] = "sk-another-key"
	r.Replace(set)
	clock.Move(time.Second)
	query.End(refused)
	if s := r.Standings()[0]; s.State != account.OK {
		t.Errorf("%+v", s)
	}
	query = r.Asks(r.Of("a"))
	query.End(refused)
	if s := r.Standings()[0]; s.State != account.Out {
		t.Errorf("with the new key: %+v", s)
	}
}

// A change of the file keeps what is known of an account, and its connections unless its address changes.
func TestAChangedFileKeepsWhatIsKnown(t *testing.T) {
	r, clock := poolOf(t, setOf(t, "id: a", "id: b"))
	for attempt, _ := r.Choose(want); attempt.ID != "a"; attempt, _ = r.Choose(want) {
		defer attempt.Drop()
	}
	a := r.Of("a")
	way := a.Way()
	query := r.Asks(a)
	query.End(refused)
	r.Replace(setOf(t, "id: a, weight: 2", "id: c"))
	if s := r.Standings()[0]; s.State != account.Out || s.Weight != 2 || r.Of("a") != a || a.Way().Client != way.Client {
		t.Errorf("%+v", s)
	}
	moved := setOf(t, "id: a, url: https://other.example/api/v1", "id: c")
	moved.Keys["a"] = "sk-canary-another-key"
	clock.Move(time.Second)
	r.Replace(moved)
	if a.Way().Client == way.Client || a.Way().Target("tasks").String() != "https://other.example/api/v1/tasks" {
		t.Error("the address is the old one")
	}
	if _, choice := r.Choose(want); !choice.Probe || choice.Account.ID != "a" {
		t.Errorf("another key is asked at once: %+v", choice)
	}
	for text, id := range map[string]string{"sk-canary-another-key": "a", "sk-canary-a-0123456789": "", "sk-canary-c-0123456789": "c",
		"": ""} {
		if got := r.WithKey(text); got != id {
			t.Errorf("%q is the key of %q", text, got)
		}
	}
	if got := r.Cover("sk-canary-a-0123456789 sk-canary-another-key service.example other.example"); strings.Trim(got, "* ") != "" {
		t.Errorf("what was replaced a moment ago is not covered: %s", got)
	}
}

// A request of an account that is removed meanwhile ends as it began.
func TestARequestOutlivesItsAccount(t *testing.T) {
	answer := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-answer
		_, _ = io.WriteString(w, r.Header.Get("Authorization"))
	}))
	defer server.Close()
	r, _ := poolOf(t, setOf(t, "id: a, url: "+server.URL+"/api/v1", "id: b, weight: 0"), func(c *accounts.Config) {
		c.Client = upstream.Config{ConnectTimeout: time.Minute, HeaderTimeout: time.Minute, IdleTimeout: time.Minute, DrainTime: time.Second,
			Now: time.Now}
	})
	attempt, _ := r.Choose(want)
	way := attempt.Way()
	out := (&http.Request{Method: "GET", URL: way.Target("x"), Header: http.Header{"Authorization": {way.Authorization()}}}).
		WithContext(t.Context())
	got := make(chan string)
	go func() {
		resp, err := way.RoundTrip(out)
		if err != nil {
			got <- err.Error()
			return
		}
		text, err := io.ReadAll(resp.Body)
		got <- fmt.Sprint(string(text), err, resp.Body.Close())
	}()
	r.Replace(setOf(t, "id: b"))
	close(answer)
	if text := <-got; text != "Bearer sk-canary-a-0123456789<nil> <nil>" {
		t.Error(text)
	}
	attempt.End(worked)
}

// Requests that begin and end at random are counted exactly, and no more than one probes at a time.
func TestAttemptsAtRandom(t *testing.T) {
	r, clock := poolOf(t, setOf(t, "id: a, weight: 3", "id: b", "id: c"))
	answers := []account.Answer{worked, worked, throttled, refused, {Sent: true, Status: 500}, {}}
	var all sync.WaitGroup
	for worker := range uint64(8) {
		all.Go(func() {
			random := rand.New(rand.NewPCG(worker, 30))
			for range 2000 {
				attempt, choice := r.Choose(account.Want{Model: []string{"m", "n"}[random.IntN(2)], Team: "search"})
				if attempt.Account == nil {
					if choice.Refusal == account.Busy && choice.Wait <= 0 {
						t.Errorf("no wait: %+v", choice)
					}
					clock.Move(time.Duration(random.IntN(3000)) * time.Millisecond)
					continue
				}
				if random.IntN(4) == 0 {
					attempt.Drop()
				} else {
					attempt.End(answers[random.IntN(len(answers))])
				}
				clock.Move(time.Millisecond)
			}
		})
	}
	all.Wait()
	if got := inFlight(r); got != "a:0 b:0 c:0" {
		t.Errorf("in flight at the end: %s", got)
	}
}

// A request asks each account once, and those that have no room never.
func TestTrialsAskEachAccountOnce(t *testing.T) {
	r, _ := poolOf(t, setOf(t, "id: a", "id: b", "id: c", "id: d"))
	trials := accounts.Trials{Snapshot: r.Now()}
	attempt, _ := r.Choose(want)
	seen := map[string]int{}
	for ok := true; ok; {
		seen[attempt.ID]++
		trials.Judged(&attempt, attempt.End(throttled))
		attempt, ok = trials.Next(want, func(to *accounts.Attempt) time.Duration {
			if to.ID == "d" {
				return time.Second
			}
			return 0
		})
	}
	if seen["a"]+seen["b"]+seen["c"] < 3 || len(seen) > 4 || trials.Longest != 10*time.Second || inFlight(r) != "a:0 b:0 c:0 d:0" {
		t.Errorf("%v, wait %s, in flight %s", seen, trials.Longest, inFlight(r))
	}
	for id, n := range seen {
		if n > 1 {
			t.Errorf("%s was asked %d times", id, n)
		}
	}
}

// mute is a Shared that fails.
type mute struct{}

var errMute = errors.New("away")

func (mute) Share(context.Context, accounts.Pause) error      { return errMute }
func (mute) Pauses(context.Context) ([]accounts.Pause, error) { return nil, errMute }

// Without Redis each replica knows what it hears.
func TestWithoutRedisEachKnowsWhatItHears(t *testing.T) {
	r, _ := poolOf(t, setOf(t, "id: a", "id: b, weight: 0"), func(c *accounts.Config) { c.Shared = mute{} })
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); r.Run(ctx) }()
	attempt, _ := r.Choose(want)
	attempt.End(throttled)
	if _, choice := r.Choose(want); choice.Refusal != account.Busy || choice.Wait != 10*time.Second {
		t.Errorf("%+v", choice)
	}
	stop()
	<-done
}

// BenchmarkTheOnlyAccount is what a request costs that has no choice.
func BenchmarkTheOnlyAccount(b *testing.B) {
	r, _ := poolOf(b, accounts.Main("sk-canary-0123456789"), func(c *accounts.Config) { c.Now = time.Now })
	b.ReportAllocs()
	for b.Loop() {
		attempt, _ := r.Choose(want)
		attempt.End(worked)
	}
}

// BenchmarkOneOfFour is what a choice costs.
func BenchmarkOneOfFour(b *testing.B) {
	r, _ := poolOf(b, setOf(b, "id: a", "id: b", "id: c", "id: d"), func(c *accounts.Config) { c.Now = time.Now })
	b.ReportAllocs()
	for b.Loop() {
		attempt, _ := r.Choose(want)
		attempt.End(worked)
	}
}

// What is known of an account outlives its removal from the file: its pause, also one that is heard of meanwhile, its outage, and its
// requests. Whoever chose it before is sent on with its newest key.
func TestAnAccountThatComesBackIsTheSame(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	shared := new(sharedList)
	r, clock := poolOf(t, setOf(t, "id: a", "id: b"), func(c *accounts.Config) { c.Shared = shared })
	pinned := r.Now()
	attempt, _ := pinned.Choose(account.Want{Model: "other", Tried: []string{"b"}})
	attempt.End(throttled)
	r.Replace(setOf(t, "id: b"))
	shared.set(accounts.Pause{Account: "a", Model: "m", Wait: 50 * time.Second})
	go r.Run(ctx)
	await(t, func() bool { return shared.asked.Load() > 1 })
	again := setOf(t, "id: a", "id: b")
	again.Keys["a"] = "sk-canary-newer-0123456789"
	r.Replace(again)
	for model, want := range map[string]time.Duration{"other": 10 * time.Second, "m": 50 * time.Second} {
		if _, choice := r.Choose(account.Want{Model: model, Tried: []string{"b"}}); choice.Wait <= 0 || choice.Wait > want {
			t.Errorf("%s: %+v", model, choice)
		}
	}
	clock.Move(time.Minute)
	old, _ := pinned.Choose(account.Want{Model: "m", Tried: []string{"b"}})
	if old.Account == nil || old.Way().Authorization() != "Bearer sk-canary-newer-0123456789" {
		t.Error("a request of the time before has the old key")
	}
	refusing := r.Asks(r.Of("b"))
	refusing.End(refused)
	r.Replace(setOf(t, "id: a"))
	r.Replace(setOf(t, "id: a", "id: b"))
	if s := r.Standings()[1]; s.State != account.Out {
		t.Errorf("%+v", s)
	}
}

// sharedList is what other replicas know.
type sharedList struct {
	mu    sync.Mutex
	list  []accounts.Pause
	asked atomic.Int64
}

func (s *sharedList) Share(context.Context, accounts.Pause) error { return nil }

func (s *sharedList) Pauses(context.Context) ([]accounts.Pause, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked.Add(1)
	return s.list, nil
}

func (s *sharedList) set(list ...accounts.Pause) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = list
}

func await(t *testing.T, is func() bool) {
	t.Helper()
	for limit := time.Now().Add(20 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("it does not come")
		}
	}
}

// Who waits is told when an account may be asked earlier than was known, and not otherwise.
func TestAnAccountThatComesBackIsTold(t *testing.T) {
	for name, tt := range map[string]struct {
		answer account.Answer
		after  time.Duration
		then   func(r *accounts.Pool)
		told   int
	}{
		"a probe succeeds": {throttled, 11 * time.Second, func(r *accounts.Pool) { end(r, worked) }, 1},
		"a probe shows nothing": {throttled, 11 * time.Second, func(r *accounts.Pool) { end(r, account.Answer{Sent: true, Status: 500}) },
			1}, "a probe's client left": {throttled, 11 * time.Second, func(r *accounts.Pool) { a, _ := r.Choose(want); a.Drop() }, 1},
		"a probe finds no room":      {throttled, 11 * time.Second, func(r *accounts.Pool) { a, _ := r.Choose(want); a.NoRoom(); a.Drop() }, 0},
		"a probe works, and goes on": {throttled, 11 * time.Second, func(r *accounts.Pool) { a, _ := r.Choose(want); a.Works() }, 1},
		"a probe is throttled":       {throttled, 11 * time.Second, func(r *accounts.Pool) { end(r, throttled) }, 0},
		"the account pays": {account.Answer{Sent: true, Complete: true, Status: 400, Code: "Arrearage"}, 61 * time.Second,
			func(r *accounts.Pool) { end(r, worked) }, 1},
		"its key is refused again":    {refused, 61 * time.Second, func(r *accounts.Pool) { end(r, refused) }, 0},
		"it has another key":          {refused, time.Second, func(r *accounts.Pool) { replaceKey(r) }, 1},
		"it has another key, and was": {worked, time.Second, func(r *accounts.Pool) { replaceKey(r) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			told := 0
			r, clock := poolOf(t, setOf(t, "id: a", `id: b, models: ["other"]`),
				func(c *accounts.Config) { c.Back = func(id string) { told += len(id) } })
			end(r, tt.answer)
			clock.Move(tt.after)
			if tt.then(r); told != tt.told {
				t.Errorf("told %d times, want %d", told, tt.told)
			}
		})
	}
}

// end makes a request and ends it with an answer.
func end(r *accounts.Pool, answer account.Answer) {
	attempt, _ := r.Choose(want)
	attempt.End(answer)
}

func replaceKey(r *accounts.Pool) {
	file, err := teams.ParseAccounts([]byte("accounts:\n  - {id: a, key_file: /key}\n"))
	if err != nil {
		panic(err)
	}
	r.Replace(accounts.Set{File: file, Keys: map[string]upstream.Secret{"a": "sk-canary-another-0123456789"}})
}
