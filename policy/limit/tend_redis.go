package limit

import (
	"context"
	"crypto/rand"

	"github.com/redis/go-redis/v9"
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

// settleAll settles charges in one round trip, and says for each what went wrong.
func (r *Redis) settleAll(ctx context.Context, charges []*Charge) []error {
	errs := make([]error, len(charges))
	if len(charges) == 1 {
		_, errs[0] = r.Settle(ctx, charges[0])
		return errs
	}
	pipe := r.client.Pipeline()
	replies := make([]*redis.Cmd, len(charges))
	for i, c := range charges {
		keys, args := r.settlement(c, c.Amounts.bound(), true)
		replies[i] = settleScript.EvalSha(ctx, pipe, keys, args...)
	}
	_, failed := pipe.Exec(ctx)
	for i, c := range charges {
		done, err := once(replies[i], c.Held.ID)
		switch {
		case redis.HasErrorPrefix(err, "NOSCRIPT"): // a pipeline does not send the script itself
			_, err = r.Settle(ctx, c)
		case failed != nil && replies[i].Err() == nil && !done && err != nil:
			err = failed
		case err == nil && done && len(c.Held.Account) > 0:
			err = r.correctAccount(ctx, c)
		}
		errs[i] = err
	}
	return errs
}
