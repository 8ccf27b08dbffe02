package limit

import (
	"context"
	"crypto/rand"

	"github.com/redis/go-redis/v9"

	"sluice/policy"
)

const (
	epochKey = schema + "epoch" // names the memory of this Redis; gone with it
	namesKey = schema + "teams" // every team that ever asked for something
)

// begin adds teams to the list of those that were ever seen, and returns the name of Redis's memory, which it gives one
// if it has none.
func (r *Redis) begin(ctx context.Context, teams []string) (epoch string, err error) {
	pipe := r.client.Pipeline()
	pipe.SetNX(ctx, epochKey, rand.Text(), 0)
	got := pipe.Get(ctx, epochKey)
	if len(teams) > 0 {
		pipe.SAdd(ctx, namesKey, teams)
	}
	_, err = pipe.Exec(ctx)
	return got.Val(), err
}

// teams lists every team that was ever seen.
func (r *Redis) teams(ctx context.Context) ([]string, error) {
	return r.client.SMembers(ctx, namesKey).Result()
}

// result is what came of a settlement.
type result struct {
	done bool // this call settled it
	err  error
}

// settleAll settles charges in one round trip, those of one team in one script, and says for each what came of it.
func (r *Redis) settleAll(ctx context.Context, charges []*Charge, post bool) []result {
	groups := groupByTeam(charges)
	pipe := r.client.Pipeline()
	calls := make([]settlement, len(groups))
	replies := make([]*redis.IntSliceCmd, len(groups))
	for i, group := range groups {
		used := make([]Amounts, len(group))
		for n, c := range group {
			used[n] = c.Amounts.bound()
		}
		calls[i] = r.settlement(group, used, post)
		replies[i] = redis.NewIntSliceCmd(ctx, calls[i].call...)
		_ = pipe.Process(ctx, replies[i]) // it is only queued
	}
	_, failed := pipe.Exec(ctx)
	results := make(map[*Charge]result, len(charges))
	for i, group := range groups {
		reply, err := numbers(replies[i])
		switch {
		case unknown(err): // a pipeline does not send the script itself
			reply, err = settleScript.send(ctx, r.client, calls[i].call)
		case err == nil && len(reply) == 0 && failed != nil: // not sent at all
			err = failed
		}
		done, err := said(calls[i].number, reply, err, len(group))
		for n, c := range group {
			came := result{err: err}
			if came.done = err == nil && done[n] == 1; came.done && c.corrects() {
				came.err = r.correctAccount(ctx, c)
			}
			results[c] = came
		}
	}
	list := make([]result, len(charges))
	for i, c := range charges {
		list[i] = results[c]
	}
	return list
}

// groupByTeam puts the charges of each team, of one reading of the teams file, together.
func groupByTeam(charges []*Charge) (groups [][]*Charge) {
	type team struct {
		id string
		of *policy.Team
	}
	at := map[team]int{}
	for _, c := range charges {
		name := team{c.Held.Team, c.Team}
		i, ok := at[name]
		if !ok {
			i = len(groups)
			at[name], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], c)
	}
	return groups
}
