package cache

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// redisAgenda lists the tasks of teams, and hands out those that the finisher queries.
type redisAgenda struct {
	*store
	losses *losses
	round  int       // the number of the finisher's rounds; only Due uses it
	looked time.Time // when Due last looked for teams

	mu    sync.Mutex
	teams map[string]bool // teams that may have due tasks
}

// mostInScript is how many tasks of a team one script reads.
const mostInScript = 500

// List returns a page of the tasks of teams, newest first. It makes two round trips, three with a filter. It reads
// tasks that have not ended from the finisher's agenda, which has only these.
func (a *redisAgenda) List(ctx context.Context, teams []string, f Filter) (Page, error) {
	call, cancel := a.long(context.WithoutCancel(ctx))
	defer cancel()
	return list(redisList{a.store, call}, teams, f)
}

// redisList is one list.
type redisList struct {
	*store
	ctx context.Context //nolint:containedctx // it lasts as long as the list
}

func (l redisList) names(teams []string, open bool, before int64, each int) (names []named, err error) {
	calls := make([][]string, len(teams))
	for i, team := range teams {
		calls[i] = []string{tasksKey(team), dueKey(team)}
	}
	replies, err := l.runAll(l.ctx, namesScript, calls, "known", l.TTL.Microseconds(), "before", before, "most", each, "open", flag(open))
	for i, reply := range replies {
		for n := 0; n+1 < len(reply); n += 2 {
			id, _ := reply[n].(string)
			text, _ := reply[n+1].(string)
			created, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return nil, errMixed
			}
			names = append(names, named{teams[i], id, created})
		}
	}
	slices.SortFunc(names, func(a, b named) int { return cmp.Or(cmp.Compare(b.created, a.created), strings.Compare(b.id, a.id)) })
	return names, err
}

func (l redisList) claims(names []named, whole bool) ([]*Claim, error) {
	byTeam := map[string][]int{} // places in names
	for i, t := range names {
		byTeam[t.team] = append(byTeam[t.team], i)
	}
	var calls [][]string
	var asked [][]int
	for team, of := range byTeam {
		for chunk := range slices.Chunk(of, mostInScript) {
			keys := make([]string, len(chunk))
			for n, i := range chunk {
				keys[n] = taskKey(team, names[i].id)
			}
			calls, asked = append(calls, keys), append(asked, chunk)
		}
	}
	replies, err := l.runAll(l.ctx, tasksScript, calls, "whole", flag(whole))
	if err != nil {
		return nil, err
	}
	claims := make([]*Claim, len(names))
	for c, reply := range replies {
		if len(reply) != len(asked[c])+1 {
			return nil, errMixed
		}
		for n, i := range asked[c] {
			if claims[i], err = l.readClaim(names[i].team, names[i].id, reply[0], reply[n+1]); err != nil {
				return nil, err
			}
		}
	}
	return claims, nil
}

// Due hands out up to most tasks that are due, each to one replica for a while, including those of teams that left the teams file
// and expired ones whose end was never seen. Teams get equal parts and alternate in the list; two tasks of the teams in first
// precede each task of others. One goroutine calls it.
func (a *redisAgenda) Due(ctx context.Context, most int, first map[string]bool) ([]Claim, error) {
	if err := a.findTeams(ctx); err != nil {
		return nil, err
	}
	a.mu.Lock()
	teams := make([]string, 0, len(a.teams))
	for team := range a.teams {
		teams = append(teams, team)
	}
	a.mu.Unlock()
	a.round++
	return share(teams, first, a.round, most, func(team string, n int) ([]Claim, bool) { return a.takeDue(ctx, team, n) }), nil
}

// takeDue hands out tasks of a team, and reports whether it may have more. A team whose shard is away has none, and delays
// no other.
func (a *redisAgenda) takeDue(ctx context.Context, team string, most int) (list []Claim, more bool) {
	ids, err := a.run(ctx, dueScript, []string{dueKey(team)}, "most", most, "again", handedFor.Microseconds()).StringSlice()
	if err != nil || len(ids) == 0 {
		return nil, false
	}
	names := make([]named, len(ids))
	for i, id := range ids {
		names[i] = named{team: team, id: id}
	}
	call, cancel := a.long(ctx)
	defer cancel()
	claims, err := redisList{a.store, call}.claims(names, true)
	for i, claim := range claims {
		if claim != nil {
			list = append(list, *claim)
		} else {
			_ = a.Forget(ctx, &Claim{Team: team, Task: ids[i]})
		}
	}
	return list, err == nil && len(ids) == most
}

// teamsEvery is how often this process looks for teams whose tasks were made by other replicas.
const teamsEvery = time.Minute

// findTeams looks for teams with due tasks. A team whose tasks cannot be counted keeps its last known state.
func (a *redisAgenda) findTeams(ctx context.Context) error {
	if a.Now().Sub(a.looked) < teamsEvery {
		return nil
	}
	call, cancel := a.long(ctx)
	defer cancel()
	names, err := a.Client.SMembers(call, teamsKey).Result()
	if err != nil {
		return err
	}
	sizes := inOneTrip(call, a.store, names, func(pipe redis.Pipeliner, team string) *redis.IntCmd { return pipe.ZCard(call, dueKey(team)) })
	a.losses.watch(names)
	a.looked = a.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, team := range names {
		switch n, err := sizes[i].Result(); {
		case n > 0:
			a.teams[team] = true
		case err == nil:
			delete(a.teams, team)
		}
	}
	return nil
}

// add notes that a team has tasks.
func (a *redisAgenda) add(team string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.teams[team] = true
}

// Schedule sets when a task that has not ended is due, by Redis's clock.
func (a *redisAgenda) Schedule(ctx context.Context, claim *Claim, at time.Time) error {
	after := at.Sub(a.Now())
	call, cancel := a.short(ctx)
	defer cancel()
	now, err := a.Client.Time(call).Result()
	if err != nil {
		return err
	}
	return a.Client.ZAddXX(call, dueKey(claim.Team), redis.Z{Score: float64(now.Add(after).UnixMicro()), Member: claim.Task}).Err()
}

// Forget stops handing out a task.
func (a *redisAgenda) Forget(ctx context.Context, claim *Claim) error {
	call, cancel := a.short(ctx)
	defer cancel()
	return a.Client.ZRem(call, dueKey(claim.Team), claim.Task).Err()
}
