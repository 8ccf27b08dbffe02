package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"sluice/cache"
)

const (
	settleFor = 5 * time.Second // bounds the time to post pending charges when the process ends
	noteFor   = 3 * time.Second // the same for pending claims, and for the last requests: charges need none of what these leave
	// closePause is between two tries. While Redis is away a try fails at once, because its breaker is open.
	closePause = 100 * time.Millisecond
)

// close posts pending charges, then pending claims and the last requests, and logs what could not be posted.
func (k *kept) close(log *slog.Logger) {
	if err := untilDone(settleFor, k.balances.Close); err != nil {
		log.Error("accounts", "error", err.Error())
	}
	var noting sync.WaitGroup
	noting.Go(func() {
		if err := untilDone(noteFor, k.collector.Close); err != nil {
			log.Warn("recent", "error", "the last requests and their counts could not be posted to Redis")
		}
	})
	if tasks, ok := k.claims.(*cache.Redis); ok {
		if err := untilDone(noteFor, func(ctx context.Context) error { return writeAll(ctx, tasks) }); err != nil {
			log.Error("tasks", "error", err.Error())
		}
	}
	noting.Wait()
	if k.redis != nil {
		_ = k.redis.Close()
	}
}

// writeAll writes what waits of the tasks. The error counts what could not be written.
func writeAll(ctx context.Context, tasks *cache.Redis) error {
	_ = tasks.Maintain(ctx) // Unwritten counts the failures
	if n := tasks.Unwritten(); n > 0 {
		return fmt.Errorf("%d claims, answers or outcomes could not be written to Redis and are lost", n)
	}
	return nil
}

// untilDone repeats what fails for at most that time: Redis may be back by then. It returns the last failure.
func untilDone(most time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	for {
		err := do(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(closePause):
		}
	}
}
