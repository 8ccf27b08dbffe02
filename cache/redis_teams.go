package cache

import (
	"maps"
	"slices"
	"sync"
	"time"
)

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
