package store

import (
	"context"
	"math/rand/v2"
	"time"
)

// The pause after a lost race, which doubles up to the longest: replicas that retried immediately would collide again.
const (
	firstPause   = 2 * time.Millisecond
	longestPause = 64 * time.Millisecond
)

// Pause implements [teams.Store].
func (f *File) Pause(ctx context.Context, lost int) error { return pause(ctx, lost) }

// Pause implements [teams.Store].
func (r *Redis) Pause(ctx context.Context, lost int) error { return pause(ctx, lost) }

// pause waits for at least half of the full pause, so that a short burst of changes passes.
func pause(ctx context.Context, lost int) error {
	if lost == 0 {
		return nil
	}
	whole := min(firstPause<<(lost-1), longestPause)
	select {
	case <-time.After(whole/2 + rand.N(whole/2)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
