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

// settleAll settles charges in one round trip, those of one team in one script, and says for each what went wrong.
func (r *Redis) settleAll(ctx context.Context, charges []*Charge) []error {
	groups := groupByTeam(charges)
	pipe := r.client.Pipeline()
	calls := make([]func() *redis.Cmd, len(groups))
	replies := make([]*redis.Cmd, len(groups))
	for i, group := range groups {
		keys, args := r.settlement(charges[group[0]].Held.Team, charges[group[0]].Team)
		for _, n := range group {
			keys, args = r.addCharge(keys, args, charges[n], charges[n].Amounts.bound(), true)
		}
		calls[i] = func() *redis.Cmd { return settleScript.Run(ctx, r.client, keys, args...) }
		replies[i] = settleScript.EvalSha(ctx, pipe, keys, args...)
	}
	_, failed := pipe.Exec(ctx)
	errs := make([]error, len(charges))
	for i, group := range groups {
		if redis.HasErrorPrefix(replies[i].Err(), "NOSCRIPT") { // a pipeline does not send the script itself
			replies[i] = calls[i]()
		}
		r.settled(ctx, charges, group, replies[i], failed, errs)
	}
	return errs
}

// settled reads what came of one group.
func (r *Redis) settled(ctx context.Context, charges []*Charge, group []int, cmd *redis.Cmd, failed error, errs []error) {
	reply, err := listOf(cmd)
	if err == errMixed && failed != nil { // not sent at all
		err = failed
	}
	in := replyReader{list: reply}
	for _, n := range group {
		c := charges[n]
		switch {
		case err != nil:
			errs[n] = err
		case in.text() != c.Held.ID:
			errs[n] = errMixed
		case in.number() == 1 && len(c.Held.Account) > 0:
			errs[n] = r.correctAccount(ctx, c)
		default:
			errs[n] = in.err
		}
	}
}

// groupByTeam returns the indices of the charges of each team, of one reading of the teams file.
func groupByTeam(charges []*Charge) (groups [][]int) {
	type team struct {
		id string
		of *policy.Team
	}
	at := map[team]int{}
	for n, c := range charges {
		name := team{c.Held.Team, c.Team}
		i, ok := at[name]
		if !ok {
			i = len(groups)
			at[name], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], n)
	}
	return groups
}
