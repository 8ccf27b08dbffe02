package cache

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
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
	//go:embed scripts/known.lua
	knownLua string
	//go:embed scripts/list.lua
	listLua string
	//go:embed scripts/forget.lua
	forgetLua string

	putScript     = redis.NewScript(putLua)
	hearScript    = redis.NewScript(hearLua)
	readScript    = redis.NewScript(readLua)
	dueScript     = redis.NewScript(dueLua)
	queriesScript = redis.NewScript(queriesLua)
	knownScript   = redis.NewScript(knownLua)
	listScript    = redis.NewScript(listLua)
	forgetScript  = redis.NewScript(forgetLua)
)

const (
	schema     = "sl1:"
	teamsKey   = schema + "teams"
	queriesKey = schema + "queries"
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
	back  []*Claim // that Redis lost and are to be put back; Tend's alone
	round int      // how often the finisher came; Due's alone

	mu       sync.Mutex
	late     []unwritten          // oldest first
	dropped  int                  // that there was no room for
	teams    map[string]bool      // that may have tasks which are due
	found    time.Time            // when they were last looked for
	memories map[string]memory    // Redis's, as they were last seen, by team
	lost     map[string]bool      // teams of which Redis lost tasks that are not put back yet
	away     map[string]time.Time // when Redis last could not be asked about all of a team's tasks; under "": about any
}

// NewRedis connects to nothing yet.
func NewRedis(config RedisConfig) *Redis {
	return &Redis{
		RedisConfig: config, near: newNear(), own: NewQueries(config.Rate, config.Now),
		teams: map[string]bool{}, memories: map[string]memory{}, lost: map[string]bool{}, away: map[string]time.Time{},
	}
}

func taskKey(team, task string) string { return schema + "{" + team + "}:task:" + task }
func tasksKey(team string) string      { return schema + "{" + team + "}:tasks" }
func dueKey(team string) string        { return schema + "{" + team + "}:due" }
func memoryKey(team string) string     { return schema + "{" + team + "}:claims" }
func ownerKey(task string) string      { return schema + "task:" + task }
func askingKey(team, task string) string {
	return taskKey(team, task) + ":asking"
}

// call bounds a call that somebody waits for. It is made although its client may have left.
func (r *Redis) call(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), r.Timeout)
}

// patient bounds a call of which much is asked, or that nobody waits for.
func (r *Redis) patient(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, max(r.Timeout, time.Second))
}

// The calls. All of this package that knows the client is in this file.

func (r *Redis) run(ctx context.Context, script *redis.Script, keys []string, args ...any) *redis.Cmd {
	call, cancel := r.call(ctx)
	defer cancel()
	return script.Run(call, r.Client, keys, args...)
}

// runEach runs a script on each of the keys and one that they share, in one round trip.
func (r *Redis) runEach(ctx context.Context, script *redis.Script, keys []string, shared string) ([][]any, error) {
	call, cancel := r.patient(ctx)
	defer cancel()
	pipe := r.Client.Pipeline()
	cmds := make([]*redis.Cmd, len(keys))
	for i, key := range keys {
		cmds[i] = script.Eval(call, pipe, []string{key, shared}) // a pipeline does not fall back from EVALSHA
	}
	if _, err := pipe.Exec(call); err != nil {
		return nil, err
	}
	replies := make([][]any, len(keys))
	for i, cmd := range cmds {
		reply, err := cmd.Slice()
		if err != nil {
			return nil, err
		}
		replies[i] = reply
	}
	return replies, nil
}

// runMany is run for what much is asked of.
func (r *Redis) runMany(ctx context.Context, script *redis.Script, keys []string, args ...any) *redis.Cmd {
	call, cancel := r.patient(ctx)
	defer cancel()
	return script.Run(call, r.Client, keys, args...)
}

// fields are what stands in fields of a hash; nil where nothing does.
type fields struct {
	values []any
	err    error // nobody can tell
}

// fieldsOf reads the same fields of each of the hashes, in one round trip. A shard that is away hides its own keys alone.
func (r *Redis) fieldsOf(ctx context.Context, keys []string, names ...string) []fields {
	call, cancel := r.call(ctx)
	defer cancel()
	pipe := r.Client.Pipeline()
	cmds := make([]*redis.SliceCmd, len(keys))
	for i, key := range keys {
		cmds[i] = pipe.HMGet(call, key, names...)
	}
	_, _ = pipe.Exec(call) // each tells for itself
	list := make([]fields, len(keys))
	for i, cmd := range cmds {
		list[i].values, list[i].err = cmd.Result()
	}
	return list
}

// sizes tells how many members each of the sorted sets has, in one round trip; -1 where nobody can tell.
func (r *Redis) sizes(ctx context.Context, keys []string) []int64 {
	call, cancel := r.patient(ctx)
	defer cancel()
	pipe := r.Client.Pipeline()
	cmds := make([]*redis.IntCmd, len(keys))
	for i, key := range keys {
		cmds[i] = pipe.ZCard(call, key)
	}
	if len(keys) > 0 {
		_, _ = pipe.Exec(call) // each tells for itself
	}
	list := make([]int64, len(keys))
	for i, cmd := range cmds {
		n, err := cmd.Result()
		if err != nil {
			n = -1
		}
		list[i] = n
	}
	return list
}

// allTeams lists every team that was ever seen.
func (r *Redis) allTeams(ctx context.Context) ([]string, error) {
	call, cancel := r.patient(ctx)
	defer cancel()
	return r.Client.SMembers(call, teamsKey).Result()
}

// reschedule sets a member's moment by Redis's clock, so long from now, if it is still there.
func (r *Redis) reschedule(ctx context.Context, key, member string, after time.Duration) error {
	call, cancel := r.call(ctx)
	defer cancel()
	now, err := r.Client.Time(call).Result()
	if err != nil {
		return err
	}
	return r.Client.ZAddXX(call, key, redis.Z{Score: float64(now.Add(after).UnixMicro()), Member: member}).Err()
}

func (r *Redis) remove(ctx context.Context, key, member string) error {
	call, cancel := r.call(ctx)
	defer cancel()
	return r.Client.ZRem(call, key, member).Err()
}

// setFirst sets a value where there is none, and reports whether there was none.
func (r *Redis) setFirst(ctx context.Context, key string, value any, lives time.Duration) (bool, error) {
	call, cancel := r.call(ctx)
	defer cancel()
	return r.Client.SetNX(call, key, value, lives).Result()
}

func (r *Redis) set(ctx context.Context, key string, value any, lives time.Duration) error {
	call, cancel := r.call(ctx)
	defer cancel()
	return r.Client.Set(call, key, value, lives).Err()
}

func (r *Redis) get(ctx context.Context, key string) (value string, found bool, err error) {
	call, cancel := r.call(ctx)
	defer cancel()
	value, err = r.Client.Get(call, key).Result()
	if errors.Is(err, redis.Nil) {
		return "", false, nil
	}
	return value, err == nil, err
}

func (r *Redis) del(ctx context.Context, key string) error {
	call, cancel := r.call(ctx)
	defer cancel()
	return r.Client.Del(call, key).Err()
}

// Allow keeps all replicas together within the account's rate of queries. Without Redis this process keeps to it alone.
func (r *Redis) Allow(ctx context.Context, team string, spare bool) (bool, error) {
	return r.allow(ctx, queriesKey, r.own, asks{team, spare})
}

// asks is who asks for a query, and whether only what nobody else is likely to want is asked for.
type asks struct {
	team  string
	spare bool
}

func (r *Redis) allow(ctx context.Context, key string, own *Queries, by asks) (bool, error) {
	n, err := r.run(ctx, queriesScript, []string{key}, r.Rate, queryWindow.Microseconds(), by.team, flag(by.spare), rand.Text()).Int()
	if err != nil {
		return own.Allow(ctx, by.team, by.spare)
	}
	return n == 1, nil
}

func flag(on bool) int {
	if on {
		return 1
	}
	return 0
}
