package redisstore

import (
	"context"
	"hash/fnv"
	"strconv"
	"sync"

	"github.com/redis/go-redis/v9"
)

// roll is the teams that ever sent a request, as far as this process knows.
type roll struct {
	mu    sync.Mutex
	ids   map[string]bool
	teams []*team // only appended to
}

func (h *roll) list() []*team {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.teams
}

// add adds teams that are new, and returns all.
func (h *roll) add(ids []string, get func(id string) *team) []*team {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ids == nil {
		h.ids = map[string]bool{}
	}
	for _, id := range ids {
		if !h.ids[id] {
			h.ids[id], h.teams = true, append(h.teams, get(id))
		}
	}
	return h.teams
}

// eachTeam asks something about all teams in one round trip, together with their names, and again about those that were not known yet.
// ask adds its commands to a pipeline and returns what reads the replies.
func eachTeam(ctx context.Context, r *Store, ask func(pipe redis.Pipeliner, teams []*team) (read func())) error {
	asked := r.roll.list()
	pipe := r.client.Pipeline()
	names := pipe.SMembers(ctx, namesKey)
	read := ask(pipe, asked)
	if _, err := pipe.Exec(ctx); err != nil {
		return err
	}
	read()
	fresh := r.roll.add(names.Val(), r.teams.Get)[len(asked):] // others may have asked meanwhile
	if len(fresh) == 0 {
		return nil
	}
	pipe = r.client.Pipeline()
	read = ask(pipe, fresh)
	if _, err := pipe.Exec(ctx); err != nil {
		return err
	}
	read()
	return nil
}

// Versions returns a number for each of the days. It changes with each change of the day's ledger, of any team, that is made more
// than a day after the day's end. It makes one round trip, and one more if there is a team that this process did not know.
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
