package teams

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"time"
)

// LastUse collects when keys were last used, to the hour. The zero LastUse knows no keys. It is safe for concurrent use.
type LastUse struct {
	hours   atomic.Pointer[map[string]*atomic.Int64] // hours since 1970 by key
	mu      sync.Mutex
	written map[string]int64
}

// Follow collects for these teams' keys from now on.
func (u *LastUse) Follow(file *File) {
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

func (u *LastUse) load() map[string]*atomic.Int64 {
	if hours := u.hours.Load(); hours != nil {
		return *hours
	}
	return nil
}

// Note notes the use of a key. It does not block.
func (u *LastUse) Note(key string, at time.Time) {
	hour := u.load()[key]
	if now := at.Unix() / 3600; hour != nil && hour.Load() < now {
		hour.Store(now)
	}
}

// Write writes what is not written yet. After a failure the next call retries.
func (u *LastUse) Write(ctx context.Context, note func(context.Context, map[string]time.Time) error) {
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

// ForgetAfter is how long the hour of a removed key is kept: another replica may still know the key.
const ForgetAfter = 30 * 24 * time.Hour

// Forget removes the hours of removed keys.
func (u *LastUse) Forget(ctx context.Context, now time.Time, kept Store) error {
	used, err := kept.Used(ctx)
	if err != nil {
		return err
	}
	known, gone := u.load(), map[string]time.Time{}
	for key, at := range used {
		if known[key] == nil && now.Sub(at) > ForgetAfter {
			gone[key] = time.Time{}
		}
	}
	return kept.NoteUsed(ctx, gone)
}
