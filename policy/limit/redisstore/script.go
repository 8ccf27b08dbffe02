package redisstore

import (
	"context"
	"crypto/sha1" //nolint:gosec // the name that Redis gives a script, not a protection
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"sluice/policy/event/outbox"
	"sluice/policy/price"
	"sluice/policy/unit"
)

// Each script makes one change of one team's accounts, whole or not at all. It begins with the parts of the library that it uses.
var (
	//go:embed scripts
	scripts embed.FS

	admitScript      = newScript(sweeping, "admit")
	admitInnerScript = newScript(sweeping, "inner", "admit")
	lookScript       = newScript("amounts", "buckets", "named", "kinds", "holds", "aside", "look").withoutMoney()
	batchScript      = newScript("buckets", "kinds", "batch")
	batchTelling     = newScript("buckets", "kinds", writing, "told", "reached", "batch")
	settleScript     = newScript("amounts", "buckets", "named", "kinds", "holds", "aside", writing, "settle")
	settleTelling    = newScript("amounts", "buckets", "named", "kinds", "holds", "aside", writing, "told", "reached", "settle")
	extendScript     = newScript("amounts", "buckets", "named", "kinds", "holds", "extend")
	sweepScript      = newScript("amounts", "named", "kinds", "holds", "aside", "sweep").withoutMoney()
	allowanceScript  = newScript("amounts", "buckets", "named", "kinds", "holds", "aside", "allowance")
	restoreScript    = newScript("amounts", "named", "kinds", "holds", "aside", "told", "restore")
	replicasScript   = newScript("named", "replicas").withoutMoney()
	outsideScript    = newScript("buckets", "named", "outside").withoutMoney()
	seedScript       = newScript("named", "seed")
	adjustScript     = newScript("amounts", "named", "kinds", "holds", "adjust")
)

// sweeping is holds.lua as a function, so that an admission that sweeps nothing does not run it. Without limits inside the team, inner
// is nil.
const sweeping = "sweeping"

// writing is the library that writes events.
const writing = "writing"

// script is a Lua script. Unlike the library's scripts it returns numbers only and takes its keys among its arguments, which saves
// allocations.
type script struct {
	source  string
	digest  any         // a string
	known   atomic.Bool // Redis most likely has its text
	noMoney bool        // it writes no amount of money from its arguments, so it needs no agreement on the decimals
}

func newScript(parts ...string) *script {
	source := tables() + part("common")
	for _, name := range parts {
		switch name {
		case sweeping:
			source += "local inner\nlocal function holds(due)\n" + part("amounts") + part("kinds") + part("holds") + "sweep(due)\nend\n"
		case writing:
			source += outbox.WriteLua
		default:
			source += part(name)
		}
	}
	return scriptOf(source)
}

func scriptOf(source string) *script {
	sum := sha1.Sum([]byte(source)) //nolint:gosec // as above
	return &script{source: source, digest: hex.EncodeToString(sum[:])}
}

func (s *script) withoutMoney() *script {
	s.noMoney = true
	return s
}

func part(name string) string {
	text, err := scripts.ReadFile("scripts/" + name + ".lua")
	if err != nil {
		panic(err) // it is embedded
	}
	return string(text)
}

// tables gives the scripts the table of units, the pattern of a text of amounts, the constants of kinds, and for how many milliseconds a
// settled hold is remembered.
func tables() string {
	words, each := make([]string, unit.Count), make([]string, unit.Count)
	for i, name := range unit.Names {
		words[i], each[i] = "'"+string(name)+"'", "%d+"
	}
	return "local UNITS, EACH = {" + strings.Join(words, ", ") + "}, '" + strings.Join(each, " ") + "'\n" +
		fmt.Sprintf("local IMAGE, SIZES, REMEMBERED = %d, %d, '%d'\n", price.Image, price.SizesMost, Remembered.Milliseconds())
}

// wire sends calls of scripts to Redis.
type wire struct {
	*agreement
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
	requests int      // of admit.lua
	body     wireText // the script's arguments by name
	known    version  // of the accounts, where the arguments have it
	clock    int64    // microseconds, or 0 for Redis's own time
	noMoney  bool     // it writes no amount of money of this process
	number   int64    // random; the reply begins with it, so that another call's reply is detected
	reply    *redis.IntSliceCmd

	names []named // of batch.lua: its holds, whose texts are in text
	text  []byte
}

// wireText is an argument whose bytes are used again: unlike a string it costs no allocation.
type wireText []byte

// MarshalBinary implements the library's interface of arguments.
func (t *wireText) MarshalBinary() ([]byte, error) { return *t, nil }

// named is the key and the text of a hold that is settled.
type named struct{ key, text wireText }

// calls pools calls, so that the next ones reuse their memory.
var calls = sync.Pool{New: func() any { return new(call) }}

// begin returns a call with its keys and its arguments by name.
func (w *wire) begin(s *script, body any, keys ...any) *call {
	c := new(call)
	c.body, _ = json.Marshal(body) // numbers and texts
	c.args = append(c.start(s, len(keys)).args, keys...)
	c.begun(w.Clock())
	c.args = append(c.args, &c.body)
	return c
}

// reuse returns a call that was answered to the pool.
func (c *call) reuse() {
	clear(c.args)
	*c = call{args: c.args[:0], names: c.names[:0], text: c.text[:0]}
	calls.Put(c)
}

// start begins a call's arguments, up to its keys. A script is called by its digest once Redis has answered a call with its text: over a
// slow network there may be no time for a second round trip.
func (c *call) start(s *script, keys int) *call {
	c.script, c.noMoney = s, s.noMoney
	if s.known.Load() {
		c.args = append(c.args[:0], "evalsha", s.digest, keys)
	} else {
		c.args = append(c.args[:0], "eval", s.source, keys)
	}
	return c
}

// begun adds the first two arguments of every script: the time, and the number that the reply begins with.
func (c *call) begun(clock int64) {
	c.clock, c.number = clock, 1+rand.Int64N(1<<52) // Lua counts exactly to 2^53
	c.args = append(c.args, &c.clock, &c.number)
}

// send sends calls in one round trip. Afterwards each has its reply or its error. If Redis does not know a script's digest, the first
// call is sent again with the text, and the script's other calls in one more round trip.
func (w *wire) send(ctx context.Context, calls ...*call) {
	if err := w.mayChange(ctx, calls); err != nil {
		for _, c := range calls {
			c.reply = redis.NewIntSliceCmd(ctx)
			c.reply.SetErr(err)
		}
		return
	}
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

// mayChange returns why calls cannot be sent: they would write amounts of money to accounts that count in another Money.
func (w *wire) mayChange(ctx context.Context, calls []*call) error {
	if slices.ContainsFunc(calls, func(c *call) bool { return !c.noMoney }) {
		return w.Agree(ctx)
	}
	return nil
}

// finish repeats the calls whose digests Redis did not know, and records the error of a round trip that failed as a whole.
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
			c.script.known.Store(false)
			c.reply = redis.NewIntSliceCmd(ctx, append([]any{"eval", c.script.source}, c.args[2:]...)...)
			_ = w.client.Process(ctx, c.reply) // the reply has the error
		case err == nil && len(c.reply.Val()) == 0 && failed != nil: // it was not sent at all
			c.reply.SetErr(failed)
		case err == nil && !c.script.known.Load():
			c.script.known.Store(true)
		}
	}
	if len(again) > 0 {
		w.send(ctx, again...)
	}
}

// reply reads the numbers of a reply in turn.
type reply struct {
	w     *wire
	rest  []int64
	short bool // there were too few
}

// run sends a call, and returns its reply.
func (w *wire) run(ctx context.Context, c *call) (*reply, error) {
	w.send(ctx, c)
	return w.replyTo(c)
}

// replyTo returns the reply after its number, which it checks. A short reply says why nothing was done.
func (w *wire) replyTo(c *call) (*reply, error) {
	numbers, err := c.reply.Result()
	switch {
	case err != nil && !strings.HasPrefix(err.Error(), "redis: can't parse"):
		return nil, err
	case err != nil || len(numbers) == 0 || numbers[0] != c.number:
		return nil, w.mixed()
	case len(numbers) == 4 && notDone[numbers[1]] != nil:
		return nil, notDone[numbers[1]]
	}
	return &reply{w: w, rest: numbers[1:]}, nil
}

// mixed reports that connections are out of step.
func (w *wire) mixed() error {
	if w.OnDesync != nil {
		w.OnDesync()
	}
	return errMixed
}

// notDone are the outcomes in short replies.
var notDone = map[int64]error{2: ErrNotDone, 3: errOvertaken, 4: errRestoring}

// next reads a number.
func (in *reply) next() int64 {
	if len(in.rest) == 0 {
		in.short = true
		return 0
	}
	n := in.rest[0]
	in.rest = in.rest[1:]
	return n
}

// into reads as many numbers as the list has.
func (in *reply) into(list []int64) {
	for i := range list {
		list[i] = in.next()
	}
}

// end checks that nothing of the reply is left unread.
func (in *reply) end() error {
	if in.short || len(in.rest) > 0 {
		return in.w.mixed()
	}
	return nil
}
