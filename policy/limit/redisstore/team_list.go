package redisstore

import (
	"context"
	"hash/fnv"
	"strconv"
	"sync"

	"github.com/redis/go-redis/v9"
)

// teamList is the teams that ever sent a request, as far as this process knows.
type teamList struct {
	mu    sync.Mutex
	ids   map[string]bool
	teams []*team // only appended to
}

func (l *teamList) list() []*team {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.teams
}

// add adds teams that are new, and returns all.
func (l *teamList) add(ids []string, get func(id string) *team) []*team {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range ids {
		if !l.ids[id] {
			l.ids[id], l.teams = true, append(l.teams, get(id))
		}
	}
	return l.teams
}

// eachTeam reads something of all teams in one round trip, together with the list of teams, and in another round trip of the teams that
// were new in the list. ask adds its commands to a pipeline, and returns a function that reads their replies.
func eachTeam(ctx context.Context, r *Store, ask func(pipe redis.Pipeliner, teams []*team) (read func())) error {
	trip := func(pipe redis.Pipeliner, teams []*team) error {
		read := ask(pipe, teams)
		_, err := pipe.Exec(ctx)
		if err == nil {
			read()
		}
		return err
	}
	known, pipe := r.listed.list(), r.client.Pipeline()
	names := pipe.SMembers(ctx, namesKey)
	if err := trip(pipe, known); err != nil {
		return err
	}
	fresh := r.listed.add(names.Val(), r.teams.Get)[len(known):] // other calls may have added teams meanwhile
	if len(fresh) == 0 {
		return nil
	}
	return trip(r.client.Pipeline(), fresh)
}

// Versions returns a number for each of the days. It changes with each change of the day's ledger, of any team, that is made more
// than a day after the day's end. It makes one round trip, and one more if there is a team that this process did not know.
func (l Ledgers) Versions(ctx context.Context, days []int) ([]uint64, error) {
	at := make(map[string]int, len(days))
	for i, day := range days {
		at[strconv.Itoa(day)] = i
	}
	versions := make([]uint64, len(days))
	err := eachTeam(ctx, l.of, func(pipe redis.Pipeliner, teams []*team) func() {
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

// changeOf turns a change into a number, so that those of several teams can be added up.
func changeOf(team, changed string) uint64 {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(team + " " + changed))
	return sum.Sum64()
}
