package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"sluice/cmd/sluice/files"
	"sluice/cmd/sluice/settings"
	"sluice/gateway/hooks"
	"sluice/gateway/notices"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// A new content counts once two reads, settle apart, are equal; settleTries bounds the reads of a file that keeps changing. A file that
// is written in place could be read half-written, and half a teams file is a valid file with fewer teams.
const (
	settle      = 25 * time.Millisecond
	settleTries = 8
)

// watch keeps the gateway's teams, accounts and their keys in step with their files. A faulty content is not applied; the log and
// readiness report it.
type watch struct {
	settings.Settings
	judge func(settings.Settings, *files.Look) (*teams.File, files.Upstream, settings.Faults)
	apply func(*teams.File, files.Upstream)
	count func(ok bool) // counts every content, applied or refused
	log   *slog.Logger

	last   files.Look
	read   *teams.File       // of last, if only its hooks are faulty; nil: it is in force, or only a change can mend it
	up     files.Upstream    // of last, together with read
	money  unit.Money        // the currency of amounts
	seen   [sha256.Size]byte // the hash of the last look
	faulty atomic.Uint64     // contents refused since the start
	fault  atomic.Pointer[string]
}

func newWatch(c configuration, log *slog.Logger, apply func(*teams.File, files.Upstream), count func(ok bool)) *watch {
	return &watch{
		Settings: c.Settings, judge: judge, apply: apply, count: count, log: log, last: c.First, money: c.teams.Money, seen: c.First.Sum(),
	}
}

// run looks at every interval and at every signal, until ctx ends.
func (w *watch) run(ctx context.Context, hangups <-chan os.Signal) {
	ticker := time.NewTicker(w.TeamsPoll)
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

// look applies a new content, or reports its faults. An unchanged content is judged again on a signal. While it is refused, only its hooks
// are: the files of their secrets may have come, and to parse many teams at every look takes half a core.
func (w *watch) look(ctx context.Context, signalled bool) {
	l, told, bad := files.At(watchedFiles(w.Settings), w.last), w.fault.Load(), settings.Faults(nil)
	switch {
	case l.Sum() != w.seen || signalled:
		l, told = w.settled(ctx, l), nil
		w.last, w.seen = l, l.Sum()
		if w.read, w.up, bad = w.judge(w.Settings, &l); w.read != nil && w.read.Money != w.money {
			bad.Add(settings.Prefix+"TEAMS_FILE", w.read.Money.Fixed(w.money).Error())
		}
	case w.read == nil:
		return
	}
	file, up := w.read, w.up
	if bad.Err() != nil {
		w.read, w.up = nil, files.Upstream{}
	}
	bad = append(bad, settings.DocumentFaults(settings.Prefix+"TEAMS_FILE", hooks.Faults(file, posting(w.Settings)))...)
	if bad.Err() != nil {
		if text := bad.OneLine(); told == nil || *told != text {
			w.refuse(text)
		}
		return
	}
	w.read, w.up = nil, files.Upstream{}
	w.apply(file, up)
	w.fault.Store(nil)
	w.count(true)
	w.log.LogAttrs(ctx, slog.LevelInfo, "teams file loaded", slog.Int("teams", len(file.List)), slog.Int("accounts", len(up.File.List)))
	for _, text := range file.Warnings() {
		w.log.LogAttrs(ctx, slog.LevelWarn, "teams file", slog.String("warning", text))
	}
	for _, text := range up.Warnings(file) {
		w.log.LogAttrs(ctx, slog.LevelWarn, "accounts", slog.String("warning", text))
	}
}

// settled reads until two reads are equal.
func (w *watch) settled(ctx context.Context, l files.Look) files.Look {
	for range settleTries {
		select {
		case <-ctx.Done():
			return l
		case <-time.After(settle):
		}
		again := files.At(watchedFiles(w.Settings), l)
		if again.Sum() == l.Sum() {
			return l
		}
		l = again
	}
	return l
}

func (w *watch) refuse(text string) {
	w.faulty.Add(1)
	w.count(false)
	w.fault.Store(&text)
	w.log.Error("teams file refused, the previous one stays in force", "fault", text)
}

// notice is the files' fault that operators are alerted to.
func (w *watch) notice() notices.Fault {
	if text := w.fault.Load(); text != nil {
		return notices.Fault{Source: "file", Text: *text}
	}
	return notices.Fault{Source: "file"}
}

// state is the watch's line in readiness.
func (w *watch) state() error {
	if text := w.fault.Load(); text != nil {
		return fmt.Errorf("faulty, the previous content stays in force (%d refused since the start): %s", w.faulty.Load(), *text)
	}
	return nil
}
