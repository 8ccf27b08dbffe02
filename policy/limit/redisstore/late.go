package redisstore

import (
	"context"
	"hash/fnv"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// Versions returns for each of the days a number that is another one after each change of its ledger, of any team, that came more
// than a day after its end. It makes one round trip, and one more if there is a team that this process did not know.
func (r *Store) Versions(ctx context.Context, days []int) ([]uint64, error) {
	at := make(map[string]int, len(days))
	for i, day := range days {
		at[strconv.Itoa(day)] = i
	}
	versions := make([]uint64, len(days))
	err := eachTeam(ctx, r, func(pipe redis.Pipeliner, teams []*team) func() {
		late := make([]*redis.MapStringStringCmd, len(teams))
		for i, t := range teams {
			late[i] = pipe.HGetAll(ctx, t.late())
		}
		return func() {
			for i, t := range teams {
				for day, changed := range late[i].Val() {
					if n, asked := at[day]; asked {
						versions[n] += changeOf(t.id, changed)
					}
				}
			}
		}
	})
	return versions, err
}

// changeOf makes a number of a change, so that those of several teams can be added up.
func changeOf(team, changed string) uint64 {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(team + " " + changed))
	return sum.Sum64()
}
