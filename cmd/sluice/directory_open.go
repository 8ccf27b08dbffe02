package main

import (
	"context"
	"path/filepath"
	"time"

	"sluice/cmd/sluice/redisclient"
	"sluice/gateway"
	"sluice/gateway/admin"
	"sluice/policy/directory"
	"sluice/policy/directory/store"
	"sluice/policy/teams"
)

// directoryPath is the directory's file without Redis.
func (s settings) directoryPath() string {
	if s.DirectoryFile != "" {
		return s.DirectoryFile
	}
	return filepath.Join(filepath.Dir(s.TeamsFile), "directory.json")
}

// directoryStore is where the directory is: in Redis if its address is set, else in a file.
func (s settings) directoryStore(client *redisclient.Client) audited {
	if s.RedisURL == "" {
		return store.NewFile(s.directoryPath(), time.Now)
	}
	return store.NewRedis(client)
}

// openDirectory reads the directory and joins it to the process's teams. From then on the process follows it while it serves;
// the teams file's part is replaced by the roster's setFile.
func (p *process) openDirectory(ctx context.Context) *roster {
	r := newRoster(p.teams, p.UpstreamKey, func(file *teams.File, key gateway.Secret) {
		p.reload(file, key)
		p.used.follow(file)
	})
	p.roster = r
	p.used.follow(p.teams)
	w := &directoryWatch{
		store: p.directoryStore(p.redis), roster: r, log: p.log.Logger(), now: time.Now,
		who: directory.Order{Who: "replica", Address: thisHost(), Reason: "the store had lost it"},
	}
	if p.StateDir != "" && p.RedisURL != "" {
		w.copy = filepath.Join(p.StateDir, "directory.json")
	}
	w.start(ctx)
	p.checks = append(p.checks, admin.Check{Name: "directory", State: w.state})
	p.works = append(p.works, w.run, func(ctx context.Context) { p.used.run(ctx, w.store, w.whole) })
	return r
}

// directoryInForce is the directory in force; the zero State: none.
func (p *process) directoryInForce() (s directory.State) {
	if p.roster != nil {
		s, _, _ = p.roster.inForce()
	}
	return s
}
