package main

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// bounds are the limits that protect the process from a single client, person or team. Readiness lists those that were reached
// within the last minute, and the log names each at most once a minute.
type bounds struct {
	now func() time.Time
	log *slog.Logger

	mu   sync.Mutex
	list []*bound
}

// bound is one limit, such as "readings of the console: 20 a second for each person".
type bound struct {
	text    string
	reached int       // times since the start
	last    time.Time // when it was reached
	logging *rate.Limiter
}

func newBounds(now func() time.Time, log *slog.Logger) *bounds { return &bounds{now: now, log: log} }

// add registers a limit. The text says what is limited and to how much. The caller calls reached each time the limit turns
// something away.
func (b *bounds) add(text string) (reached func()) {
	one := &bound{text: text, logging: rate.NewLimiter(rate.Every(time.Minute), 1)}
	b.mu.Lock()
	b.list = append(b.list, one)
	b.mu.Unlock()
	return func() { b.note(one) }
}

func (b *bounds) note(one *bound) {
	b.mu.Lock()
	defer b.mu.Unlock()
	one.reached++
	one.last = b.now()
	if one.logging.AllowN(one.last, 1) {
		b.log.Warn("bound reached", "bound", one.text, "times", one.reached)
	}
}

// state is the line in readiness.
func (b *bounds) state() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []string
	for _, one := range b.list {
		if one.reached > 0 && b.now().Sub(one.last) <= time.Minute {
			list = append(list, fmt.Sprintf("%s (reached %d times since the start, the last within a minute)", one.text, one.reached))
		}
	}
	if len(list) == 0 {
		return nil
	}
	return errors.New(strings.Join(list, "; "))
}
