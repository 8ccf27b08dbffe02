package main

import (
	"context"
	"crypto/rand"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"sluice/cmd/sluice/files"
	"sluice/cmd/sluice/redisclient"
	"sluice/cmd/sluice/settings"
	"sluice/gateway"
	"sluice/gateway/quotas"
	"sluice/policy/teams"
	"sluice/policy/teams/store"
	"sluice/telemetry"
)

// directoryStore returns the directory's store: Redis if its address is set, else a file.
func directoryStore(s settings.Settings, client *redisclient.Client) teams.Store {
	switch {
	case s.RedisURL != "":
		return store.NewRedis(client)
	case s.DirectoryFile != "":
		return store.NewFile(s.DirectoryFile, time.Now)
	}
	return store.NewFile(filepath.Join(filepath.Dir(s.TeamsFile), "directory.json"), time.Now)
}

// directoryParts are the parts that use the directory's teams.
type directoryParts struct {
	kept    *kept
	gateway *gateway.Gateway
	force   *inForce
	used    *teams.LastUse
	metrics *telemetry.Metrics
	log     *slog.Logger
}

// directory follows the directory while the process serves.
type directory struct {
	store      teams.Store
	joined     *store.Live
	watch      *directoryWatch
	background []func(context.Context)
	// setFile puts a new teams file and new accounts at the service in force.
	setFile func(*teams.File, files.Upstream)
}

// openDirectory reads the directory and joins it to the teams of the file.
func openDirectory(ctx context.Context, c configuration, parts directoryParts) *directory {
	warned, d := new(sync.Once), new(directory)
	applyWith := func(up files.Upstream) ([]teams.Digest, func(*teams.File)) {
		return up.Digests(), func(file *teams.File) { // teams and accounts take effect together, at the next request
			parts.gateway.Set(file, up.Set)
			parts.force.file.Store(file)
			parts.force.key.Store(new(up.First()))
			parts.used.Follow(file)
			quotas.RareOf(file).Begin(parts.metrics)
			if text := d.watch.lack.Note(up, file); text != "" {
				parts.log.Warn("directory", "warning", text)
			}
			for _, warning := range shutOut(c.Settings, file, teams.OwnerDirectory) { // the directory may be read long after the start
				warned.Do(func() { parts.log.Warn("configuration", "warning", warning) })
			}
		}
	}
	parts.force.file.Store(c.teams)
	parts.force.key.Store(new(c.Upstream.First()))
	parts.used.Follow(c.teams)
	quotas.RareOf(c.teams).Begin(parts.metrics)
	upstream, apply := applyWith(c.Upstream)
	d.store, d.joined = directoryStore(c.Settings, parts.kept.redis), store.NewLive(c.teams, upstream, time.Now, apply)
	d.setFile = func(file *teams.File, up files.Upstream) {
		upstream, apply := applyWith(up)
		d.joined.SetFile(file, upstream, apply)
	}
	d.watch = &directoryWatch{
		store: d.store, joined: d.joined, log: parts.log, now: time.Now,
		who: teams.Order{Who: "replica", Address: thisHost(), Reason: "the store had lost it"},
	}
	if c.StateDir != "" && c.RedisURL != "" {
		d.watch.copy = filepath.Join(c.StateDir, "directory.json")
	}
	d.watch.start(ctx)
	removes := &removal{
		store: d.store, joined: d.joined, alive: parts.kept.alive, replica: rand.Text(), log: parts.log, now: time.Now,
		who: teams.Order{Who: "replica", Address: thisHost(), Reason: "nothing of it was open any more", Money: c.teams.Money},
		open: func(ctx context.Context, team string) (int, error) {
			if used, _ := parts.gateway.InFlight(&teams.Team{ID: team}); used > 0 { // they may not have holds yet
				return int(used), nil
			}
			return parts.kept.openOf(ctx, team)
		},
	}
	d.background = []func(context.Context){
		func(ctx context.Context) { every(ctx, directoryEvery, d.watch.look) }, removes.run,
		func(ctx context.Context) { keepLastUse(ctx, parts.used, d.store, d.watch.whole) },
	}
	return d
}
