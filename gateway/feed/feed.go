package feed

import (
	"context"
	"errors"
	"sync"
	"time"

	"sluice/policy/event"
)

const (
	readEvery   = 500 * time.Millisecond // between two looks at the outbox
	mostReads   = 50                     // in a row, while there is more
	followEvery = time.Second            // between two looks at who is followed
	// spread is how long after its note every replica knows that a team is followed, or that its own list is too old.
	spread = 2 * time.Second
	// MostStreams is how many streams a team may have open in this process.
	MostStreams = 100
)

// The reasons why no stream is opened, beside the outbox's.
var (
	ErrFull    = errors.New("the team has as many streams open as it may")
	ErrStopped = errors.New("no more streams are opened: the process stops")
)

// Outbox keeps events. Package event has the form in memory, package outbox that in Redis.
type Outbox interface {
	// After MUST return the events of an owner after a place, the oldest first, at most so many, and whether some in between may be
	// missing. The zero Millis stands for the oldest that is kept.
	After(ctx context.Context, after event.ID, most int) (list []event.Event, gone bool, err error)
	// News MUST return the events after places that were read before, for each owner the oldest first, at most so many.
	News(ctx context.Context, after []event.ID, most int) ([][]event.Event, error)
	// Last MUST return the id of an owner's newest event, with the zero Millis if it has none.
	Last(ctx context.Context, owner string) (event.ID, error)
	// Follow MUST note, for all replicas, that streams of owners' events are open, and return all owners that were noted within an
	// event's life.
	Follow(ctx context.Context, owners []string, known int64) (event.Followed, error)
}

// Feed has the streams of this process. It is safe for concurrent use. A nil Feed opens none.
type Feed struct {
	outbox Outbox
	now    func() time.Time
	marks  marks
	turns  chan struct{} // has room for the streams that read the outbox for themselves
	fresh  chan struct{} // has a token if a topic is new

	mu      sync.Mutex
	topics  map[string]*topic
	changed chan struct{} // closed when clients may have lost their right to read
	stopped bool
}

// New returns a Feed without streams. It starts nothing.
func New(outbox Outbox, now func() time.Time) *Feed {
	return &Feed{
		outbox: outbox, now: now, turns: make(chan struct{}, mostTurns), fresh: make(chan struct{}, 1), topics: map[string]*topic{},
		changed: make(chan struct{}),
	}
}

// Run reads events for streams, until ctx ends.
func (f *Feed) Run(ctx context.Context) {
	ticker := time.NewTicker(readEvery)
	defer ticker.Stop()
	for {
		if f.now().Sub(f.marks.last().read) >= followEvery {
			f.follow(ctx)
		}
		for n := 0; n < mostReads && f.read(ctx); n++ {
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-f.fresh:
		}
	}
}

// Streams returns how many streams each team has open.
func (f *Feed) Streams() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	open := make(map[string]int, len(f.topics))
	for team, t := range f.topics {
		open[team] = t.streams
	}
	return open
}

// Changed makes each stream ask whether its client may still read.
func (f *Feed) Changed() {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.changed)
	f.changed = make(chan struct{})
}

// Stop ends every stream in order. No more are opened.
func (f *Feed) Stop() {
	if f == nil {
		return
	}
	f.mu.Lock()
	f.stopped = true
	f.mu.Unlock()
	f.Changed()
}

// change returns a channel that is closed at the next change; stopped: there is no change to wait for.
func (f *Feed) change() (next <-chan struct{}, stopped bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changed, f.stopped
}

// join counts one more stream of a team. With the first, the team's events are followed.
func (f *Feed) join(team string) (*topic, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.topics[team]
	if t == nil {
		t = newTopic(team)
	}
	switch {
	case f.stopped:
		return nil, ErrStopped
	case t.streams >= MostStreams:
		return nil, ErrFull
	}
	if t.streams++; t.streams == 1 {
		f.topics[team] = t
		select {
		case f.fresh <- struct{}{}:
		default:
		}
	}
	return t, nil
}

// leave counts one stream less.
func (f *Feed) leave(t *topic) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if t.streams--; t.streams == 0 {
		delete(f.topics, t.team)
	}
}
