package failover

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/limit/redisstore"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// worldTeams are the teams of the world. Requests of labs count in the quotas of the house, the team, the key and the tag's value, all
// four.
var worldTeams = []string{"search", "shop", "labs"}

// worldHouse is the cap of all teams together.
var worldHouse = []limit.Scope{limit.HouseOf(&teams.Team{ID: teams.HouseID, Quotas: []teams.Quota{
	{Unit: unit.NameRequests, Period: teams.PeriodDay, Limit: 180},
	{Unit: unit.NameTokens, Period: teams.PeriodDay, Limit: 2400},
	{Unit: unit.NameImages, Period: teams.PeriodMonth, Limit: 340},
}})}

// worldEast is an account at the service that has quotas. Some kinds of requests run there, the others on main, which has none.
var worldEast = &teams.Account{ID: "east", Quotas: &teams.Team{ID: teams.AccountQuotasID("east"), Quotas: []teams.Quota{
	{Unit: unit.NameRequests, Period: teams.PeriodDay, Limit: 70},
	{Unit: unit.NameTokens, Period: teams.PeriodDay, Limit: 900},
	{Unit: unit.NameImages, Period: teams.PeriodMonth, Limit: 48},
}}}

// worldAccounts are those of the teams, of the account at the service and of the house.
var worldAccounts = append(slices.Clone(worldTeams), worldEast.Quotas.ID, teams.HouseID)

// editions are the limits that a replica may have read.
var editions = map[string][]*teams.Team{
	"as it was": readEdition(allTeams(1, 1)),
	"half":      readEdition(allTeams(1, 2)),
	"double":    readEdition(allTeams(2, 1)),
	"requests only": readEdition(
		"teams:\n  - id: search\n    quotas: {requests: {day: 100}}\n  - id: shop\n    quotas: {requests: {day: 100}}\n" +
			"  - id: labs\n    quotas: {requests: {day: 100}}\n"),
}

// allTeams are the teams with a part of their limits.
func allTeams(part, of int) string {
	const doc = "teams:\n  - id: search\n    quotas: {requests: {day: %d}, images: {day: %d, month: %d}, spend: {month: %d}}\n    " +
		"open_tasks: %d\n" +
		"  - id: shop\n    quotas: {requests: {day: %d}, tokens: {day: %d, month: %d}}\n" +
		"  - id: labs\n    quotas: {requests: {day: %d}, tokens: {month: %d}, images: {day: %d}}\n    open_tasks: %d\n" +
		"    tag_key: project\n    tag_quotas: {images: {day: %d}}\n    keys:\n" +
		"      - {id: aaaaaaaaaaaa, sha256: \"%064[17]d\", quotas: {requests: {day: %[14]d}, images: {month: %[15]d}}}\n" +
		"      - {id: bbbbbbbbbbbb, sha256: \"%064[18]d\", quotas: {images: {day: %[16]d}}, rates: {requests: {per: 1h, limit: %[19]d}}}\n"
	parts := []any{100, 240, 320, 56, 30, 100, 2400, 2800, 120, 2400, 110, 40, 60, 24, 50, 40}
	for i := range parts {
		parts[i] = parts[i].(int) * part / of
	}
	return fmt.Sprintf(doc, append(parts, 1, 2, worldRate)...)
}

// readEdition reads the teams of an edition.
func readEdition(doc string) []*teams.Team {
	file, err := teams.Parse([]byte(doc))
	if err != nil {
		panic(err)
	}
	return file.List
}

// kind is the kind of a request.
type kind struct {
	team     int // of worldTeams
	model    string
	endpoint policy.Endpoint
	amounts  limit.Amounts
	task     bool
	tag, key string
	account  string // at the service; empty: main
}

const imagePrice = teams.Nano / 5

var kinds = map[string]kind{
	"a task of 4 images": {team: 0, model: "gen2.6-image", endpoint: policy.EndpointImage,
		amounts: limit.Amounts{1, 0, 4, 4 * imagePrice}, task: true},
	"3 pictures": {team: 0, model: "llm-image", endpoint: policy.EndpointMultimodal,
		amounts: limit.Amounts{1, 0, 3, 3 * imagePrice}},
	"a text": {team: 1, model: "llm-max", endpoint: policy.EndpointText, amounts: limit.Amounts{1, 30, 0, 300}},
	"2 pictures with a key": {team: 2, model: "llm-image", endpoint: policy.EndpointMultimodal,
		amounts: limit.Amounts{1, 0, 2, 2 * imagePrice}, tag: "mill", key: "aaaaaaaaaaaa", account: worldEast.ID},
	"a text with a key": {team: 2, model: "llm-max", endpoint: policy.EndpointText, amounts: limit.Amounts{1, 25, 0, 250}, tag: "weir",
		key: "aaaaaaaaaaaa"},
	"a task with another key": {team: 2, model: "gen2.6-image", endpoint: policy.EndpointImage, amounts: limit.Amounts{1, 0, 1, imagePrice},
		task: true, tag: "mill", key: "bbbbbbbbbbbb", account: worldEast.ID},
	"a text with another key": {team: 2, model: "llm-max", endpoint: policy.EndpointText, amounts: limit.Amounts{1, 25, 0, 250}, tag: "weir",
		key: "bbbbbbbbbbbb", account: worldEast.ID},
}

// mostOf is the larger of each amount.
func mostOf(a, b limit.Amounts) limit.Amounts {
	for i := range a {
		a[i] = max(a[i], b[i])
	}
	return a
}

// leastOf is the smaller of each amount.
func leastOf(a, b limit.Amounts) limit.Amounts {
	for i := range a {
		a[i] = min(a[i], b[i])
	}
	return a
}

// world is a running history and the truth about it: which requests were admitted, and so went upstream, and the use of
// each.
type world struct {
	seen     []string // for people
	story    story
	server   *miniredis.Miniredis
	admin    *redis.Client // without a wire
	replicas []*replica    // by letter
	former   []*replica    // that died or stopped
	saved    *dump
	runs     atomic.Int64  // how often Redis was started
	n        int           // ids
	house    []limit.Scope // the cap of all teams together; nil: none

	mu        sync.Mutex
	late      []lateCall
	anyLate   bool // there ever were some
	pipes     []*pipe
	lastReach time.Time // when a call of any replica was executed last
	gaps      []gap

	requests   []*request
	refused    []*request // Redis may hold one all the same if its replica died before giving it back
	editions   []edition
	allowances map[string]limit.Amounts // the largest one seen, by team and id
	losses     []loss                   // of the last seconds
	ever       bool                     // Redis ever lost its memory
	blurred    bool                     // some request's day is its replica's: Redis may have placed its hold on the next
	calm       bool                     // nothing has gone wrong so far
}

// edition is the limits that some replica has, or had until some time.
type edition struct {
	teams []*teams.Team
	name  string
	until time.Time // zero: current
	by    *replica
}

// replica is one process.
type replica struct {
	name   string
	shared *Failover
	client *redis.Client
	wire   *wire
	teams  []*teams.Team
	begun  time.Time
	ended  time.Time // zero: it runs
	lost   bool      // it died, or stopped without Redis
}

// request is a request that was admitted.
type request struct {
	kind
	held     *limit.Held
	by       *replica
	at       time.Time
	due      time.Time     // the earliest end of its lease
	told     bool          // Redis admitted it, and the reply arrived
	aside    limit.Amounts // the amounts that its replica's limits counted when it was admitted
	terms    limit.Terms   // those limits
	settled  bool
	used     limit.Amounts
	guess    bool
	taken    int      // how often its settlement was confirmed
	through  *replica // the one that learned its use
	forgiven bool     // no live replica knows it since Redis lost its memory
}

// newWorld makes a double of Redis. All of it runs in the caller's bubble.
func newWorld(s story) *world {
	time.Sleep(time.Until(starts[s.start]))
	w := &world{story: s, house: worldHouse, server: miniredis.NewMiniRedis(), allowances: map[string]limit.Amounts{}, calm: true,
		lastReach: time.Now()}
	w.server.ClockTTL(true)
	w.admin = w.connect()
	return w
}

// start starts the replicas, and waits until they know each other.
func (w *world) start() {
	w.replicas = make([]*replica, w.story.replicas)
	for i := range w.replicas {
		w.launch(i)
	}
	w.pass(4 * time.Second)
}

func (w *world) connect() *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:1", Dialer: func(context.Context, string, string) (net.Conn, error) { return w.dial() },
		Protocol: 2, DisableIdentity: true, MaxRetries: -1, ContextTimeoutEnabled: true,
		ReadBufferSize: 4096, WriteBufferSize: 4096, // a story makes many connections, and clearing their buffers took an eighth of its time
	})
}

// launch starts a replica in a place.
func (w *world) launch(i int) {
	name := everywhere[i : i+1]
	r := &replica{name: name, client: w.connect(), wire: &wire{world: w, name: name, lets: works}, begun: time.Now()}
	r.client.AddHook(r.wire)
	now := time.Now
	if skew := w.story.skew; name == "B" && skew != 0 {
		now = func() time.Time { return time.Now().Add(skew) }
	}
	r.shared = openShared(r.client, now, w.story.told)
	w.replicas[i] = r
	w.read(r, "as it was")
	w.maintain(r)
}

// openShared makes a replica's accounts. No other function does.
func openShared(client *redis.Client, now func() time.Time, replicas int) *Failover {
	accounts := redisstore.New(client) // by Redis's own clock
	accounts.Now = now
	return New(Config{Store: accounts, Timeout: 250 * time.Millisecond, Replicas: replicas, Now: now})
}

// close ends everything, so that the bubble may end.
func (w *world) close() {
	time.Sleep(time.Minute) // calls under way end
	for _, r := range slices.Concat(w.replicas, w.former) {
		if r != nil {
			r.wire.set(isAway, 0)
			_ = r.shared.Close(context.Background())
			_ = r.client.Close()
		}
	}
	_ = w.admin.Close()
	w.server.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.pipes { // the library may have made one too many
		_ = p.Close()
	}
}

// fail ends the story. format begins with the name of the broken promise.
func (w *world) fail(format string, args ...any) { panic(failure(fmt.Sprintf(format, args...))) }

// say logs an event, with the time by Redis's clock.
func (w *world) say(format string, args ...any) {
	w.seen = append(w.seen, time.Now().UTC().Format("02 15:04:05.000 ")+fmt.Sprintf(format, args...))
}

// read gives a replica other limits.
func (w *world) read(r *replica, name string) {
	for i := range w.editions {
		if e := &w.editions[i]; e.by == r && e.until.IsZero() {
			e.until = time.Now()
		}
	}
	r.teams = editions[name]
	w.editions = append(w.editions, edition{teams: r.teams, name: name, by: r})
}

// editionsLast is how long replaced limits may still be spent by: as long as an allowance lives.
const editionsLast = 11 * time.Minute

// limits are the largest limits of a team that any replica has, or had a moment ago.
func (w *world) limits(team int) (all limit.Terms) {
	first := true
	for _, e := range w.editions {
		if !e.until.IsZero() && time.Since(e.until) > editionsLast {
			continue
		}
		t := limit.TermsOf(e.teams[team])
		if first {
			all, first = t, false
			continue
		}
		for q := range all.Quotas {
			all.Quotas[q] = wider(all.Quotas[q], t.Quotas[q])
		}
		all.Tasks = wider(all.Tasks, t.Tasks)
	}
	return all
}

func wider(a, b int64) int64 {
	if a == limit.None || b == limit.None {
		return limit.None
	}
	return max(a, b)
}

// crew are the running replicas of an act.
func (w *world) crew(who string) (list []*replica) {
	for i, r := range w.replicas {
		if strings.Contains(who, everywhere[i:i+1]) && r != nil {
			list = append(list, r)
		}
	}
	return list
}

// maintain does a replica's work of each second.
func (w *world) maintain(r *replica) {
	if err := r.shared.Maintain(context.Background()); err != nil {
		w.say("%s: %v", r.name, err)
	}
}

// clearlyAway is the time without an executed call after which Redis was certainly away.
const clearlyAway = 5 * time.Second

// gap is a time in which no call was executed.
type gap struct{ from, to time.Time }

// reached notes that a replica's call is executed.
func (w *world) reached() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if now.Sub(w.lastReach) > clearlyAway {
		w.gaps = append(w.gaps, gap{w.lastReach, now})
	}
	w.lastReach = now
}
