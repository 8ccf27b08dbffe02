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

// The scripts. Each makes one change of one team's accounts, whole or not at all.
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
	//go:embed scripts/tags.lua
	tagsLua string
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

	admitScript     = newScript(commonLua + sweepingLua(holdsLua) + noTagsLua + admitLua)
	admitTagsScript = newScript(commonLua + sweepingLua(holdsLua) + tagsLua + admitLua)
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

// noTagsLua is in place of tags.lua for teams without quotas of their tag.
const noTagsLua = "local by_tag\n"

// sweepingLua wraps holds.lua in a function, so that an admission that sweeps nothing does not run it. It derives the other keys
// from the quota's.
func sweepingLua(holds string) string {
	return "local function holds(quota, open, due)\n" + holds +
		"local prefix = string.match(quota, '^(.*:)quota$')\nsweep(quota, open, prefix .. 'hold:', prefix .. 'use:', due)\nend\n"
}

// script is a Lua script. Unlike the library's scripts it returns numbers only and takes its keys among its arguments, which saves
// allocations.
type script struct {
	source string
	digest any // a string
}

func newScript(source string) *script {
	sum := sha1.Sum([]byte(source)) //nolint:gosec // as above
	return &script{source: source, digest: hex.EncodeToString(sum[:])}
}

// wire sends calls of scripts to Redis.
type wire struct {
	// OnDesync is called when a reply belongs to another call: the connections are out of step and must be dropped. Nil: nothing
	// is called.
	OnDesync func()
	Clock    func() int64 // microseconds, 0: Redis's own clock, which is New's setting; for tests
	client   redis.UniversalClient
}

// call is one run of a script: its arguments, and after send its reply.
type call struct {
	script   *script
	args     []any
	requests int     // of admit.lua
	known    version // of the accounts, where the script compares it
	clock    int64   // microseconds, or 0 for Redis's own time
	number   int64   // random; the reply begins with it, so that another call's reply is noticed
	reply    *redis.IntSliceCmd
}

// calls are used calls, whose arrays the next ones use.
var calls = sync.Pool{New: func() any { return new(call) }}

// begin returns a call with its keys and the first two arguments of every script. There is room for so many more arguments.
func (w *wire) begin(s *script, keys []any, room int) *call {
	c := w.beginIn(&call{args: make([]any, 0, 5+len(keys)+room)}, s, len(keys)).add(keys...)
	c.begun(w.Clock())
	return c
}

// beginIn begins a call with the arrays of an earlier one. Its keys follow, so many, and then begun.
func (w *wire) beginIn(c *call, s *script, keys int) *call {
	c.script = s
	c.args = append(c.args[:0], "evalsha", s.digest, keys)
	return c
}

// begun adds the first two arguments of every script, behind its keys: the time, or 0 for Redis's own, and the number. Lua counts
// exactly to 2^53.
func (c *call) begun(clock int64) {
	c.clock, c.number = clock, 1+rand.Int64N(1<<52)
	c.args = append(c.args, &c.clock, &c.number)
}

// add adds arguments.
func (c *call) add(args ...any) *call {
	c.args = append(c.args, args...)
	return c
}

// run sends a call, and returns its reply of so many numbers.
func (w *wire) run(ctx context.Context, c *call, length int) ([]int64, error) {
	w.send(ctx, c)
	return w.said(c, length)
}

// send sends calls in one round trip. Afterwards each has its reply or its error. A script that Redis does not know by its digest is
// sent as text once, and its other calls in one more round trip.
func (w *wire) send(ctx context.Context, calls ...*call) {
	var failed error
	if len(calls) == 1 {
		calls[0].reply = redis.NewIntSliceCmd(ctx, calls[0].args...)
		failed = w.client.Process(ctx, calls[0].reply)
	} else {
		pipe := w.client.Pipeline()
		for _, c := range calls {
			c.reply = redis.NewIntSliceCmd(ctx, c.args...)
			_ = pipe.Process(ctx, c.reply) // it is only queued
		}
		_, failed = pipe.Exec(ctx)
	}
	w.finish(ctx, failed, calls...)
}

// finish sends again what Redis did not know by its digest, and notes the error of a round trip that failed as a whole.
func (w *wire) finish(ctx context.Context, failed error, calls ...*call) {
	var again []*call
	var known map[*script]bool // whose text was sent now
	for _, c := range calls {
		switch err := c.reply.Err(); {
		case redis.HasErrorPrefix(err, "NOSCRIPT") && known[c.script]:
			again = append(again, c)
		case redis.HasErrorPrefix(err, "NOSCRIPT"):
			if known == nil {
				known = map[*script]bool{}
			}
			known[c.script] = true
			c.reply = redis.NewIntSliceCmd(ctx, append([]any{"eval", c.script.source}, c.args[2:]...)...)
			_ = w.client.Process(ctx, c.reply) // the reply has the error
		case err == nil && len(c.reply.Val()) == 0 && failed != nil: // it was not sent at all
			c.reply.SetErr(failed)
		}
	}
	if len(again) > 0 {
		w.send(ctx, again...)
	}
}

// said checks a reply's number and length, and returns the rest. A short reply says why nothing was done.
func (w *wire) said(c *call, length int) ([]int64, error) {
	reply, err := c.reply.Result()
	switch {
	case err != nil && !strings.HasPrefix(err.Error(), "redis: can't parse"):
		return nil, err
	case err == nil && len(reply) == 4 && reply[0] == c.number && notDone[reply[1]] != nil:
		return nil, notDone[reply[1]]
	case err != nil || len(reply) != 1+length || reply[0] != c.number:
		if w.OnDesync != nil {
			w.OnDesync()
		}
		return nil, errMixed
	}
	return reply[1:], nil
}

// notDone are the outcomes in short replies.
var notDone = map[int64]error{2: ErrNotDone, 3: errOvertaken, 4: errRestoring}
