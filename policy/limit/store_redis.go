package limit

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy"
)

// remembered is how long a settled hold is known, so that a settlement whose reply was lost can be sent again.
const remembered = 15 * time.Minute

// rememberedLong is how long it is for what may come again later: a task's end is heard as long as the task may be asked
// for, and a sum is sent until it has arrived.
const rememberedLong = 49 * time.Hour

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

// admit places a hold. known is the epoch of the accounts as the caller knows them, 0 when it knows none; fresh names
// those that would begin.
func (r *Redis) admit(ctx context.Context, h *Hold, t *terms, known, fresh int64) (state, error) {
	if !h.Amounts.valid() {
		return state{}, errAmounts
	}
	k, number := r.keysOf(h.Team.ID), newNumber()
	call := append(admitScript.call(6, 44), k.shared...)
	call = append(call, k.hold+h.ID, r.clock(), k.team, h.ID, number, h.Lease.Microseconds(), (h.Lease + lateTruth).Milliseconds(),
		flag(h.Task), ledgerName(h.Model, h.Endpoint), k.hold, k.ledger, known, fresh, t.mode(), written(h.Amounts))
	for _, n := range h.Amounts {
		call = append(call, n)
	}
	if h.day > 0 {
		call = append(call, h.day, h.day/100)
	} else {
		call = append(call, "", "")
	}
	call = append(call, k.wired(h.Team)...)
	reply, err := admitScript.run(ctx, r.client, call)
	if err == nil && len(reply) == 4 && reply[0] == number && outcome(reply[1]) == lost {
		return state{outcome: lost}, nil
	}
	in, err := said(number, reply, err, 6+2*quotaCount+2*rateCount)
	if err != nil {
		return state{}, err
	}
	return readState(in), nil
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

func flag(on bool) int {
	if on {
		return 1
	}
	return 0
}

// readState reads the reply of admit.lua.
func readState(in []int64) (s state) {
	s.outcome, s.epoch, s.at = outcome(in[0]), in[1], time.UnixMicro(in[2]).UTC()
	s.date = calendarOf(s.at)
	s.fault, s.wait, s.tasks = int(in[3]), micros(in[4]), in[5]
	in = in[6:]
	copy(s.used[:], in)
	copy(s.held[:], in[quotaCount:])
	in = in[2*quotaCount:]
	for i := range s.rates {
		s.rates[i] = fill{left: in[2*i], full: micros(in[2*i+1])}
	}
	return s
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// settle charges a hold once. With post, a hold that the state has lost, or never had, is charged all the same.
func (r *Redis) settle(ctx context.Context, c *Charge, used Amounts, post bool) (bool, error) {
	if !used.valid() {
		return false, errAmounts
	}
	s := r.settlement([]*Charge{c}, []Amounts{used}, post)
	reply, err := settleScript.run(ctx, r.client, s.call)
	done, err := said(s.number, reply, err, 1)
	return err == nil && done[0] == 1, err
}

// settlement is a call of settle.lua for charges of one team, and the number that its reply begins with.
type settlement struct {
	call   []any
	number int64
}

func (r *Redis) settlement(charges []*Charge, used []Amounts, post bool) settlement {
	k, number := r.keysOf(charges[0].Held.Team), newNumber()
	call := append(settleScript.call(5+len(charges), 19+9*len(charges)), k.shared...)
	for _, c := range charges {
		call = append(call, k.hold+c.Held.ID)
	}
	call = append(call, r.clock(), k.team, number, k.ledger)
	call = append(call, k.wired(charges[0].Team)[1:1+rateArgs*rateCount]...)
	for i, c := range charges {
		h, day := c.Held, ""
		if post && h.Day > 0 { // one that does not know its day is known to Redis, or lost to all
			day = strconv.Itoa(h.Day)
		}
		call = append(call, h.ID, c.doubt(), day, h.Month, h.what(), flag(h.Task), written(used[i]), c.rated(), c.memory().Milliseconds())
	}
	return settlement{call, number}
}

// doubt is how certain a charge is, for settle.lua.
func (c *Charge) doubt() int {
	if c.lapsed {
		return 2
	}
	return flag(c.Estimated)
}

// rated is what a charge takes from the rates, where that is not its amounts.
func (c *Charge) rated() string {
	if c.rates == nil {
		return ""
	}
	return written(*c.rates)
}

func (c *Charge) memory() time.Duration {
	if c.sum || c.lapsed || c.Held.Task {
		return rememberedLong
	}
	return remembered
}

// extend gives an open hold a new lease and reports whether it is open.
func (r *Redis) extend(ctx context.Context, h *Held, lease time.Duration) (bool, error) {
	k, number := r.keysOf(h.Team), newNumber()
	reply, err := extendScript.run(ctx, r.client, append(extendScript.call(2, 4), k.open, k.hold+h.ID, r.clock(), h.ID, number, lease.Microseconds()))
	done, err := said(number, reply, err, 1)
	return err == nil && done[0] == 1, err
}

func (r *Redis) sweep(ctx context.Context, team string, most int) (int, error) {
	k, number := r.keysOf(team), newNumber()
	reply, err := sweepScript.run(ctx, r.client, append(sweepScript.call(2, 5), k.quota, k.open, r.clock(), most, k.hold, k.ledger, number))
	n, err := said(number, reply, err, 1)
	if err != nil {
		return 0, err
	}
	return int(n[0]), nil
}

// restore puts back what a team is known to have used where the state knows less, and returns the epoch of the accounts.
func (r *Redis) restore(ctx context.Context, team string, fresh int64, known *state) (int64, error) {
	number := newNumber()
	call := append(restoreScript.call(1, 3+2*quotaCount), r.keysOf(team).quota, team, fresh, number)
	for q, used := range known.used {
		if used > 0 {
			call = append(call, strconv.Itoa(known.date.period(q))+":"+string(policy.Units[q/2])+":used", used)
		}
	}
	reply, err := restoreScript.run(ctx, r.client, call)
	epoch, err := said(number, reply, err, 1)
	if err != nil {
		return 0, err
	}
	return epoch[0], nil
}
