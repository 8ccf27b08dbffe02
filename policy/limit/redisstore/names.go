package redisstore

import (
	"context"

	"github.com/redis/go-redis/v9"

	"sluice/policy/teams"
)

// Names are the lists of the teams that ever sent a request, and of the accounts outside of the teams.
type Names struct {
	in    redis.UniversalClient
	agree func(context.Context) error // called first: an account that is listed without an agreed Money counts as charged by an older version
}

// listOf is the key of the list that an account belongs to.
func listOf(account string) string {
	if teams.IsOutside(account) {
		return outsideKey
	}
	return namesKey
}

// List adds accounts to their lists.
func (n Names) List(ctx context.Context, accounts ...string) error {
	if err := n.agree(ctx); err != nil {
		return err
	}
	by := map[string][]any{}
	for _, id := range accounts {
		by[listOf(id)] = append(by[listOf(id)], id)
	}
	for key, ids := range by {
		if err := n.in.SAdd(ctx, key, ids...).Err(); err != nil {
			return err
		}
	}
	return nil
}

// Teams returns the list of the teams.
func (n Names) Teams(ctx context.Context) ([]string, error) {
	return n.in.SMembers(ctx, namesKey).Result()
}

// Accounts returns both lists.
func (n Names) Accounts(ctx context.Context) ([]string, error) {
	pipe := n.in.Pipeline()
	teams, outside := pipe.SMembers(ctx, namesKey), pipe.SMembers(ctx, outsideKey)
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, err
	}
	return append(teams.Val(), outside.Val()...), nil
}

// Knows reports whether an account is in its list.
func (n Names) Knows(ctx context.Context, account string) (bool, error) {
	return n.in.SIsMember(ctx, listOf(account), account).Result()
}
