package redisstore

import (
	"context"
	"sync"

	"github.com/redis/go-redis/v9"
)

// house is the teams that ever sent a request, as far as this process knows.
type house struct {
	mu    sync.Mutex
	ids   map[string]bool
	teams []*team // only appended to
}

func (h *house) list() []*team {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.teams
}

// add adds teams that are new, and returns all.
func (h *house) add(ids []string, get func(id string) *team) []*team {
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
	asked := r.house.list()
	pipe := r.client.Pipeline()
	names := pipe.SMembers(ctx, namesKey)
	read := ask(pipe, asked)
	if _, err := pipe.Exec(ctx); err != nil {
		return err
	}
	read()
	fresh := r.house.add(names.Val(), r.teams.Get)[len(asked):] // others may have asked meanwhile
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
