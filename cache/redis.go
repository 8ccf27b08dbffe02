package cache

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// The scripts, each about one team's tasks, or about the account's queries.
var (
	//go:embed scripts/put.lua
	putLua string
	//go:embed scripts/hear.lua
	hearLua string
	//go:embed scripts/read.lua
	readLua string
	//go:embed scripts/due.lua
	dueLua string
	//go:embed scripts/queries.lua
	queriesLua string

	putScript     = redis.NewScript(putLua)
	hearScript    = redis.NewScript(hearLua)
	readScript    = redis.NewScript(readLua)
	dueScript     = redis.NewScript(dueLua)
	queriesScript = redis.NewScript(queriesLua)
)

const (
	schema     = "sl1:"
	teamsKey   = schema + "teams"
	queriesKey = schema + "queries"

	// mostUnwritten is how many claims and outcomes wait for Redis; past it they are this process's alone.
	mostUnwritten = 10_000
	// teamsEvery is how often teams that other replicas have are looked for.
	teamsEvery = time.Minute
)

var errMixed = errors.New("the shared state answered another question")

// RedisConfig is what [NewRedis] needs.
type RedisConfig struct {
	Client  redis.UniversalClient // sees to connections, and sends nothing twice by itself
	Timeout time.Duration         // of one call
	TTL     time.Duration         // how long the service knows a task
	Fresh   time.Duration         // how long an answer that is not final need not be looked up again
	Rate    int                   // upstream task queries a second, of all replicas
	Now     func() time.Time
}

// Redis keeps claims, answers, the account's queries and the outcomes of requests that run once in Redis, where every
// replica sees them, and what is final or fresh in this process too. What Redis cannot be told at the moment is kept and
// told later. It is safe for concurrent use. Create it with [NewRedis].
type Redis struct {
	RedisConfig
	near  *near
	own   *Queries // this process's, while Redis is away
	mu    sync.Mutex
	late  []unwritten     // oldest first
	lost  int             // that there was no room for
	teams map[string]bool // that may have tasks which are due
	found time.Time       // when they were last looked for
}

// NewRedis connects to nothing yet.
func NewRedis(config RedisConfig) *Redis {
	return &Redis{RedisConfig: config, near: newNear(), own: NewQueries(config.Rate, config.Now), teams: map[string]bool{}}
}

func taskKey(team, task string) string { return schema + "{" + team + "}:task:" + task }
func tasksKey(team string) string      { return schema + "{" + team + "}:tasks" }
func dueKey(team string) string        { return schema + "{" + team + "}:due" }
func askingKey(team, task string) string {
	return taskKey(team, task) + ":asking"
}

func (r *Redis) call(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), r.Timeout)
}

// storedClaim is the part of a claim that never changes.
type storedClaim struct {
	Key   string
	Model string
	Hold  Hold
}

// Put claims a task for a team from this moment on, here at once and in Redis now or later.
func (r *Redis) Put(ctx context.Context, claim Claim) {
	claim.Created = r.Now()
	claim.Fetched = claim.Created
	r.near.keep(&claim)
	write := func(ctx context.Context) error { return r.write(ctx, &claim) }
	if err := write(ctx); err != nil {
		r.later(claim.Team, write)
	}
}

func (r *Redis) write(ctx context.Context, claim *Claim) error {
	static, err := json.Marshal(storedClaim{claim.Key, claim.Model, claim.Hold})
	if err != nil {
		return err
	}
	answer, err := json.Marshal(claim.Answer)
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.teams[claim.Team] = true
	r.mu.Unlock()
	age := max(r.Now().Sub(claim.Created), 0) // it may have waited for Redis
	ctx, cancel := r.call(ctx)
	defer cancel()
	kept := r.TTL + unheardFor
	return putScript.Run(ctx, r.Client, []string{taskKey(claim.Team, claim.Task), tasksKey(claim.Team), dueKey(claim.Team)},
		claim.Task, max((kept-age).Milliseconds(), 1), age.Microseconds(), r.TTL.Microseconds(), kept.Milliseconds(),
		"team", claim.Team, "task", claim.Task, "claim", static, "answer", answer, "body", claim.Body,
		"rank", claim.Answer.Status.rank(), "final", flag(claim.Final())).Err()
}

func flag(on bool) int {
	if on {
		return 1
	}
	return 0
}

// unwritten is something about a team's tasks that Redis was not told yet.
type unwritten struct {
	team string
	do   func(ctx context.Context) error
}

// later keeps what could not be done until Redis is back.
func (r *Redis) later(team string, do func(ctx context.Context) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.late) < mostUnwritten {
		r.late = append(r.late, unwritten{team, do})
	} else {
		r.lost++
	}
}

// Tend tells Redis what it was not told, each team's in its order: a team whose key is broken, or whose shard is away,
// holds up no other. One goroutine calls it every second or so. Its error is news: what there was no room to keep.
func (r *Redis) Tend(ctx context.Context) error {
	r.mu.Lock()
	late, lost := r.late, r.lost
	r.late, r.lost = nil, 0
	r.mu.Unlock()
	var still []unwritten
	failed := map[string]bool{}
	for _, u := range late {
		if failed[u.team] || u.do(ctx) != nil {
			failed[u.team] = true
			still = append(still, u)
		}
	}
	r.mu.Lock()
	r.late = append(still, r.late...)
	r.mu.Unlock()
	if lost > 0 {
		return fmt.Errorf("%d claims, answers or outcomes were too many to keep for Redis; other replicas do not know them", lost)
	}
	return nil
}

// Unwritten counts what Redis was not told yet.
func (r *Redis) Unwritten() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.late)
}

// Get returns a team's claim. What is known here to be final or fresh is not looked up; what is known here serves while
// Redis is away, and only there an error is returned where nothing is known.
func (r *Redis) Get(ctx context.Context, team, task string) (Claim, bool, error) {
	here := r.near.get(team, task)
	if here != nil && (here.Final() || r.Now().Sub(here.Fetched) < r.Fresh) {
		return r.alive(here)
	}
	call, cancel := r.call(ctx)
	defer cancel()
	reply, err := readScript.Run(call, r.Client, []string{taskKey(team, task)}).Slice()
	var claim *Claim
	if err == nil {
		claim, err = r.read(team, task, reply)
	}
	switch {
	case err != nil && here != nil:
		return r.alive(here)
	case err != nil:
		return Claim{}, false, err
	case claim == nil && here != nil: // not written yet, or lost with Redis's memory
		return r.alive(here)
	case claim == nil:
		return Claim{}, false, nil
	}
	r.near.keep(claim)
	return r.alive(claim)
}

// alive hides a task that the service has forgotten.
func (r *Redis) alive(claim *Claim) (Claim, bool, error) {
	if r.Now().Sub(claim.Created) > r.TTL {
		return Claim{}, false, nil
	}
	return *claim, true, nil
}

// read reads a task as read.lua returns it. It is nil where there is none. Moments are turned into this process's.
func (r *Redis) read(team, task string, reply []any) (*Claim, error) {
	if len(reply) < 2 {
		return nil, errMixed
	}
	if reply[1] == nil {
		return nil, nil //nolint:nilnil // an absent task is no error
	}
	fields := make([]string, 9)
	for i := range fields {
		if i >= len(reply) {
			return nil, errMixed
		}
		text, ok := reply[i].(string)
		if !ok {
			return nil, errMixed
		}
		fields[i] = text
	}
	if fields[1] != team || fields[2] != task { // another team's, or another question's: never shown
		return nil, errMixed
	}
	claim := &Claim{Team: team, Task: task, Body: []byte(fields[5])}
	var static storedClaim
	if err := errors.Join(json.Unmarshal([]byte(fields[3]), &static), json.Unmarshal([]byte(fields[4]), &claim.Answer)); err != nil {
		return nil, fmt.Errorf("the claim of task %s of team %s cannot be read: %w", task, team, err)
	}
	claim.Key, claim.Model, claim.Hold = static.Key, static.Model, static.Hold
	now, _ := strconv.ParseInt(fields[0], 10, 64)
	created, _ := strconv.ParseFloat(fields[6], 64)
	fetched, _ := strconv.ParseFloat(fields[7], 64)
	claim.Created = r.Now().Add(-time.Duration(now-int64(created)) * time.Microsecond)
	claim.Fetched = r.Now().Add(-time.Duration(now-int64(fetched)) * time.Microsecond)
	claim.Asks, _ = strconv.Atoi(fields[8])
	return claim, nil
}

// Take lets one caller of all replicas ask upstream about a task, until the answer is heard or the task is released.
func (r *Redis) Take(ctx context.Context, team, task string) (Turn, error) {
	call, cancel := r.call(ctx)
	defer cancel()
	mine, err := r.Client.SetNX(call, askingKey(team, task), turnBusy, asking).Result()
	if err != nil || mine {
		return Mine, err
	}
	if state, err := r.Client.Get(call, askingKey(team, task)).Result(); err == nil && state == turnResting {
		return Resting, nil
	}
	return Busy, nil
}

// What stands at a task's turn.
const (
	turnBusy    = "asking"
	turnResting = "resting"
)

// Release lets others ask again once that long has passed. What fails ends by itself.
func (r *Redis) Release(ctx context.Context, team, task string, after time.Duration) {
	call, cancel := r.call(ctx)
	defer cancel()
	if after > 0 {
		_ = r.Client.Set(call, askingKey(team, task), turnResting, after).Err()
	} else {
		_ = r.Client.Del(call, askingKey(team, task)).Err()
	}
}

// Hear keeps an answer unless a later state is known, and returns the claim as it stands. Without Redis it is kept here,
// and told later.
func (r *Redis) Hear(ctx context.Context, heard *Claim, answer Answer, body []byte, asks int) (Claim, error) {
	text, err := json.Marshal(answer)
	if err != nil {
		return *heard, err
	}
	tell := func(ctx context.Context) (*Claim, error) {
		call, cancel := r.call(ctx)
		defer cancel()
		reply, err := hearScript.Run(call, r.Client,
			[]string{taskKey(heard.Team, heard.Task), dueKey(heard.Team), askingKey(heard.Team, heard.Task)},
			heard.Task, answer.Status.rank(), flag(answer.Status.Final()), text, body, asks, r.TTL.Microseconds()).Slice()
		if err != nil {
			return nil, err
		}
		return r.read(heard.Team, heard.Task, reply)
	}
	claim, err := tell(ctx)
	if err == nil && claim != nil {
		r.near.keep(claim)
		return *claim, nil
	}
	here := *heard
	if here.Answer.passes(answer) {
		here.Answer, here.Body, here.Fetched, here.Asks = answer, body, r.Now(), asks
	}
	r.near.keep(&here)
	if here.Final() && (err != nil || claim == nil) { // Redis is away, or was not told of the claim yet
		r.later(heard.Team, func(ctx context.Context) error { _, err := tell(ctx); return err })
	}
	return here, nil
}

// List returns one page of a team's tasks, newest first, and how many there are on all pages.
func (r *Redis) List(ctx context.Context, team string, f Filter) (page []Claim, total int, err error) {
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), max(r.Timeout, time.Second))
	defer cancel()
	ids, err := r.Client.ZRevRange(call, tasksKey(team), 0, -1).Result()
	if err != nil {
		return nil, 0, err
	}
	size := PageSize(f.Size)
	skip := (max(f.Page, 1) - 1) * size
	for chunk := range slices.Chunk(ids, 200) {
		claims, err := r.readAll(call, team, chunk)
		if err != nil {
			return nil, 0, err
		}
		for _, claim := range claims {
			if claim == nil || !f.admits(claim) || r.Now().Sub(claim.Created) > r.TTL {
				continue
			}
			if total >= skip && len(page) < size {
				page = append(page, *claim)
			}
			total++
		}
	}
	return page, total, nil
}

// readAll reads tasks of a team in one round trip.
func (r *Redis) readAll(ctx context.Context, team string, ids []string) ([]*Claim, error) {
	pipe := r.Client.Pipeline()
	replies := make([]*redis.Cmd, len(ids))
	for i, id := range ids {
		replies[i] = readScript.Eval(ctx, pipe, []string{taskKey(team, id)}) // a pipeline does not fall back from EVALSHA
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, err
	}
	claims := make([]*Claim, len(ids))
	for i, id := range ids {
		reply, err := replies[i].Slice()
		if err == nil {
			claims[i], err = r.read(team, id, reply)
		}
		if err != nil {
			return nil, err
		}
	}
	return claims, nil
}

// Due hands out tasks that have not ended and are due to be asked for, each to one replica for a while, also those of
// teams that are in no file any more.
func (r *Redis) Due(ctx context.Context, most int) (list []Claim, err error) {
	if err := r.findTeams(ctx); err != nil {
		return nil, err
	}
	r.mu.Lock()
	teams := make([]string, 0, len(r.teams))
	for team := range r.teams {
		teams = append(teams, team)
	}
	r.mu.Unlock()
	for _, team := range teams {
		if len(list) >= most {
			break
		}
		call, cancel := r.call(ctx)
		ids, err := dueScript.Run(call, r.Client, []string{dueKey(team)}, most-len(list), handed.Microseconds()).StringSlice()
		cancel()
		if err != nil || len(ids) == 0 {
			continue // of a shard that is away, the others' are finished
		}
		call, cancel = r.call(ctx)
		claims, err := r.readAll(call, team, ids)
		cancel()
		if err != nil {
			continue
		}
		for i, claim := range claims {
			if claim == nil {
				_ = r.Forget(ctx, &Claim{Team: team, Task: ids[i]})
				continue
			}
			list = append(list, *claim)
		}
	}
	return list, nil
}

// findTeams looks for teams that have tasks, now and then.
func (r *Redis) findTeams(ctx context.Context) error {
	r.mu.Lock()
	old := r.Now().Sub(r.found) >= teamsEvery
	r.mu.Unlock()
	if !old {
		return nil
	}
	call, cancel := context.WithTimeout(ctx, max(r.Timeout, time.Second))
	defer cancel()
	names, err := r.Client.SMembers(call, teamsKey).Result()
	if err != nil {
		return err
	}
	pipe := r.Client.Pipeline()
	counts := make([]*redis.IntCmd, len(names))
	for i, team := range names {
		counts[i] = pipe.ZCard(call, dueKey(team))
	}
	if len(names) > 0 {
		_, _ = pipe.Exec(call) // a shard that is away hides its own teams alone
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.found = r.Now()
	for i, team := range names {
		switch n, err := counts[i].Result(); {
		case err != nil:
		case n > 0:
			r.teams[team] = true
		default:
			delete(r.teams, team)
		}
	}
	return nil
}

// Schedule sets when a task that has not ended is due.
func (r *Redis) Schedule(ctx context.Context, claim *Claim, at time.Time) error {
	call, cancel := r.call(ctx)
	defer cancel()
	now, err := r.Client.Time(call).Result()
	if err != nil {
		return err
	}
	due := now.Add(at.Sub(r.Now())).UnixMicro()
	return r.Client.ZAddXX(call, dueKey(claim.Team), redis.Z{Score: float64(due), Member: claim.Task}).Err()
}

// Forget hands a task out no more.
func (r *Redis) Forget(ctx context.Context, claim *Claim) error {
	call, cancel := r.call(ctx)
	defer cancel()
	return r.Client.ZRem(call, dueKey(claim.Team), claim.Task).Err()
}

// Allow keeps all replicas together within the account's rate of queries. Without Redis this process keeps to it alone.
func (r *Redis) Allow(ctx context.Context, team string, spare bool) (bool, error) {
	call, cancel := r.call(ctx)
	defer cancel()
	n, err := queriesScript.Run(call, r.Client, []string{queriesKey}, r.Rate, queryWindow.Microseconds(), team, flag(spare), rand.Text()).Int()
	if err != nil {
		return r.own.Allow(ctx, team, spare)
	}
	return n == 1, nil
}

func onceKey(name OnceName) string { return schema + "{" + name.Team + "}:once:" + name.Digest }

// Begin lets the first request with a name run, and returns what is remembered of it to all others.
func (r *Redis) Begin(ctx context.Context, name OnceName, body [sha256.Size]byte) (was Outcome, first bool, err error) {
	running, err := json.Marshal(Outcome{Body: body, Started: r.Now(), Token: rand.Text()})
	if err != nil {
		return was, false, err
	}
	call, cancel := r.call(ctx)
	defer cancel()
	first, err = r.Client.SetNX(call, onceKey(name), running, r.TTL).Result()
	if err != nil { // it may have taken effect, and nothing will run
		r.later(name.Team, func(ctx context.Context) error { return r.forgetOnce(ctx, name, running) })
	}
	if err != nil || first {
		return was, first, err
	}
	text, err := r.Client.Get(call, onceKey(name)).Bytes()
	if errors.Is(err, redis.Nil) { // it ended in between
		return r.Begin(ctx, name, body)
	}
	if err != nil {
		return was, false, err
	}
	return was, false, json.Unmarshal(text, &was)
}

// forgetOnce frees a name if it still stands for that request.
func (r *Redis) forgetOnce(ctx context.Context, name OnceName, running []byte) error {
	call, cancel := r.call(ctx)
	defer cancel()
	is, err := r.Client.Get(call, onceKey(name)).Bytes()
	if errors.Is(err, redis.Nil) || err == nil && string(is) != string(running) {
		return nil
	}
	if err != nil {
		return err
	}
	return r.Client.Del(call, onceKey(name)).Err()
}

// End remembers the outcome, now or later, or forgets the name where it has no status.
func (r *Redis) End(ctx context.Context, name OnceName, _ [sha256.Size]byte, outcome Outcome) {
	text, err := json.Marshal(outcome)
	if err != nil {
		return
	}
	end := func(ctx context.Context) error {
		call, cancel := r.call(ctx)
		defer cancel()
		if outcome.Status == 0 {
			return r.Client.Del(call, onceKey(name)).Err()
		}
		return r.Client.Set(call, onceKey(name), text, r.TTL).Err()
	}
	if end(ctx) != nil {
		r.later(name.Team, end)
	}
}
