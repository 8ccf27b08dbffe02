package main

import (
	"context"
	"os"
	"syscall"
	"time"
)

// sharedLock is a file's lock by which several who measure on one machine take turns. Without a name it does nothing.
type sharedLock struct {
	name  string
	file  *os.File
	since time.Time
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
		l.file, l.since = file, time.Now()
		return err
	case <-ctx.Done():
		return ctx.Err() // the process ends, and its wait with it
	}
}

// share lets others have their turn after half a minute. A round that begins before then may make it a minute and more.
func (l *sharedLock) share() {
	if time.Since(l.since) > 30*time.Second {
		l.release()
	}
}

func (l *sharedLock) release() {
	if l.file != nil {
		_ = l.file.Close()
		l.file = nil
	}
}
