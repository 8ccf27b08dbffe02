package redisstore

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Names is the list of the teams that ever sent a request.
type Names struct{ in redis.UniversalClient }

// List adds teams.
func (n Names) List(ctx context.Context, teams ...string) error {
	return n.in.SAdd(ctx, namesKey, teams).Err()
}

// Teams returns the list.
func (n Names) Teams(ctx context.Context) ([]string, error) {
	return n.in.SMembers(ctx, namesKey).Result()
}

// Knows reports whether a team is in the list.
func (n Names) Knows(ctx context.Context, team string) (bool, error) {
	return n.in.SIsMember(ctx, namesKey, team).Result()
}
