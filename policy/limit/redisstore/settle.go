package redisstore

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"
	"time"

	"sluice/policy/event"
	"sluice/policy/event/outbox"
	"sluice/policy/limit"
	"sluice/policy/teams"
)

// Result is the result of a settlement.
type Result struct {
	Done bool // this call settled it
	Err  error
}

// settlement is a call that settles charges.
type settlement struct {
	*call
	counts []count // that the reply of batch.lua is about
	inside []insideSum

	telling *event.Draft // announces the thresholds that are passed; nil: none is announced
}

// group is charges that one call settles, and their results.
type group struct {
	charges []*limit.Charge
	results []*Result
	script  *script
	settlement
}

// Settle charges a hold, once, with what the request used, even if Redis has lost the hold. It may be called again until it returns no
// error. It reports whether this call settled it.
func (r *Store) Settle(ctx context.Context, c *limit.Charge) (bool, error) {
	result := r.SettleAll(ctx, []*limit.Charge{c}, true)[0]
	return result.Done, result.Err
}

// SettleAll settles charges in one round trip, those of one team in one script, and returns the result of each. With post, it also
// charges holds that Redis does not know.
func (r *Store) SettleAll(ctx context.Context, charges []*limit.Charge, post bool) []Result {
	list := make([]Result, len(charges))
	groups := groupsOf(charges, list, r.today.at(r.Now()).before)
	for round := 0; len(groups) > 0 && round < 4; round++ {
		groups = r.settleGroups(ctx, groups, post)
	}
	var correcting []*limit.Charge
	for i, c := range charges {
		if list[i].Err == nil {
			r.teams.Get(c.Held.Team).settled(c.Held)
		}
		if list[i].Done && len(c.Held.Outside) > 0 && !c.Held.Shared { // it was taken from rates outside of the team
			correcting = append(correcting, c)
		}
	}
	if len(correcting) > 0 { // with its own time limit
		call, cancel := context.WithTimeout(context.WithoutCancel(ctx), correctionTime)
		defer cancel()
		r.correctOutside(call, correcting)
	}
	return list
}

// settleGroups settles groups in one round trip, and returns those to send again: batches that settle.lua has to look at, and groups
// whose accounts were lost and have been restored.
func (r *Store) settleGroups(ctx context.Context, groups []*group, post bool) (rest []*group) {
	calls := make([]*call, len(groups))
	for i, g := range groups {
		g.settlement = newSettlement(r, g, post)
		calls[i] = g.call
	}
	r.send(ctx, calls...)
	for _, g := range groups {
		team := g.charges[0].Held.Team
		var done []int64
		var err error
		if g.script == batchScript {
			var all bool
			if all, err = batched(ctx, r, team, &g.settlement); !all && err == nil {
				for _, of := range g.results {
					of.Err = ErrNotDone
				}
				rest = append(rest, &group{charges: g.charges, results: g.results, script: settleScript})
				continue
			}
		} else {
			var s versionedState
			var scopes []scopeCount
			done = make([]int64, len(g.charges))
			var displaced, written int64
			s, err = r.readState(g.call, func(_ *versionedState, in *reply) {
				in.into(done)
				if displaced = in.next(); g.telling != nil {
					written = in.next()
				}
				scopes = scopesOf(g.charges, in)
			})
			if err == nil {
				wrote(ctx, r, g, g.reportEvents(ctx, r, written, displaced))
				r.teams.Get(team).record(&s)
				r.teams.Get(team).recordScopes(s.version, scopes)
			}
		}
		for n, of := range g.results {
			*of = Result{err == nil && (done == nil || done[n] == 1), err}
		}
		if errors.Is(err, ErrNotDone) && r.Restore(ctx, team, Loss{}) == nil {
			rest = append(rest, g)
		}
	}
	return rest
}

// wrote tells the outbox that a group's events may be in Redis, written by this call or by an earlier one whose reply was lost.
func wrote(ctx context.Context, r *Store, g *group, displaced int64) {
	for _, c := range g.charges {
		if r.Events != nil && c.Event != nil {
			r.Events.Wrote(ctx, displaced, c.Event)
			displaced = 0
		}
	}
}

// newSettlement is the call that settles a group.
func newSettlement(r *Store, g *group, post bool) settlement {
	if g.script == batchScript {
		return batchOf(r, g.charges)
	}
	h := g.charges[0].Held
	t := r.teams.Get(h.Team)
	args := struct {
		knownArgs
		Team    string          `json:"team"`
		Terms   json.RawMessage `json:"terms"`
		Charges []chargeArgs    `json:"charges"`
		Reached *reachedArgs    `json:"reached,omitempty"`
	}{t.version().args(), h.Team, t.wired(g.charges[0].Team, "").args, make([]chargeArgs, len(g.charges)), nil}
	var telling *event.Draft
	args.Reached, telling = reachedOf(r, g.charges)
	for i, c := range g.charges {
		h, day := c.Held, ""
		if post && h.Day > 0 { // a Held without its day can only be settled if Redis has the hold
			day = strconv.Itoa(h.Day)
		}
		args.Charges[i] = chargeArgs{
			ID: h.ID, Estimated: c.Estimated, Day: day, Month: strconv.Itoa(h.Month), What: h.What(), Account: limit.AccountMark(h.Account),
			Key: string(h.Key), Task: h.Task, Amounts: c.Amounts,
			Keep: RetentionOf(c).Milliseconds(), Rated: !c.Sum, Rates: t.wired(c.Team, h.Key.Name()).ratesOf(true), Event: r.Events.Write(c.Event),
		}
	}
	c := r.begin(args.Reached.with(settleTelling, settleScript), args, t.key)
	for _, charge := range g.charges {
		c.args = append(c.args, string(charge.ByKind()))
	}
	return settlement{call: c, telling: telling}
}

// chargeArgs is a charge in the arguments of settle.lua.
type chargeArgs struct {
	ID        string        `json:"id"`
	Estimated bool          `json:"estimated"`
	Day       string        `json:"day"` // empty: an unknown hold is ignored
	Month     string        `json:"month"`
	What      string        `json:"what"`
	Account   string        `json:"account"`
	Key       string        `json:"key"` // as in the hold's text, after its team
	Task      bool          `json:"task"`
	Amounts   limit.Amounts `json:"amounts"`
	Keep      int64         `json:"keep"`  // the settled hold, ms
	Rated     bool          `json:"rated"` // an unknown hold takes from the rates
	Rates     []rateArgs    `json:"rates"` // of the scopes inside the team

	Event *outbox.Written `json:"event,omitempty"`
}

// groupsOf groups charges by team and reading of the teams file, and those for batch.lua also by day. If two charges are of one hold,
// only the first goes to batch.lua. Charges to days before the earliest do not. Amounts that cannot be counted are in no group.
func groupsOf(charges []*limit.Charge, results []Result, earliest int) (groups []*group) {
	type name struct {
		team string
		of   *teams.Team
		day  int // 0: no batch
	}
	at, seen := map[name]*group{}, seenHolds.Get().(map[heldIn]bool)
	defer func() {
		clear(seen)
		seenHolds.Put(seen)
	}()
	for i, c := range charges {
		if !c.Amounts.Valid() {
			results[i].Err = limit.ErrAmounts
			continue
		}
		name, script := name{c.Held.Team, c.Team, 0}, settleScript
		of := heldIn{c.Held.Team, c.Held.ID}
		if batchable(c, earliest) && !seen[of] {
			name.day, script = c.Held.Day, batchScript
		}
		seen[of] = true
		g := at[name]
		if g == nil {
			g = &group{script: script}
			at[name], groups = g, append(groups, g)
		}
		g.charges, g.results = append(g.charges, c), append(g.results, &results[i])
	}
	return groups
}

// seenHolds pools sets of holds, so that the next ones reuse their memory.
var seenHolds = sync.Pool{New: func() any { return map[heldIn]bool{} }}

// heldIn names a hold in one of its accounts, in which it has the same id.
type heldIn struct{ account, id string }

// RetentionOf is how long Redis remembers the hold of a charge: longer if another replica may see its end late.
func RetentionOf(c *limit.Charge) time.Duration {
	if c.Held.Task || c.Held.Local {
		return limit.LateTruth
	}
	return Remembered
}

// Extend gives an open hold a new lease, counted from now by Redis's clock. One that ends sooner changes no lease. From now on the hold is
// charged under h's account if its lease ends, and holds no more than h: the rest is given back. All that is restored, too, if Redis has
// lost the hold.
func (r *Store) Extend(ctx context.Context, h *limit.Held, lease time.Duration) error {
	t := r.teams.Get(h.Team)
	args := struct {
		knownArgs
		holdArgs
		Rates []rateArgs `json:"rates,omitzero"`
	}{holdArgs: holdArgs{ID: h.ID, Lease: lease.Microseconds(), Text: heldText(h, 0)}}
	if w := t.terms.Load(); w != nil {
		of := t.wired(w.of, h.Key.Name())
		args.Rates = append(of.ratesOf(false), of.ratesOf(true)...)
	}
	mine := t.extended(h, time.Time{}, lease)
	return r.restoring(ctx, h.Team, func() error {
		args.knownArgs = t.version().args()
		in, err := r.run(ctx, r.begin(extendScript, args, t.key))
		if err != nil {
			return err
		}
		open, due := in.next(), time.UnixMicro(in.next())
		switch err = in.end(); {
		case err == nil && open > 0:
			t.extended(h, due, 0)
		case err == nil && open < 0 && mine:
			err = ErrNotDone
		}
		return err
	})
}
