package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"sluice/cmd/sluice/redisclient"
	"sluice/gateway"
	"sluice/policy/teams"
	"sluice/policy/teams/store"
)

// joinedTeams joins the teams of the teams file and those of the directory, and puts the result in force. Each of the two may be
// replaced at any time; the other's last good content stays.
type joinedTeams struct {
	apply func(*teams.File, gateway.Secret)

	mu       sync.Mutex
	file     *teams.File
	key      gateway.Secret
	state    teams.State    // of the directory in force; the zero State: none was ever read
	document teams.Document // of that state
	ignored  error          // parts of the directory that are not in force, because the file has them too
}

// setFile puts a new teams file and a new upstream key in force.
func (r *joinedTeams) setFile(file *teams.File, key gateway.Secret) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.file, r.key = file, key
	if r.join(r.state) != nil { // it was read before, so it does not happen
		r.apply(file, key)
	}
}

// setDirectory puts a new directory in force. A faulty one changes nothing. With the same document, after an entry about a change
// elsewhere, the teams stay as they are.
func (r *joinedTeams) setDirectory(s teams.State) error {
	if err := s.Check(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state.Last != nil && bytes.Equal(s.Document, r.state.Document) {
		r.state = s
		return nil
	}
	d, err := s.Open()
	if err != nil {
		return err
	}
	if err := r.join(s); err != nil {
		return err
	}
	r.state, r.document = s, d
	return nil
}

// join applies the file with the directory of a state.
func (r *joinedTeams) join(s teams.State) error {
	joined := r.file
	var ignored teams.Faults
	if s.Document != nil {
		var err error
		joined, ignored, err = r.file.Join(s.Document, sha256.Sum256([]byte(r.key.Reveal())))
		if err != nil {
			return err
		}
	}
	r.ignored = nil
	if len(ignored) > 0 {
		r.ignored = fmt.Errorf("not all of it is in force: %w", oneLine(ignored))
	}
	r.apply(joined, r.key)
	return nil
}

// inForce is the directory in force, and what is ignored in it.
func (r *joinedTeams) inForce() (s teams.State, d teams.Document, ignored error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state, r.document, r.ignored
}

// directoryStore is where the directory is: in Redis if its address is set, else in a file.
func (s settings) directoryStore(client *redisclient.Client) teams.Store {
	switch {
	case s.RedisURL != "":
		return store.NewRedis(client)
	case s.DirectoryFile != "":
		return store.NewFile(s.DirectoryFile, time.Now)
	}
	return store.NewFile(filepath.Join(filepath.Dir(s.TeamsFile), "directory.json"), time.Now)
}

// directoryParts are the parts that the directory's teams are put into.
type directoryParts struct {
	kept    *kept
	gateway *gateway.Gateway
	force   *inForce
	used    *lastUse
	log     *slog.Logger
}

// directory follows the directory while the process serves.
type directory struct {
	store  teams.Store
	joined *joinedTeams
	watch  *directoryWatch
	works  []func(context.Context)
}

// openDirectory reads the directory and joins it to the teams of the file, whose part its setFile replaces.
func openDirectory(ctx context.Context, c configuration, parts directoryParts) *directory {
	var told sync.Once
	apply := func(file *teams.File, key gateway.Secret) { // teams and key are in force together with the next request
		parts.gateway.SetTeams(file)
		parts.force.file.Store(file)
		parts.gateway.SetUpstreamKey(key)
		parts.force.key.Store(&key)
		parts.used.follow(file)
		for _, warning := range c.shutOut(file, teams.OwnerDirectory) { // the directory may be read long after the start
			told.Do(func() { parts.log.Warn("configuration", "warning", warning) })
		}
	}
	parts.force.file.Store(c.teams)
	parts.force.key.Store(&c.UpstreamKey)
	parts.used.follow(c.teams)
	d := &directory{store: c.directoryStore(parts.kept.redis), joined: &joinedTeams{file: c.teams, key: c.UpstreamKey, apply: apply}}
	d.watch = &directoryWatch{
		store: d.store, joined: d.joined, log: parts.log, now: time.Now, who: teams.Order{Who: "replica", Address: thisHost(), Reason: "the store had lost it"},
	}
	if c.StateDir != "" && c.RedisURL != "" {
		d.watch.copy = filepath.Join(c.StateDir, "directory.json")
	}
	d.watch.start(ctx)
	removes := &removal{
		store: d.store, joined: d.joined, alive: parts.kept.alive, replica: rand.Text(), log: parts.log, now: time.Now,
		who: teams.Order{Who: "replica", Address: thisHost(), Reason: "nothing of it was open any more"},
		open: func(ctx context.Context, team string) (int, error) {
			if used, _ := parts.gateway.InFlight(&teams.Team{ID: team}); used > 0 { // before they have holds
				return int(used), nil
			}
			return parts.kept.openOf(ctx, team)
		},
	}
	d.works = []func(context.Context){func(ctx context.Context) { every(ctx, directoryEvery, d.watch.look) }, removes.run, func(ctx context.Context) { parts.used.run(ctx, d.store, d.watch.whole) }}
	return d
}
