package redisstore

import (
	"context"
	"crypto/sha1" //nolint:gosec // the name that Redis gives a script, not a protection
	_ "embed"
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// The scripts. Each does one thing to one team's accounts, whole or not at all.
var (
	//go:embed scripts/common.lua
	commonLua string
	//go:embed scripts/buckets.lua
	bucketsLua string
	//go:embed scripts/holds.lua
	holdsLua string
	//go:embed scripts/aside.lua
	asideLua string
	//go:embed scripts/admit.lua
	admitLua string
	//go:embed scripts/look.lua
	lookLua string
	//go:embed scripts/batch.lua
	batchLua string
	//go:embed scripts/settle.lua
	settleLua string
	//go:embed scripts/extend.lua
	extendLua string
	//go:embed scripts/sweep.lua
	sweepLua string
	//go:embed scripts/allowance.lua
	allowanceLua string
	//go:embed scripts/replicas.lua
	replicasLua string
	//go:embed scripts/restore.lua
	restoreLua string
	//go:embed scripts/account.lua
	accountLua string
	//go:embed scripts/adjust.lua
	adjustLua string

	admitScript     = newScript(commonLua + sweepingLua(holdsLua) + admitLua)
	lookScript      = newScript(commonLua + bucketsLua + sweepingLua(holdsLua) + asideLua + lookLua)
	batchScript     = newScript(commonLua + bucketsLua + batchLua)
	settleScript    = newScript(commonLua + bucketsLua + holdsLua + asideLua + settleLua)
	extendScript    = newScript(commonLua + holdsLua + extendLua)
	sweepScript     = newScript(commonLua + holdsLua + asideLua + sweepLua)
	allowanceScript = newScript(commonLua + bucketsLua + holdsLua + asideLua + allowanceLua)
	restoreScript   = newScript(commonLua + holdsLua + asideLua + restoreLua)
	replicasScript  = newScript(commonLua + replicasLua)
	accountScript   = newScript(commonLua + bucketsLua + accountLua)
	adjustScript    = newScript(commonLua + holdsLua + adjustLua)
)

// sweepingLua makes one function of holds.lua, so that an admission that sweeps nothing need not set it up. It is handed
// the quota, which the other keys are beside.
func sweepingLua(holds string) string {
	return "local function holds(quota, open, due)\n" + holds +
		"local prefix = string.match(quota, '^(.*:)quota$')\nsweep(quota, open, prefix .. 'hold:', prefix .. 'use:', due)\nend\n"
}

// script is a Lua script. Unlike the library's own it answers in numbers alone and takes its keys with its arguments, so
// that a call costs few allocations.
type script struct {
	source string
	digest any // a string, boxed once
}

func newScript(source string) *script {
	sum := sha1.Sum([]byte(source)) //nolint:gosec // as above
	return &script{source: source, digest: hex.EncodeToString(sum[:])}
}

// call begins the arguments of a call with so many keys.
func (s *script) call(keys, more int) []any {
	return append(make([]any, 0, 3+keys+more), "evalsha", s.digest, keys)
}

// lent is call with room that is kept for the next one. It is given back once the call has been answered.
func (s *script) lent(keys int) *[]any {
	room := rooms.Get().(*[]any)
	*room = append((*room)[:0], "evalsha", s.digest, keys)
	return room
}

var rooms = sync.Pool{New: func() any { return new([]any) }}

func giveBack(room *[]any) {
	clear(*room)
	rooms.Put(room)
}

// run runs the script: by its digest, and where Redis does not know that, by its text.
func (s *script) run(ctx context.Context, client redis.UniversalClient, call []any) ([]int64, error) {
	cmd := redis.NewIntSliceCmd(ctx, call...)
	_ = client.Process(ctx, cmd) // the command has the error
	if unknown(cmd.Err()) {
		return s.send(ctx, client, call)
	}
	return numbers(cmd)
}

// runShared is run in a round trip that others may share.
func (s *script) runShared(ctx context.Context, f *batcher, call []any) ([]int64, error) {
	cmd := redis.NewIntSliceCmd(ctx, call...)
	f.process(ctx, cmd)
	if unknown(cmd.Err()) {
		return s.send(ctx, f.client, call)
	}
	return numbers(cmd)
}

// send runs the script by its text, which Redis then knows.
func (s *script) send(ctx context.Context, client redis.UniversalClient, call []any) ([]int64, error) {
	whole := append([]any{"eval", s.source}, call[2:]...)
	cmd := redis.NewIntSliceCmd(ctx, whole...)
	_ = client.Process(ctx, cmd) // the command has the error
	return numbers(cmd)
}

func unknown(err error) bool { return redis.HasErrorPrefix(err, "NOSCRIPT") }

// numbers is a reply. One of another form belongs to another question.
func numbers(cmd *redis.IntSliceCmd) ([]int64, error) {
	reply, err := cmd.Result()
	if err != nil && strings.HasPrefix(err.Error(), "redis: can't parse") {
		return nil, errMixed
	}
	return reply, err
}

// newNumber is a number that a script says again, so that another question's reply is not taken for its own. Lua counts
// exactly to 2^53.
func newNumber() int64 { return 1 + rand.Int64N(1<<52) }

// said takes the number off a reply that has to be so long.
func said(number int64, reply []int64, err error, length int) ([]int64, error) {
	if err == nil && (len(reply) != 1+length || reply[0] != number) {
		return nil, errMixed
	}
	if err != nil {
		return nil, err
	}
	return reply[1:], nil
}
