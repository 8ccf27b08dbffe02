package recent

import (
	"context"
	_ "embed"
	"sync"

	"github.com/redis/go-redis/v9"
)

const (
	// watchedFrom is from how many lines on a process tells Redis which entries are a team's, so that it can drop some. A team with less at
	// each replica stays below its share, and costs nothing more than its lines.
	watchedFrom = MostOfTeam / 16
	// toldAtOnce is how many it tells while a post goes on. Only so many more than its share has a team for a moment.
	toldAtOnce = 20
)

var (
	//go:embed scripts/share.lua
	shareLua    string
	shareScript = redis.NewScript(shareLua)
)

// posted are the last entries that this process has added to the stream of the teams.
type posted struct {
	mu    sync.Mutex // held during a post
	teams map[string]*postedOf
	order []*postedOf // whose each entry is, the oldest first
	queue []*postedOf // those with entries to be told
}

// postedOf are those of a team.
type postedOf struct {
	team   string
	ids    []string // the oldest first
	told   int      // of them
	queued bool
}

// add notes an entry.
func (p *posted) add(team, id string) {
	of := p.teams[team]
	if of == nil {
		of = &postedOf{team: team}
		p.teams[team] = of
	}
	of.ids, p.order = append(of.ids, id), append(p.order, of)
	if !of.queued && len(of.ids) >= watchedFrom {
		of.queued, p.queue = true, append(p.queue, of)
	}
	if len(p.order) > MostLines {
		p.order[0].dropFirst(p.teams)
		p.order = p.order[1:]
	}
}

// dropFirst forgets an entry that the stream has dropped.
func (of *postedOf) dropFirst(teams map[string]*postedOf) {
	of.ids, of.told = of.ids[1:], max(of.told-1, 0)
	if len(of.ids) == 0 {
		delete(teams, of.team)
	}
}

// tell tells Redis the entries of teams that have at least so many to be told.
func (p *posted) tell(ctx context.Context, pipe redis.Pipeliner, least int) {
	later := p.queue[:0]
	for _, of := range p.queue {
		ids := of.ids[of.told:]
		if len(ids) < least {
			later = append(later, of)
			continue
		}
		args := []any{MostLines, MostOfTeam, Kept.Milliseconds()}
		for _, id := range ids {
			args = append(args, id)
		}
		shareScript.Eval(ctx, pipe, []string{requestsKey, entriesPrefix + of.team, teamsKey}, args...) // a pipeline does not fall back from EVALSHA
		of.told, of.queued = len(of.ids), false
	}
	p.queue = later
}
