package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/policy/teams/store"
)

const (
	directoryEvery = 500 * time.Millisecond // between two looks at the directory's head
	directoryCall  = time.Second            // bounds one look; together they keep a change within two seconds
	directoryFull  = time.Minute            // between two looks at all of it, which notice what changed without an entry
)

// directoryWatch keeps the directory in force that the store has. A faulty one, an older one and none at all change nothing;
// the log and readiness report it. What this process knows is written back to a store that has lost it.
type directoryWatch struct {
	store  teams.Store
	roster *roster
	copy   string // path of the copy for a start without the store; empty: no copy
	who    teams.Order
	log    *slog.Logger
	now    func() time.Time

	seen string    // the head that was looked at last
	full time.Time // when everything is read again, whatever the head
	away atomic.Pointer[string]
	bad  atomic.Pointer[string]
}

// start reads the directory for the first time: from the store, or the copy if the store cannot be read.
func (w *directoryWatch) start(ctx context.Context) {
	if w.copy != "" {
		s, err := store.Load(w.copy)
		if err == nil {
			err = w.roster.setDirectory(s)
		}
		if err != nil {
			w.log.Warn("directory", "warning", "the copy in "+prefix+"STATE_DIR is not used: "+brief(err).Error())
		}
	}
	w.look(ctx)
	_, d, _ := w.roster.inForce()
	w.log.Info("directory", "version", d.Version)
}

// every does something at every interval until ctx ends.
func every(ctx context.Context, interval time.Duration, do func(context.Context)) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			do(ctx)
		}
	}
}

// look applies a new content of the store.
func (w *directoryWatch) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, directoryCall)
	defer cancel()
	head, err := w.store.Head(ctx)
	if err == nil && head == w.seen && w.now().Before(w.full) {
		w.away.Store(nil)
		return
	}
	var s teams.State
	if err == nil {
		s, err = w.store.Read(ctx)
	}
	if errors.Is(err, limit.ErrBusy) { // it is looked at again soon
		return
	}
	if err != nil {
		text := "cannot be read: " + err.Error()
		if w.away.Swap(&text) == nil {
			w.log.Warn("directory cannot be read, the one before stays in force", "error", err.Error())
		}
		return
	}
	w.away.Store(nil)
	w.seen, w.full = s.Head(), w.now().Add(directoryFull)
	known, _, _ := w.roster.inForce()
	w.take(ctx, s, known)
}

// take puts what the store has in force, unless it has lost what this process knows.
func (w *directoryWatch) take(ctx context.Context, s, known teams.State) {
	if s.Head() == known.Head() && bytes.Equal(s.Document, known.Document) {
		w.bad.Store(nil)
		return
	}
	if err := s.Check(); err != nil {
		w.refuse("is faulty", err)
		return
	}
	if teams.Lost(s, known) {
		w.restore(ctx, s, known)
		return
	}
	if err := w.roster.setDirectory(s); err != nil {
		w.refuse("is faulty", err)
		return
	}
	w.bad.Store(nil)
	if !bytes.Equal(s.Document, known.Document) {
		_, d, _ := w.roster.inForce()
		w.log.Info("directory loaded", "version", d.Version, "teams", len(d.Teams))
	}
	if w.copy == "" {
		return
	}
	if err := store.Save(w.copy, s); err != nil {
		w.log.Warn("directory", "warning", "the copy in "+prefix+"STATE_DIR cannot be written: "+err.Error())
	}
}

// restore writes what this process knows to a store that has lost it.
func (w *directoryWatch) restore(ctx context.Context, has, known teams.State) {
	order := w.who
	order.Now = w.now()
	next, err := teams.Restored(has, known, order)
	if err == nil {
		err = w.store.Write(ctx, has, next)
	}
	w.full = time.Time{} // look again at once
	switch {
	case errors.Is(err, teams.ErrLost): // another replica did it
	case err != nil:
		w.refuse("is lost and cannot be restored", err)
	default:
		_, d, _ := w.roster.inForce()
		w.log.Warn("directory restored, because the store had lost it", "version", d.Version)
	}
}

// refuse notes a fault of the content, and logs it once.
func (w *directoryWatch) refuse(what string, err error) {
	text := what + ": " + brief(err).Error()
	if was := w.bad.Swap(&text); was == nil || *was != text {
		w.log.Error("directory refused, the one before stays in force", "fault", text)
	}
}

// brief is an error in one line without paths.
func brief(err error) error {
	var all teams.Faults
	if errors.As(err, &all) {
		return oneLine(all)
	}
	return err
}

// state is the directory's line in readiness.
func (w *directoryWatch) state() error {
	_, d, ignored := w.roster.inForce()
	for _, fault := range []*string{w.away.Load(), w.bad.Load()} {
		switch {
		case fault == nil:
		case d.Version == 0:
			return fmt.Errorf("%s; no version is in force", *fault)
		default:
			return fmt.Errorf("%s; version %d stays in force", *fault, d.Version)
		}
	}
	return ignored
}

// whole reports whether the teams in force have all that the store has.
func (w *directoryWatch) whole() bool { return w.away.Load() == nil && w.bad.Load() == nil }

// thisHost names the machine in the audit.
func thisHost() string {
	name, err := os.Hostname()
	if err != nil || !teams.IsProse(name) {
		return ""
	}
	return name
}
