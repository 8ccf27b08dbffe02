package figures

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/cache"
	"sluice/gateway/console/access"
	"sluice/policy"
	"sluice/policy/event"
	"sluice/policy/limit"
	"sluice/policy/limit/failover"
	"sluice/policy/limit/limittest"
	"sluice/policy/limit/redisstore"
	"sluice/policy/price"
	"sluice/policy/teams"
	"sluice/telemetry"
	"sluice/telemetry/recent"
)

func TestMain(m *testing.M) {
	code := m.Run()
	limittest.StopRedis()
	os.Exit(code)
}

var (
	operator = access.Person{Name: "op", Role: access.Operator}
	member   = access.Person{Name: "m", Role: access.Member, Teams: []string{"search"}}
)

// accounts are charged by the tests.
type balances interface {
	Balances
	Admit(ctx context.Context, h *limit.Hold) (limit.Verdict, error)
	Settle(ctx context.Context, c *limit.Charge) (bool, error)
	Adjust(ctx context.Context, c limit.Correction) (limit.Adjustment, error)
}

// stand has the sources of a test's figures.
type stand struct {
	*testing.T
	*limittest.Clock
	balances          balances
	recent            *recent.Collector
	lately            Recent
	claims            *cache.Claims
	file              *teams.File
	outbox            *event.Memory
	figures           *Figures
	holds             int
	account, tag, key string // of the next charges
	endpoint          policy.Endpoint
	kept              Keeper
	house             House
	client            redis.UniversalClient
	close             func() // before the end of the test
}

const someTeams = `
teams:
  - id: search
    quotas: {tokens: {day: 1000, month: 5000}, spend: {month: 3}}
    rates: {tokens: {per: 1m, limit: 400, burst: 400}}
    concurrent: 7
    open_tasks: 5
  - id: shop
  - id: ads
    quotas: {requests: {day: 10}}
prices:
  - {model: "*", image: 0.20, input_per_million: 0.8, output_per_million: 2.0}
`

func newStand(t *testing.T, redis bool) *stand {
	t.Helper()
	if redis {
		return standOn(t, limittest.RealRedis(t))
	}
	return standOn(t, nil)
}

// standOn empties a Redis and uses it; nil: no Redis.
func standOn(t *testing.T, client redis.UniversalClient) *stand {
	t.Helper()
	clock := limittest.NewClock()
	memory := limit.NewMemory(clock.Now)
	s := &stand{T: t, Clock: clock, balances: memory, house: limit.House{Memory: memory}, kept: new(MemorySums),
		claims: cache.NewClaims(24*time.Hour, clock.Now), endpoint: policy.EndpointText, close: func() {}}
	if client != nil {
		if err := client.FlushDB(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		s.kept, s.client = NewRedisSums(client), client
		store := redisstore.New(client)
		store.Clock, store.Now = clock.Micros, clock.Now
		f := failover.New(failover.Config{Store: store, Timeout: time.Minute, Replicas: 1, Now: clock.Now})
		s.close = sync.OnceFunc(func() { _ = f.Close(context.Background()) })
		t.Cleanup(s.close)
		s.balances, s.house = f, f
	}
	var err error
	if s.file, err = teams.Parse([]byte(someTeams)); err != nil {
		t.Fatal(err)
	}
	lately := recent.NewMemory(clock.Now)
	s.recent = recent.New(recent.Config{Store: lately, Now: clock.Now})
	s.lately, s.outbox = lately, event.NewMemory(event.DefaultBounds, clock.Now)
	s.start()
	return s
}

// start makes the figures of a new process.
func (s *stand) start() {
	s.figures = New(Deps{
		Teams: func() *teams.File { return s.file }, Balances: s.balances, Recent: s.lately, Tasks: s.claims, Outbox: s.outbox, Now: s.Now,
		Days: s.kept, House: s.house,
		Running: func(team *teams.Team) (used, most int64) { return 2, int64(team.Concurrent+1) / 2 },
		Faults:  func() []Fault { return []Fault{{Subject: "redis", Text: "away"}} },
	})
}

// use charges a team on the clock's day.
func (s *stand) use(team, model string, endpoint policy.Endpoint, estimated bool, amounts limit.Amounts) {
	s.Helper()
	s.endpoint = endpoint
	s.settle(s.admit(team, model, time.Hour), estimated, amounts)
}

// admit holds for a request of a team.
func (s *stand) admit(team, model string, lease time.Duration) *limit.Held {
	s.Helper()
	s.holds++
	h := &limit.Hold{ID: fmt.Sprint("hold-", s.holds), Team: s.file.Team(team), Model: model, Endpoint: s.endpoint, Amounts: limit.Amounts{1},
		Lease: lease, Account: s.account, Tag: s.tag, Key: s.key}
	v, err := s.balances.Admit(s.Context(), h)
	if err != nil || v.Held == nil {
		s.Fatalf("admit: %+v, %v", v, err)
	}
	return v.Held
}

func (s *stand) settle(h *limit.Held, estimated bool, amounts limit.Amounts) {
	s.Helper()
	c := &limit.Charge{Held: h, Team: s.file.Team(h.Team), Amounts: amounts, Estimated: estimated}
	if !estimated {
		bill := billOf(&amounts)
		c.Bill = &bill
	}
	if _, err := s.balances.Settle(s.Context(), c); err != nil {
		s.Fatal(err)
	}
}

// billOf is a bill of amounts.
func billOf(amounts *limit.Amounts) (b price.Bill) {
	spend := amounts[limit.Spend]
	b[price.Cached] = price.Line{Kind: price.Cached, Quantity: amounts[limit.Tokens], Amount: spend / 3}
	b[price.Image] = price.Line{Kind: price.Image, Size: fmt.Sprint(1+amounts[limit.Images]%2, "K"), Quantity: amounts[limit.Images],
		Amount: spend / 2}
	return b
}

// note notes a finished request.
func (s *stand) note(team, id string, status int, refusal string) {
	r := telemetry.Record{Time: s.Now(), ID: id, Team: team, Model: "m", Status: status, Refusal: refusal, Overhead: 400 * time.Microsecond}
	s.recent.Note(&r, r.AppendLine(nil))
	if err := s.recent.Post(s.Context()); err != nil {
		s.Fatal(err)
	}
}

// names lists names for messages.
func names[T any](list []T, of func(T) string) string {
	words := make([]string, len(list))
	for i, v := range list {
		words[i] = of(v)
	}
	return strings.Join(words, " ")
}
