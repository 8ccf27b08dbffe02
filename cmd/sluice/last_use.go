package main

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"sluice/policy/teams"
)

// usedEvery is how often the hours in which keys were used are written.
const usedEvery = time.Minute

// lastUse collects when keys were last used, to the hour.
type lastUse struct {
	hours   atomic.Pointer[map[string]*atomic.Int64] // hours since 1970 by key
	mu      sync.Mutex
	written map[string]int64
}

// follow collects for these teams' keys from now on.
func (u *lastUse) follow(file *teams.File) {
	u.mu.Lock()
	defer u.mu.Unlock()
	was, next := u.load(), map[string]*atomic.Int64{}
	for _, team := range file.List {
		for _, key := range team.Keys {
			if next[key.ID] = was[key.ID]; next[key.ID] == nil {
				next[key.ID] = new(atomic.Int64)
			}
		}
	}
	maps.DeleteFunc(u.written, func(key string, _ int64) bool { return next[key] == nil })
	u.hours.Store(&next)
}

func (u *lastUse) load() map[string]*atomic.Int64 {
	if hours := u.hours.Load(); hours != nil {
		return *hours
	}
	return nil
}

// note notes the use of a key. It does not block.
func (u *lastUse) note(key string, at time.Time) {
	hour := u.load()[key]
	if now := at.Unix() / 3600; hour != nil && hour.Load() < now {
		hour.Store(now)
	}
}

// write writes what is not written yet. After a failure the next call retries.
func (u *lastUse) write(ctx context.Context, note func(context.Context, map[string]time.Time) error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	news := map[string]int64{}
	for key, hour := range u.load() {
		if h := hour.Load(); h > u.written[key] {
			news[key] = h
		}
	}
	times := make(map[string]time.Time, len(news))
	for key, h := range news {
		times[key] = time.Unix(h*3600, 0).UTC()
	}
	if len(news) == 0 || note(ctx, times) != nil {
		return
	}
	if u.written == nil {
		u.written = map[string]int64{}
	}
	maps.Copy(u.written, news)
}

// forgetAfter is how long the hour of a removed key is kept: another replica may still know the key.
const forgetAfter = 30 * 24 * time.Hour

// forget removes the hours of removed keys.
func (u *lastUse) forget(ctx context.Context, now time.Time, kept usedHours) error {
	used, err := kept.Used(ctx)
	if err != nil {
		return err
	}
	known, gone := u.load(), map[string]time.Time{}
	for key, at := range used {
		if known[key] == nil && now.Sub(at) > forgetAfter {
			gone[key] = time.Time{}
		}
	}
	return kept.NoteUsed(ctx, gone)
}

// usedHours keeps when keys were last used, as [directory.Store] does.
type usedHours interface {
	Used(ctx context.Context) (map[string]time.Time, error)
	NoteUsed(ctx context.Context, hours map[string]time.Time) error
}

// run writes at every interval, and once more when ctx ends. Once an hour it forgets, if every team is known.
func (u *lastUse) run(ctx context.Context, kept usedHours, whole func() bool) {
	minute := 0
	write := func(ctx context.Context) {
		call, cancel := context.WithTimeout(context.WithoutCancel(ctx), directoryCall)
		defer cancel()
		u.write(call, kept.NoteUsed)
		if minute++; ctx.Err() == nil && minute%60 == 0 && whole() {
			_ = u.forget(call, time.Now(), kept) // the rest is retried
		}
	}
	every(ctx, usedEvery, write)
	write(ctx)
}
