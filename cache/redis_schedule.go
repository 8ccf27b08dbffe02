package cache

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// redisSchedule hands out the tasks that the finisher queries.
type redisSchedule struct {
	*store
	reader *redisReader
	losses *losses
	teams  *openTeams
	round  int // how often the finisher came; used by Due alone
}

// Due hands out up to most tasks that are due, each to one replica for a while, including those of teams that left the teams
// file and expired ones whose end was never seen. Teams get equal parts and alternate in the list; two tasks of teams that go
// first come before each task of others. One goroutine calls it.
func (s *redisSchedule) Due(ctx context.Context, most int, first map[string]bool) ([]Claim, error) {
	if err := s.findTeams(ctx); err != nil {
		return nil, err
	}
	order := turnOrder(s.teams.list(), first, s.round)
	s.round++
	taken := share(order, most, func(team string, n int) ([]Claim, bool) { return s.takeDue(ctx, team, n) })
	return inTurn(order, first, taken), nil
}

// takeDue hands out tasks of a team, and reports whether it may have more. A team whose shard is away has none, and delays
// no other.
func (s *redisSchedule) takeDue(ctx context.Context, team string, most int) (list []Claim, more bool) {
	ids, err := s.run(ctx, dueScript, []string{dueKey(team)}, most, handedFor.Microseconds()).StringSlice()
	if err != nil || len(ids) == 0 {
		return nil, false
	}
	names := make([]namedTask, len(ids))
	for i, id := range ids {
		names[i] = namedTask{team: team, id: id}
	}
	call, cancel := s.long(ctx)
	defer cancel()
	claims, err := s.reader.readNamed(call, names)
	if err != nil {
		return nil, false
	}
	for i, claim := range claims {
		if claim == nil {
			_ = s.Forget(ctx, &Claim{Team: team, Task: ids[i]})
			continue
		}
		list = append(list, *claim)
	}
	return list, len(ids) == most
}

// findTeams looks for teams whose tasks other replicas made, every teamsEvery.
func (s *redisSchedule) findTeams(ctx context.Context) error {
	if !s.teams.old(s.Now()) {
		return nil
	}
	names, err := s.allTeams(ctx)
	if err != nil {
		return err
	}
	keys := make([]string, len(names))
	for i, team := range names {
		keys[i] = dueKey(team)
	}
	s.teams.found(s.Now(), names, s.sizes(ctx, keys))
	s.losses.watch(names)
	return nil
}

// Schedule sets when a task that has not ended is due.
func (s *redisSchedule) Schedule(ctx context.Context, claim *Claim, at time.Time) error {
	return s.reschedule(ctx, dueKey(claim.Team), claim.Task, at.Sub(s.Now()))
}

// Forget hands a task out no more.
func (s *redisSchedule) Forget(ctx context.Context, claim *Claim) error {
	return s.remove(ctx, dueKey(claim.Team), claim.Task)
}

// teamsEvery is how often this process looks for teams whose tasks were made by other replicas.
const teamsEvery = time.Minute

// openTeams are the teams that may have tasks which are due.
type openTeams struct {
	mu     sync.Mutex
	teams  map[string]bool
	looked time.Time // when Redis was last asked for all of them
}

func (o *openTeams) add(team string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.teams[team] = true
}

func (o *openTeams) list() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Collect(maps.Keys(o.teams))
}

// old reports whether Redis is to be asked again.
func (o *openTeams) old(now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return now.Sub(o.looked) >= teamsEvery
}

// found notes how many tasks Redis has of each team; one below 0 could not be read and stays as it was.
func (o *openTeams) found(now time.Time, teams []string, tasks []int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.looked = now
	for i, team := range teams {
		switch {
		case tasks[i] > 0:
			o.teams[team] = true
		case tasks[i] == 0:
			delete(o.teams, team)
		}
	}
}
