package main

import (
	"context"
	"crypto/rand"
	"path/filepath"
	"sync"
	"time"

	"sluice/cache"
	"sluice/cmd/sluice/redisclient"
	"sluice/gateway"
	"sluice/gateway/admin"
	"sluice/policy/teams"
	"sluice/policy/teams/store"
)

// directoryPath is the directory's file without Redis.
func (s settings) directoryPath() string {
	if s.DirectoryFile != "" {
		return s.DirectoryFile
	}
	return filepath.Join(filepath.Dir(s.TeamsFile), "directory.json")
}

// directoryStore is where the directory is: in Redis if its address is set, else in a file.
func (s settings) directoryStore(client *redisclient.Client) teams.Store {
	if s.RedisURL == "" {
		return store.NewFile(s.directoryPath(), time.Now)
	}
	return store.NewRedis(client)
}

// openDirectory reads the directory and joins it to the process's teams. From then on the process follows it while it serves;
// the teams file's part is replaced by the roster's setFile.
func (p *process) openDirectory(ctx context.Context) *roster {
	var told sync.Once
	r := newRoster(p.teams, p.UpstreamKey, func(file *teams.File, key gateway.Secret) {
		p.reload(file, key)
		p.used.follow(file)
		for _, warning := range p.shutOut(file, teams.OwnerDirectory) { // the directory may be read long after the start
			told.Do(func() { p.log.Logger().Warn("configuration", "warning", warning) })
		}
	})
	p.roster = r
	p.used.follow(p.teams)
	w := &directoryWatch{
		store: p.directoryStore(p.redis), roster: r, log: p.log.Logger(), now: time.Now,
		who: teams.Order{Who: "replica", Address: thisHost(), Reason: "the store had lost it"},
	}
	if p.StateDir != "" && p.RedisURL != "" {
		w.copy = filepath.Join(p.StateDir, "directory.json")
	}
	w.start(ctx)
	p.checks = append(p.checks, admin.Check{Name: "directory", State: w.state})
	removes := &removal{
		store: w.store, roster: r, open: openAt(p), alive: p.alive, replica: rand.Text(), log: w.log, now: w.now,
		who: teams.Order{Who: "replica", Address: thisHost(), Reason: "nothing of it was open any more"},
	}
	p.works = append(p.works, w.run, removes.run, func(ctx context.Context) { p.used.run(ctx, w.store, w.whole) })
	return r
}

// directoryInForce is the directory in force; the zero State: none.
func (p *process) directoryInForce() (s teams.State) {
	if p.roster != nil {
		s, _, _ = p.roster.inForce()
	}
	return s
}

// openAt counts the requests and tasks of a team that are not settled, as a process knows them.
func openAt(p *process) func(ctx context.Context, team string) (int, error) {
	return func(ctx context.Context, team string) (int, error) {
		if used, _ := p.gateway.InFlight(&teams.Team{ID: team}); used > 0 { // before they have holds
			return int(used), nil
		}
		if holds, err := p.accounts.Open(ctx, team); err != nil || holds > 0 {
			return holds, err
		}
		page, err := p.tasks.claims.List(ctx, []string{team}, cache.Filter{Open: true, Size: 1})
		return page.Total, err
	}
}
