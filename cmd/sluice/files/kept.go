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

// contents are the contents of files by path.
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

// kept is a value made from files, which are read again when they change. It is safe for concurrent use.
type kept[T any] struct {
	read    func() (contents, error)
	made    func(now, before contents) (*T, error) // makes the value; before is the content in force
	text    contents                               // in force
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

// State returns an error while the files' content is not in force.
func (k *kept[T]) State() error {
	if text := k.fault.Load(); text != nil {
		return errors.New(*text)
	}
	return nil
}

// Watch reads the files at every interval until ctx ends. It calls changed with nil when a new content takes effect, and with the reason
// when one is refused. Files are written in pieces and one after the other, so a content counts only once it was read twice.
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
