package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"sluice/gateway"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// A new content counts once two readings, settle apart, are equal; settleTries bounds the readings of a file that keeps changing.
// A file that is written in place could be read half-written, and half a teams file is a valid file with fewer teams.
const (
	settle      = 25 * time.Millisecond
	settleTries = 8
)

// watch keeps the gateway's teams and upstream key in step with their files. A faulty content is not applied; the log and
// readiness report it.
type watch struct {
	teamsPath string
	keyPath   string // empty: the key is not in a file and never changes
	every     time.Duration
	apply     func(*teams.File, gateway.Secret)
	count     func(ok bool) // counts every content, applied or refused
	log       *slog.Logger

	key    gateway.Secret // in force
	money  unit.Money     // what amounts count in
	seen   [sha256.Size]byte
	faulty atomic.Uint64 // contents that were refused since the start
	fault  atomic.Pointer[string]
}

func newWatch(c configuration, log *slog.Logger, apply func(*teams.File, gateway.Secret), count func(ok bool)) *watch {
	return &watch{
		teamsPath: c.TeamsFile, keyPath: c.UpstreamKeyFile, every: c.TeamsPoll, apply: apply, count: count, log: log, key: c.UpstreamKey, money: c.teams.Money, seen: c.first.sum(),
	}
}

// run looks at every interval and at every signal, until ctx ends.
func (w *watch) run(ctx context.Context, hangups <-chan os.Signal) {
	ticker := time.NewTicker(w.every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			w.look(ctx, false)
		case <-hangups:
			w.look(ctx, true)
		}
	}
}

// look applies a new content, or reports its faults. An unchanged content is looked at again only on a signal.
func (w *watch) look(ctx context.Context, signalled bool) {
	l := lookAt(w.teamsPath, w.keyPath)
	if l.sum() == w.seen && !signalled {
		return
	}
	l = w.settled(ctx, l)
	w.seen = l.sum()
	teams, key, err := w.judge(l)
	if err != nil {
		w.refuse(err)
		return
	}
	w.key = key
	w.apply(teams, key)
	w.fault.Store(nil)
	w.count(true)
	w.log.LogAttrs(ctx, slog.LevelInfo, "teams file loaded", slog.Int("teams", len(teams.List)))
	for _, text := range teams.Warnings() {
		w.log.LogAttrs(ctx, slog.LevelWarn, "teams file", slog.String("warning", text))
	}
}

// settled reads until two readings are equal.
func (w *watch) settled(ctx context.Context, l look) look {
	for range settleTries {
		select {
		case <-ctx.Done():
			return l
		case <-time.After(settle):
		}
		again := lookAt(w.teamsPath, w.keyPath)
		if again.sum() == l.sum() {
			return l
		}
		l = again
	}
	return l
}

// judge checks a content as the start does.
func (w *watch) judge(l look) (*teams.File, gateway.Secret, error) {
	key := w.key
	if w.keyPath != "" {
		key = l.key
	}
	file, fs := judgeTeams(l.teams, l.teamsErr, key)
	if file != nil && file.Money != w.money {
		fs.add(prefix+"TEAMS_FILE", file.Money.Fixed(w.money).Error())
	}
	switch {
	case l.keyErr != nil:
		fs.add(prefix+"UPSTREAM_KEY_FILE", l.keyErr.Error())
	case !isHeaderSecret(key):
		fs.add(prefix+"UPSTREAM_KEY_FILE", "allowed: "+allowed[prefix+"UPSTREAM_KEY_FILE"])
	}
	return file, key, fs.err()
}

func (w *watch) refuse(err error) {
	w.faulty.Add(1)
	w.count(false)
	text := err.Error()
	if fs, ok := errors.AsType[faults](err); ok {
		text = fs.oneLine()
	}
	w.fault.Store(&text)
	w.log.Error("teams file refused, the previous one stays in force", "fault", text)
}

// state is the watch's line in readiness.
func (w *watch) state() error {
	if text := w.fault.Load(); text != nil {
		return fmt.Errorf("faulty, the content before it stays in force (%d refused since the start): %s", w.faulty.Load(), *text)
	}
	return nil
}
