package cache

import (
	"context"
	_ "embed"
	"errors"
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
	//go:embed scripts/list.lua
	listLua string
	//go:embed scripts/open.lua
	openLua string
	//go:embed scripts/newest.lua
	newestLua string
	//go:embed scripts/forget.lua
	forgetLua string
	//go:embed scripts/leave.lua
	leaveLua string
	//go:embed scripts/begin.lua
	beginLua string
	//go:embed scripts/join.lua
	joinLua string

	putScript     = redis.NewScript(putLua)
	hearScript    = redis.NewScript(hearLua)
	readScript    = redis.NewScript(readLua)
	dueScript     = redis.NewScript(dueLua)
	queriesScript = redis.NewScript(queriesLua)
	listScript    = redis.NewScript(listLua)
	openScript    = redis.NewScript(openLua)
	newestScript  = redis.NewScript(newestLua)
	forgetScript  = redis.NewScript(forgetLua)
	leaveScript   = redis.NewScript(leaveLua)
	beginScript   = redis.NewScript(beginLua)
	joinScript    = redis.NewScript(joinLua)
)

// errMixed is a reply to another call: the connection is out of step.
var errMixed = errors.New("Redis sent the reply to another call")

// RedisConfig configures [NewRedis].
type RedisConfig struct {
	Client  redis.UniversalClient // MUST send no command twice by itself
	Timeout time.Duration         // of one call that a request waits for
	TTL     time.Duration         // how long the service knows a task
	Fresh   time.Duration         // how long an answer that is not final is not looked up again
	Rate    int                   // task queries a second, of all replicas; as many cancels
	Now     func() time.Time
	// Memory numbers the memories of Redis that this process has seen, above 0: another number means that Redis lost its memory, was
	// restarted, or went back to an older copy. Nil: only the counts of claims tell that.
	Memory func() int64
}

// store makes the calls of Redis. All of this package that knows the client is in this file.
type store struct{ RedisConfig }

func (s *store) memoryNumber() int64 {
	if s.Memory == nil {
		return 0
	}
	return s.Memory()
}

// short bounds a call that a request waits for. The call is made even if the request's client has left.
func (s *store) short(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), s.Timeout)
}

// long bounds a call that asks for much, or that no request waits for.
func (s *store) long(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, max(s.Timeout, time.Second))
}

func (s *store) run(ctx context.Context, script *redis.Script, keys []string, args ...any) *redis.Cmd {
	call, cancel := s.short(ctx)
	defer cancel()
	return script.Run(call, s.Client, keys, args...)
}

// inOneTrip queues a command for each key and sends them together. Each command has its own error, so that a shard that is
// away hides its own keys only.
func inOneTrip[C redis.Cmder](ctx context.Context, s *store, keys []string, queue func(pipe redis.Pipeliner, key string) C) []C {
	cmds := make([]C, len(keys))
	pipe := s.Client.Pipeline()
	for i, key := range keys {
		cmds[i] = queue(pipe, key)
	}
	if len(keys) > 0 {
		_, _ = pipe.Exec(ctx)
	}
	return cmds
}

// runAll runs a script once for each list of keys, with the same arguments, in one round trip. Its replies are lists.
func (s *store) runAll(ctx context.Context, script *redis.Script, calls [][]string, args ...any) ([][]any, error) {
	if len(calls) == 0 {
		return nil, nil
	}
	cmds, pipe := make([]*redis.Cmd, len(calls)), s.Client.Pipeline()
	for i, keys := range calls {
		cmds[i] = script.Eval(ctx, pipe, keys, args...) // a pipeline does not fall back from EVALSHA
	}
	_, _ = pipe.Exec(ctx)
	replies := make([][]any, len(cmds))
	for i, cmd := range cmds {
		var err error
		if replies[i], err = cmd.Slice(); err != nil {
			return nil, err
		}
	}
	return replies, nil
}

// fieldsOf reads the same fields of each of the hashes. Those of a hash that could not be read are nil.
func (s *store) fieldsOf(ctx context.Context, keys []string, names ...string) [][]any {
	call, cancel := s.short(ctx)
	defer cancel()
	list := make([][]any, len(keys))
	for i, cmd := range inOneTrip(call, s, keys, func(pipe redis.Pipeliner, key string) *redis.SliceCmd { return pipe.HMGet(call, key, names...) }) {
		if values, err := cmd.Result(); err == nil && len(values) == len(names) {
			list[i] = values
		}
	}
	return list
}

// existing tells which of the keys exist.
func (s *store) existing(ctx context.Context, keys []string) ([]bool, error) {
	call, cancel := s.long(ctx)
	defer cancel()
	list := make([]bool, len(keys))
	for i, cmd := range inOneTrip(call, s, keys, func(pipe redis.Pipeliner, key string) *redis.IntCmd { return pipe.Exists(call, key) }) {
		n, err := cmd.Result()
		if err != nil {
			return nil, err
		}
		list[i] = n > 0
	}
	return list, nil
}

// sizes returns how many members each of the sorted sets has; -1 if it could not be read.
func (s *store) sizes(ctx context.Context, keys []string) []int64 {
	call, cancel := s.long(ctx)
	defer cancel()
	list := make([]int64, len(keys))
	for i, cmd := range inOneTrip(call, s, keys, func(pipe redis.Pipeliner, key string) *redis.IntCmd { return pipe.ZCard(call, key) }) {
		list[i] = cmd.Val()
		if cmd.Err() != nil {
			list[i] = -1
		}
	}
	return list
}

// allTeams lists every team that ever made a request.
func (s *store) allTeams(ctx context.Context) ([]string, error) {
	call, cancel := s.long(ctx)
	defer cancel()
	return s.Client.SMembers(call, teamsKey).Result()
}

// reschedule sets the score of a member of a sorted set, if it is still there, to a time so long from now by Redis's clock.
func (s *store) reschedule(ctx context.Context, key, member string, after time.Duration) error {
	call, cancel := s.short(ctx)
	defer cancel()
	now, err := s.Client.Time(call).Result()
	if err != nil {
		return err
	}
	return s.Client.ZAddXX(call, key, redis.Z{Score: float64(now.Add(after).UnixMicro()), Member: member}).Err()
}

func (s *store) remove(ctx context.Context, key, member string) error {
	call, cancel := s.short(ctx)
	defer cancel()
	return s.Client.ZRem(call, key, member).Err()
}

// setFirst sets a value unless the key exists, and reports whether it did so.
func (s *store) setFirst(ctx context.Context, key string, value any, lives time.Duration) (bool, error) {
	call, cancel := s.short(ctx)
	defer cancel()
	return s.Client.SetNX(call, key, value, lives).Result()
}

func (s *store) set(ctx context.Context, key string, value any, lives time.Duration) error {
	call, cancel := s.short(ctx)
	defer cancel()
	return s.Client.Set(call, key, value, lives).Err()
}

func (s *store) get(ctx context.Context, key string) (value string, found bool, err error) {
	call, cancel := s.short(ctx)
	defer cancel()
	value, err = s.Client.Get(call, key).Result()
	if errors.Is(err, redis.Nil) {
		return "", false, nil
	}
	return value, err == nil, err
}

func (s *store) del(ctx context.Context, key string) error {
	call, cancel := s.short(ctx)
	defer cancel()
	return s.Client.Del(call, key).Err()
}

func flag(on bool) int {
	if on {
		return 1
	}
	return 0
}
