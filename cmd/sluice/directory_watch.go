package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"sluice/cmd/sluice/files"
	"sluice/cmd/sluice/settings"
	"sluice/gateway/notices"
	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/policy/teams/store"
)

const (
	directoryEvery = 500 * time.Millisecond // between two reads of the directory's head
	directoryCall  = time.Second            // bounds one call; together with directoryEvery, a change takes effect within two seconds
	directoryFull  = time.Minute            // between two full reads, which find changes without an audit entry
)

// directoryWatch keeps the store's directory in force. A faulty, older or missing one changes nothing; the log and readiness
// report it. A store that has lost the directory gets it back from this process.
type directoryWatch struct {
	store  teams.Store
	joined *store.Live
	copy   string // path of the copy for a start without the store; empty: no copy
	who    teams.Order
	log    *slog.Logger
	now    func() time.Time

	seen      string    // the last head
	full      time.Time // when everything is read again, even if the head is the same
	away, bad atomic.Pointer[string]
	lack      files.Lack
}

// start reads the directory for the first time: from the store, or the copy if the store cannot be read.
func (w *directoryWatch) start(ctx context.Context) {
	if w.copy != "" {
		s, err := store.Load(w.copy)
		if err == nil {
			err = w.joined.SetDirectory(s)
		}
		if err != nil {
			w.log.Warn("directory", "warning", "the copy in "+settings.Prefix+"STATE_DIR is not used: "+settings.Brief(err).Error())
		}
	}
	w.look(ctx)
	_, d, _ := w.joined.InForce()
	w.log.Info("directory", "version", d.Version)
}

// every calls a function at every interval until ctx ends.
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
	if errors.Is(err, limit.ErrBusy) || errors.Is(ctx.Err(), context.Canceled) { // the next look comes soon; or a stop cut this one
		return
	}
	if err != nil {
		text := "cannot be read: " + err.Error()
		if w.away.Swap(&text) == nil {
			w.log.Warn("directory cannot be read, the previous one stays in force", "error", err.Error())
		}
		return
	}
	w.away.Store(nil)
	w.seen, w.full = s.Head(), w.now().Add(directoryFull)
	known, _, _ := w.joined.InForce()
	w.take(ctx, s, known)
}

// take puts the store's directory in force, unless the store has lost what this process knows.
func (w *directoryWatch) take(ctx context.Context, s, known teams.State) {
	if s.Equal(known) {
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
	if err := w.joined.SetDirectory(s); err != nil {
		w.refuse("is faulty", err)
		return
	}
	w.bad.Store(nil)
	if !bytes.Equal(s.Document, known.Document) {
		_, d, _ := w.joined.InForce()
		w.log.Info("directory loaded", "version", d.Version, "teams", len(d.Teams))
	}
	if w.copy == "" {
		return
	}
	if err := store.Save(w.copy, s); err != nil {
		w.log.Warn("directory", "warning", "the copy in "+settings.Prefix+"STATE_DIR cannot be written: "+err.Error())
	}
}

// restore writes this process's directory to a store that has lost it.
func (w *directoryWatch) restore(ctx context.Context, has, known teams.State) {
	order := w.who
	order.Now = w.now()
	next, err := teams.Restored(has, known, order)
	if err == nil {
		err = w.store.Write(ctx, has, next)
	}
	w.full = time.Time{} // look again immediately
	switch {
	case errors.Is(err, teams.ErrLost), errors.Is(ctx.Err(), context.Canceled): // another replica did it, or will
	case err != nil:
		w.refuse("is lost and cannot be restored", err)
	default:
		_, d, _ := w.joined.InForce()
		w.log.Warn("directory restored, because the store had lost it", "version", d.Version)
	}
}

// settled waits until the store's directory is in force here, at most as long as a change may take.
func (w *directoryWatch) settled(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, directoryEvery+directoryCall)
	defer cancel()
	for {
		head, err := w.store.Head(ctx)
		if known, _, _ := w.joined.InForce(); err != nil || known.Head() == head {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(directoryEvery / 10):
		}
	}
}

// refuse notes a fault of the content, and logs it once.
func (w *directoryWatch) refuse(what string, err error) {
	text := what + ": " + settings.Brief(err).Error()
	if was := w.bad.Swap(&text); was == nil || *was != text {
		w.log.Error("directory refused, the previous one stays in force", "fault", text)
	}
}

// fault is the directory's fault that operators are alerted to. A failed read is not one.
func (w *directoryWatch) fault() notices.Fault {
	if text := w.bad.Load(); text != nil {
		return notices.Fault{Source: "directory", Text: *text}
	}
	return notices.Fault{Source: "directory"}
}

// state is the directory's line in readiness.
func (w *directoryWatch) state() error {
	_, d, ignored := w.joined.InForce()
	for _, fault := range []*string{w.away.Load(), w.bad.Load()} {
		switch {
		case fault == nil:
		case d.Version == 0:
			return fmt.Errorf("%s; no version is in force", *fault)
		default:
			return fmt.Errorf("%s; version %d stays in force", *fault, d.Version)
		}
	}
	return cmp.Or(ignored, w.lack.State())
}

// whole reports whether the teams in force include all of the store's.
func (w *directoryWatch) whole() bool { return w.away.Load() == nil && w.bad.Load() == nil }

// thisHost names the machine in the audit.
func thisHost() string {
	name, err := os.Hostname()
	if err != nil || !teams.IsProse(name) {
		return ""
	}
	return name
}

// removeEvery is the time between two looks at teams that are due for removal.
const removeEvery = time.Second

// removal removes the directory's teams that are due for removal, once they have no open work and every process that follows the
// directory has seen that they end. Each process reports that itself; the first to see that all have removes the team.
type removal struct {
	store   teams.Store
	joined  *store.Live
	open    func(ctx context.Context, team string) (int, error) // requests and tasks that are not settled
	alive   func() int64                                        // replicas that the accounts know; some may not have reported yet
	replica string                                              // this process's id
	who     teams.Order
	log     *slog.Logger
	now     func() time.Time

	seen []string // the teams to remove at the previous look: requests admitted before it have their holds by now
}

// run looks until ctx ends. Then it reports that this process has left, so that the others no longer wait for it.
func (r *removal) run(ctx context.Context) {
	every(ctx, removeEvery, r.look)
	r.report(context.WithoutCancel(ctx), teams.Report{Replica: r.replica, Left: true})
}

// report posts this process's report and returns those of all processes; nil: not known.
func (r *removal) report(ctx context.Context, own teams.Report) []teams.Report {
	ctx, cancel := context.WithTimeout(ctx, directoryCall)
	defer cancel()
	all, err := r.store.Report(ctx, own)
	if err != nil { // the directory's line in readiness reports it
		return nil
	}
	return all
}

// look reports the teams that have no open work here, and removes those that have none in any process.
func (r *removal) look(ctx context.Context) {
	_, d, _ := r.joined.InForce()
	ids, version := d.Removing(), d.Version
	own := teams.Report{Replica: r.replica, Version: version}
	for _, id := range ids {
		if !slices.Contains(r.seen, id) {
			continue
		}
		call, cancel := context.WithTimeout(ctx, directoryCall)
		if n, err := r.open(call, id); err == nil && n == 0 {
			own.Through = append(own.Through, id)
		}
		cancel()
	}
	r.seen = ids
	all := r.report(ctx, own)
	if int64(len(all)) < r.alive() {
		return
	}
	for _, id := range own.Through {
		if teams.Removable(all, own.Version, id) {
			version = r.remove(ctx, id, version)
		}
	}
}

var errOtherVersion = errors.New("the directory has changed since the reports")

// remove removes a team from a version of the directory, and returns the new version. If another process was faster, or a person changed
// the directory, the next look tries again.
func (r *removal) remove(ctx context.Context, id string, version int64) int64 {
	ctx, cancel := context.WithTimeout(ctx, directoryCall)
	defer cancel()
	order := r.who
	order.Now = r.now()
	d, err := teams.Commit(ctx, r.store, order, func(d teams.Document) (teams.Change, error) {
		if d.Version != version {
			return nil, errOtherVersion
		}
		return teams.RemoveTeam{ID: id}, nil
	})
	switch {
	case err == nil:
		r.log.Info("team removed", "team", id, "version", d.Version)
		return d.Version
	case !errors.Is(err, errOtherVersion):
		r.log.Warn("directory", "warning", "team "+id+" cannot be removed yet: "+settings.Brief(err).Error())
	}
	return version
}

// usedEvery is how often the hours in which keys were used are written.
const usedEvery = time.Minute

// keepLastUse writes the last use of keys at every interval, and once more when ctx ends. Once an hour it forgets removed keys, if all
// teams are known.
func keepLastUse(ctx context.Context, used *teams.LastUse, kept teams.Store, whole func() bool) {
	minute := 0
	write := func(ctx context.Context) {
		call, cancel := context.WithTimeout(context.WithoutCancel(ctx), directoryCall)
		defer cancel()
		used.Write(call, kept.NoteUsed)
		if minute++; ctx.Err() == nil && minute%60 == 0 && whole() {
			_ = used.Forget(call, time.Now(), kept) // the rest is retried
		}
	}
	every(ctx, usedEvery, write)
	write(ctx)
}
