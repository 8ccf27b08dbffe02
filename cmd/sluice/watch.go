package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"sluice/gateway"
	"sluice/policy/teams"
)

// settle is the time between two readings that must be equal before a new content counts, and settleTries bounds how
// often a file that never rests is read. Whoever writes in place would otherwise be caught half way, and half a teams
// file is a valid one with fewer teams.
const (
	settle      = 25 * time.Millisecond
	settleTries = 8
)

// look is what stood in the watched files at one moment. Paths are opened anew each time, so that a file behind a
// symbolic link that was swapped is seen like any other.
type look struct {
	teams    []byte
	teamsErr error
	key      gateway.Secret // empty where the key is no file's
	keyErr   error
}

func lookAt(teamsPath, keyPath string) look {
	var l look
	l.teams, l.teamsErr = readFile(teamsPath)
	if keyPath != "" {
		l.key, l.keyErr = readSecret(keyPath)
	}
	return l
}

// sum tells looks apart, by content alone: times and inodes say too little where files are mounted.
func (l look) sum() [sha256.Size]byte {
	var all []byte
	for _, part := range []string{string(l.teams), fmt.Sprint(l.teamsErr), l.key.Reveal(), fmt.Sprint(l.keyErr)} {
		all = binary.AppendUvarint(all, uint64(len(part)))
		all = append(all, part...)
	}
	return sha256.Sum256(all)
}

// watch keeps the gateway's teams and upstream key equal to what stands in their files. A content with a fault changes
// nothing but what the log and readiness say.
type watch struct {
	teamsPath string
	keyPath   string // empty: the key is no file's and stays
	every     time.Duration
	apply     func(*teams.File, gateway.Secret)
	count     func(ok bool) // every content that was looked at
	log       *slog.Logger

	key    gateway.Secret // in force
	seen   [sha256.Size]byte
	faulty atomic.Uint64 // contents that were refused since the start
	fault  atomic.Pointer[string]
}

func newWatch(c configuration, log *slog.Logger, apply func(*teams.File, gateway.Secret)) *watch {
	return &watch{
		teamsPath: c.TeamsFile, keyPath: c.UpstreamKeyFile, every: c.TeamsPoll,
		apply: apply, count: func(bool) {}, log: log, key: c.UpstreamKey, seen: c.first.sum(),
	}
}

// run looks whenever the interval has passed, and at every signal, until ctx ends.
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

// look takes a new content over, or says what is wrong with it: once, unless asked for.
func (w *watch) look(ctx context.Context, asked bool) {
	l := lookAt(w.teamsPath, w.keyPath)
	if l.sum() == w.seen && !asked {
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

// judge holds a content to what a start demands.
func (w *watch) judge(l look) (*teams.File, gateway.Secret, error) {
	key := w.key
	if w.keyPath != "" {
		key = l.key
	}
	file, fs := judgeTeams(l.teams, l.teamsErr, key)
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
	w.log.Error("teams file refused, the one before stays in force", "fault", text)
}

// state is the watch's line in readiness.
func (w *watch) state() error {
	if text := w.fault.Load(); text != nil {
		return fmt.Errorf("faulty, the content before it stays in force (%d refused since the start): %s", w.faulty.Load(), *text)
	}
	return nil
}
