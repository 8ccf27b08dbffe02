package limit

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy"
)

// The scripts. Each does one thing to one team's accounts, whole or not at all.
var (
	//go:embed scripts/common.lua
	commonLua string
	//go:embed scripts/admit.lua
	admitLua string
	//go:embed scripts/settle.lua
	settleLua string
	//go:embed scripts/extend.lua
	extendLua string
	//go:embed scripts/sweep.lua
	sweepLua string
	//go:embed scripts/restore.lua
	restoreLua string
	//go:embed scripts/account.lua
	accountLua string

	admitScript   = redis.NewScript(commonLua + admitLua)
	settleScript  = redis.NewScript(commonLua + settleLua)
	extendScript  = redis.NewScript(commonLua + extendLua)
	sweepScript   = redis.NewScript(commonLua + sweepLua)
	restoreScript = redis.NewScript(commonLua + restoreLua)
	accountScript = redis.NewScript(commonLua + accountLua)
)

// remembered is how long a settled hold is known, so that a settlement whose reply was lost can be sent again.
const remembered = 15 * time.Minute

// errMixed is a reply to somebody else's question: the connection has lost its place.
var errMixed = errors.New("the shared state answered another question")

// Redis keeps the accounts in Redis, where every replica sees them. Every change is one script, so it happens whole or
// not at all, and knows its hold's id, so it may be sent again when its reply was lost. It is safe for concurrent use.
type Redis struct {
	// Mixed is called when a reply belonged to another question: the connections have lost their place and must be
	// dropped. Nil: nothing is done. Set it before the first call.
	Mixed  func()
	client redis.UniversalClient
	clock  func() int64 // microseconds; 0: Redis's own. Tests set it
	keys   sync.Map     // team id → *teamKeys; grows with the teams file
	known  sync.Map     // team id → *state as it was last seen, for the day Redis loses its memory
	lost   atomic.Int64
}

// NewRedis returns the accounts that client leads to. The client sees to time limits and to connections; it must not
// send anything twice by itself.
func NewRedis(client redis.UniversalClient) *Redis {
	return &Redis{client: client, clock: func() int64 { return 0 }}
}

func (r *Redis) keysOf(team string) *teamKeys {
	if k, ok := r.keys.Load(team); ok {
		return k.(*teamKeys)
	}
	k, _ := r.keys.LoadOrStore(team, keysOf(team))
	return k.(*teamKeys)
}

// admit places a hold. known is the epoch of the accounts as the caller knows them, empty when it knows none; fresh
// names those that would begin.
func (r *Redis) admit(ctx context.Context, h *Hold, t *terms, known, fresh string) (state, error) {
	if !h.Amounts.valid() {
		return state{}, errAmounts
	}
	k := r.keysOf(h.Team.ID)
	keys := []string{k.rates[0], k.rates[1], k.rates[2], k.quota, k.open, k.hold + h.ID}
	args := make([]any, 0, 33)
	args = append(args, r.clock(), h.Team.ID, h.ID, h.Lease.Microseconds(), flag(h.Task), t.mode(), t.tasks,
		ledgerName(h.Model, h.Endpoint), k.hold, k.ledger, known, fresh)
	args = appendAmounts(args, h.Amounts)
	args = appendRates(args, t)
	for _, limit := range t.quotas {
		args = append(args, limit)
	}
	reply, err := listOf(admitScript.Run(ctx, r.client, keys, args...))
	if err != nil {
		return state{}, err
	}
	return readState(reply, h.ID)
}

// listOf is a script's reply, which is a list.
func listOf(cmd *redis.Cmd) ([]any, error) {
	if err := cmd.Err(); err != nil {
		return nil, err
	}
	list, err := cmd.Slice()
	if err != nil {
		return nil, errMixed
	}
	return list, nil
}

// mode is what admit.lua does with what does not fit.
func (t *terms) mode() int {
	switch {
	case t.forced:
		return 2
	case t.shadow:
		return 1
	}
	return 0
}

func appendAmounts(args []any, a Amounts) []any {
	for _, n := range a {
		args = append(args, n)
	}
	return args
}

func appendRates(args []any, t *terms) []any {
	for _, rate := range t.rates {
		args = append(args, rate.Limit, rate.Per.Microseconds(), rate.Burst)
	}
	return args
}

func flag(on bool) int {
	if on {
		return 1
	}
	return 0
}

// readState reads the reply of admit.lua.
func readState(reply []any, id string) (s state, err error) {
	in := replyReader{list: reply}
	s.outcome = outcome(in.number())
	if in.text() != id {
		return s, errMixed
	}
	s.epoch = in.text()
	s.at = time.UnixMicro(in.number()).UTC()
	s.date = calendarOf(s.at)
	if s.outcome == lost {
		return s, in.err
	}
	s.fault, s.wait, s.tasks = int(in.number()), micros(in.number()), in.number()
	for i := range s.used {
		s.used[i] = in.number()
	}
	for i := range s.held {
		s.held[i] = in.number()
	}
	for i := range s.rates {
		s.rates[i] = fill{left: in.number(), full: micros(in.number())}
	}
	return s, in.err
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// replyReader takes a script's reply apart.
type replyReader struct {
	list []any
	err  error
}

func (r *replyReader) next() any {
	if len(r.list) == 0 {
		r.err = errMixed
		return nil
	}
	v := r.list[0]
	r.list = r.list[1:]
	return v
}

func (r *replyReader) number() int64 {
	n, ok := r.next().(int64)
	if !ok {
		r.err = errMixed
	}
	return n
}

func (r *replyReader) text() string {
	s, ok := r.next().(string)
	if !ok {
		r.err = errMixed
	}
	return s
}

// settle charges a hold once. With post, a hold that the state has lost, or never had, is charged all the same.
func (r *Redis) settle(ctx context.Context, c *Charge, used Amounts, post bool) (bool, error) {
	if !used.valid() {
		return false, errAmounts
	}
	keys, args := r.settlement(c.Held.Team, c.Team)
	keys, args = r.addCharge(keys, args, c, used, post)
	return once(settleScript.Run(ctx, r.client, keys, args...), c.Held.ID)
}

// settlement begins what settle.lua is called with.
func (r *Redis) settlement(id string, team *policy.Team) (keys []string, args []any) {
	k, t := r.keysOf(id), termsOf(team)
	args = make([]any, 0, 13+9)
	args = append(args, r.clock(), id, remembered.Milliseconds(), k.ledger)
	return []string{k.rates[0], k.rates[1], k.rates[2], k.quota, k.open}, appendRates(args, &t)
}

// addCharge adds a charge of the same team. A hold that does not know its day is known to Redis, or lost to all.
func (r *Redis) addCharge(keys []string, args []any, c *Charge, used Amounts, post bool) ([]string, []any) {
	h, day := c.Held, ""
	if post && h.Day > 0 {
		day = strconv.Itoa(h.Day)
	}
	args = append(args, h.ID, flag(c.Estimated), day, h.Month, h.what())
	return append(keys, r.keysOf(h.Team).hold+h.ID), appendAmounts(args, used)
}

// extend gives an open hold a new lease and reports whether it is open.
func (r *Redis) extend(ctx context.Context, h *Held, lease time.Duration) (bool, error) {
	k := r.keysOf(h.Team)
	return once(extendScript.Run(ctx, r.client, []string{k.open, k.hold + h.ID}, r.clock(), h.ID, lease.Microseconds()), h.ID)
}

// once reads a reply of an id and a number: 1 where the script changed something.
func once(cmd *redis.Cmd, id string) (bool, error) {
	reply, err := cmd.Slice()
	if err != nil {
		return false, err
	}
	in := replyReader{list: reply}
	if in.text() != id {
		return false, errMixed
	}
	done := in.number()
	return done == 1, in.err
}

func (r *Redis) sweep(ctx context.Context, team string, most int) (int, error) {
	k := r.keysOf(team)
	return sweepScript.Run(ctx, r.client, []string{k.quota, k.open}, r.clock(), most, k.hold, k.ledger).Int()
}

// restore puts back what a team is known to have used where the state knows less, and returns the epoch of the accounts.
func (r *Redis) restore(ctx context.Context, team, fresh string, known *state) (string, error) {
	args := []any{team, fresh}
	for q, used := range known.used {
		if used > 0 {
			args = append(args, fmt.Sprintf("%d:%s:used", known.date.period(q), policy.Units[q/2]), used)
		}
	}
	return restoreScript.Run(ctx, r.client, []string{r.keysOf(team).quota}, args...).Text()
}
