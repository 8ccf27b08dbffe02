package figures

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// Group runs several readings concurrently, like [errgroup.Group]. If one panics, Wait panics in the caller's goroutine, where a panic
// ends only the request. In another goroutine it would end the process.
type Group struct {
	readings errgroup.Group
	panicked atomic.Pointer[string]
}

// Go runs a reading in another goroutine.
func (g *Group) Go(read func() error) {
	g.readings.Go(func() error {
		defer func() {
			if p := recover(); p != nil {
				text := fmt.Sprintf("%v\n\n%s", p, debug.Stack())
				g.panicked.Store(&text)
			}
		}()
		return read()
	})
}

// Wait returns when all readings have ended, with the first error.
func (g *Group) Wait() error {
	err := g.readings.Wait()
	if text := g.panicked.Load(); text != nil {
		panic(*text)
	}
	return err
}
