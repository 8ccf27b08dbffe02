package main

import (
	"context"
	"os"
	"syscall"
	"time"
)

// sharedLock is a file's lock by which several benchmarks on one machine take turns. Without a name it does nothing.
type sharedLock struct {
	name   string
	file   *os.File
	since  time.Time
	rounds int // that ended since then
}

// take waits for the lock unless it is held.
func (l *sharedLock) take(ctx context.Context) error {
	if l.name == "" || l.file != nil {
		return ctx.Err()
	}
	file, err := os.Create(l.name)
	if err != nil {
		return err
	}
	locked := make(chan error, 1)
	go func() { locked <- syscall.Flock(int(file.Fd()), syscall.LOCK_EX) }()
	select {
	case err = <-locked:
		l.file, l.since, l.rounds = file, time.Now(), 0
		return err
	case <-ctx.Done():
		return ctx.Err() // the process ends, and its wait with it
	}
}

// share is called after each round. It yields to others before another round would make this turn too long.
func (l *sharedLock) share() {
	const longest = 85 * time.Second
	l.rounds++
	held := time.Since(l.since)
	if held+held/time.Duration(l.rounds) > longest {
		l.release()
	}
}

func (l *sharedLock) release() {
	if l.file != nil {
		_ = l.file.Close()
		l.file = nil
	}
}
