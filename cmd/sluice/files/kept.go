package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"sync/atomic"
	"time"
)

// contents are those of files, by their paths.
type contents map[string][]byte

func (c contents) equal(o contents) bool { return maps.EqualFunc(c, o, bytes.Equal) }

// readAll reads files.
func readAll(paths ...string) (all contents, err error) {
	all = contents{}
	for _, path := range paths {
		if all[path], err = Read(path); err != nil {
			return all, err
		}
	}
	return all, nil
}

// kept is what files hold, which are read again when they change. It is safe for concurrent use.
type kept[T any] struct {
	read    func() (contents, error)
	made    func(now, before contents) (*T, error) // of what is in the files now, and of what is in force
	text    contents                               // that is in force
	inForce atomic.Pointer[T]
	fault   atomic.Pointer[string] // why the files' content is not in force; nil: it is
}

// open reads the files for the first time.
func (k *kept[T]) open() error {
	now, err := k.read()
	if err != nil {
		return err
	}
	return k.take(now)
}

func (k *kept[T]) take(now contents) error {
	made, err := k.made(now, k.text)
	if err == nil {
		k.text = now
		k.inForce.Store(made)
	}
	return err
}

// State is an error while the files have a content that is not in force.
func (k *kept[T]) State() error {
	if text := k.fault.Load(); text != nil {
		return errors.New(*text)
	}
	return nil
}

// Watch reads the files every so often until ctx ends. changed is called when another content is in force, with nil, and when it is
// refused, with the reason. Files are written piece by piece and one after the other: so a content counts, and is refused, once it is seen twice.
func (k *kept[T]) Watch(ctx context.Context, every time.Duration, changed func(error)) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	var before contents
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			before = k.look(before, changed)
		}
	}
}

// look reads the files once, and returns the content.
func (k *kept[T]) look(before contents, changed func(error)) (now contents) {
	now, err := k.read()
	if err == nil && now.equal(k.text) {
		k.fault.Store(nil)
		return now
	}
	if before == nil || !now.equal(before) {
		return now
	}
	if err == nil {
		err = k.take(now)
	}
	if err == nil {
		k.fault.Store(nil)
		changed(nil)
		return now
	}
	if text := fmt.Sprintf("the previous content stays in force: %v", err); k.fault.Swap(&text) == nil {
		changed(err)
	}
	return now
}
