package redisstore

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"sluice/policy/limit"
	"sluice/policy/teams"
)

// Result is what came of a settlement.
type Result struct {
	Done bool // this call settled it
	Err  error
}

// group is charges that one call settles.
type group struct {
	charges []*limit.Charge
	script  *script
	call    settlement
	reply   *redis.IntSliceCmd
}

// SettleAll settles charges in one round trip, those of one team in one script, and says for each what came of it. Those
// that turn out not to be as they were admitted take another.
func (r *Store) SettleAll(ctx context.Context, charges []*limit.Charge, post bool) []Result {
	results := make(map[*limit.Charge]Result, len(charges))
	groups := groupsOf(charges)
	for round := 0; len(groups) > 0 && round < 3; round++ {
		groups = r.settleGroups(ctx, groups, post, results)
	}
	list := make([]Result, len(charges))
	var correcting []*limit.Charge
	for i, c := range charges {
		list[i] = results[c]
		if list[i].Err == nil {
			r.own.Get(c.Held.Team).settled(c.Held)
		}
		if list[i].Done && corrects(c) {
			correcting = append(correcting, c)
		}
	}
	if len(correcting) > 0 { // in a time of its own: what the settlements left is no measure
		call, cancel := context.WithTimeout(context.WithoutCancel(ctx), correctionTime)
		defer cancel()
		r.correctAccount(call, correcting)
	}
	return list
}

// settleGroups settles groups in one round trip, and returns those that have to be sent again: those of batch.lua that
// settle.lua has to look at, and those of accounts that were gone and are put back.
func (r *Store) settleGroups(ctx context.Context, groups []*group, post bool, results map[*limit.Charge]Result) (rest []*group) {
	pipe := r.client.Pipeline()
	for _, g := range groups {
		g.call = r.callFor(g, post)
		g.reply = redis.NewIntSliceCmd(ctx, g.call.call...)
		_ = pipe.Process(ctx, g.reply) // it is only queued
	}
	_, failed := pipe.Exec(ctx)
	for _, g := range groups {
		reply, err := numbers(g.reply)
		switch {
		case unknown(err): // a pipeline does not send the script itself
			reply, err = g.script.send(ctx, r.client, g.call.call)
		case err == nil && len(reply) == 0 && failed != nil: // not sent at all
			err = failed
		}
		if g.script == batchScript {
			settled, err := r.batched(&g.call, reply, err)
			if !settled && err == nil {
				rest = append(rest, &group{charges: g.charges, script: settleScript})
				continue
			}
			g.came(results, nil, err)
		} else {
			done, err := r.settlements(&g.call, reply, err, len(g.charges))
			g.came(results, done, err)
		}
		if errors.Is(results[g.charges[0]].Err, ErrNotDone) && r.Restore(ctx, g.call.team, Loss{}) == nil {
			rest = append(rest, g)
		}
	}
	return rest
}

// came notes what came of a group: done of each charge, nil where all are settled by this.
func (g *group) came(results map[*limit.Charge]Result, done []int64, err error) {
	for n, c := range g.charges {
		results[c] = Result{err == nil && (done == nil || done[n] == 1), err}
	}
}

func (r *Store) callFor(g *group, post bool) settlement {
	used := make([]limit.Amounts, len(g.charges))
	for n, c := range g.charges {
		used[n] = c.Amounts.Bound()
	}
	if g.script == batchScript {
		return r.batch(g.charges, used)
	}
	return r.settlement(g.charges, used, post)
}

// groupsOf puts the charges of each team, of one reading of the teams file, together: those that may be batches by their
// days, too. Of two charges of one hold only the first is of a batch.
func groupsOf(charges []*limit.Charge) (groups []*group) {
	type name struct {
		team string
		of   *teams.Team
		day  int // 0: no batch
	}
	at, ids := map[name]*group{}, make(map[string]bool, len(charges))
	for _, c := range charges {
		name, script := name{c.Held.Team, c.Team, 0}, settleScript
		if plain(c) && !ids[c.Held.ID] {
			name.day, script = c.Held.Day, batchScript
		}
		ids[c.Held.ID] = true
		g := at[name]
		if g == nil {
			g = &group{script: script}
			at[name], groups = g, append(groups, g)
		}
		g.charges = append(g.charges, c)
	}
	return groups
}
