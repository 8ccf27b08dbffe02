package feed

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"sluice/policy/event"
)

const (
	commentEvery = 15 * time.Second
	// A client comes back after leastRetry to twice that, so that not all return at once.
	leastRetry = time.Second
	mostTurns  = 4                     // streams of all teams that read the outbox for themselves at a time
	turnPause  = 10 * time.Millisecond // between two of one team
)

// Stream is one client's stream. Its methods are for one goroutine.
type Stream struct {
	feed   *Feed
	topic  *topic
	query  Query
	at     event.ID // the last event that the client has, or that it does not want
	checks bool     // whether events after at are missing is not known yet
	losses int      // the topic's losses that the stream knows of
}

// Open opens a stream, and waits until every replica writes its team's events. The caller closes it. Its error is [ErrFull], [ErrStopped],
// or why the outbox cannot be read: a client that names no event cannot be served without it.
func (f *Feed) Open(ctx context.Context, q Query) (*Stream, error) {
	if f == nil {
		return nil, ErrStopped
	}
	t, err := f.join(q.Team)
	if err != nil {
		return nil, err
	}
	s := &Stream{feed: f, topic: t, query: q, at: q.After, checks: q.After.Millis != 0}
	if err := s.begin(ctx); err != nil && (!s.checks || errors.Is(err, ErrStopped)) {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Stream) begin(ctx context.Context) error {
	wait, err := s.feed.announce(ctx, s.topic.team)
	if err != nil {
		return err
	}
	if err := s.feed.sleep(ctx, wait); err != nil {
		return err
	}
	if !s.checks {
		s.at, err = s.feed.outbox.Last(ctx, s.topic.team)
	}
	return err
}

// sleep waits, unless ctx ends or the process stops.
func (f *Feed) sleep(ctx context.Context, wait time.Duration) error {
	for over := time.After(wait); ; {
		changed, stopped := f.change()
		if stopped {
			return ErrStopped
		}
		select {
		case <-over:
			return nil
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Close ends the stream.
func (s *Stream) Close() { s.feed.leave(s.topic) }

// Serve writes events until the client leaves or may no longer read, or the process stops. allowed says why it may not; it is called on
// each change and at each comment. The error is that of a failed write.
func (s *Stream) Serve(ctx context.Context, w http.ResponseWriter, allowed func() error) error {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // nginx then passes each write on at once
	out := writer{w, http.NewResponseController(w)}
	if err := out.begin(); err != nil {
		return err
	}
	ticker := time.NewTicker(commentEvery)
	defer ticker.Stop()
	for ctx.Err() == nil {
		changed, stopped := s.feed.change()
		if stopped || allowed() != nil {
			return nil
		}
		if err := s.pass(ctx, out, changed, ticker.C); err != nil {
			return err
		}
	}
	return nil
}

// pass writes events until something changes, or it is time for a comment.
func (s *Stream) pass(ctx context.Context, out writer, changed <-chan struct{}, tick <-chan time.Time) error {
	for {
		list, news, turn := s.look()
		if len(list) > 0 {
			s.at = list[len(list)-1].ID
		}
		if err := s.write(out, list, false); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
			return nil
		case <-tick:
			return out.comment()
		case <-news:
		case <-turn:
			list, gap := s.readOwn(ctx)
			if err := s.write(out, list, gap); err != nil {
				return err
			}
		}
	}
}

// look takes the events that are kept for all streams. If the stream needs earlier ones, turn has a token when it may read for itself;
// otherwise news is closed when there are more.
func (s *Stream) look() (list []event.Event, news, turn <-chan struct{}) {
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	t := s.topic
	if !t.known {
		return nil, t.news, nil
	}
	list, missing := t.after(s.at)
	if s.checks || missing || s.losses != t.losses {
		return nil, nil, t.turn
	}
	return list, t.news, nil
}

// readOwn reads the outbox after the last event of the stream, and moves the stream on; gap: events before those may be missing. It gives
// the turn back.
func (s *Stream) readOwn(ctx context.Context) (list []event.Event, gap bool) {
	f, pause := s.feed, turnPause
	defer func() { time.AfterFunc(pause, func() { s.topic.turn <- struct{}{} }) }()
	select {
	case f.turns <- struct{}{}:
	case <-ctx.Done():
		return nil, false
	}
	defer func() { <-f.turns }()
	f.mu.Lock()
	before, losses := s.topic.before, s.topic.losses
	f.mu.Unlock()
	list, gap, err := f.outbox.After(ctx, s.at, batch)
	if err != nil {
		pause = readEvery
		return nil, false
	}
	s.checks, s.losses = false, losses
	if len(list) > 0 {
		s.at = list[len(list)-1].ID
	}
	if len(list) < batch && s.at.Before(before) || gap && len(list) == 0 {
		s.at = before // events in between are no longer kept, or are those of a lost outbox
	}
	return list, gap
}

// write writes the events that the client wants.
func (s *Stream) write(out writer, list []event.Event, gap bool) error {
	if gap {
		if err := out.print("event: gap\ndata: {}\n\n"); err != nil {
			return err
		}
	}
	for i := range list {
		if e := &list[i]; s.query.wants(e.Type) {
			if err := out.event(e); err != nil {
				return err
			}
		}
	}
	if len(list) == 0 && !gap {
		return nil
	}
	return out.flush()
}

// writer writes server-sent events.
type writer struct {
	http.ResponseWriter
	control *http.ResponseController
}

func (w writer) flush() error { return w.control.Flush() }

func (w writer) print(format string, args ...any) error {
	_, err := fmt.Fprintf(w, format, args...)
	return err
}

func (w writer) begin() error {
	if err := w.print("retry: %d\n: events\n\n", (leastRetry + rand.N(leastRetry)).Milliseconds()); err != nil {
		return err
	}
	return w.flush()
}

func (w writer) comment() error {
	if err := w.print(":\n\n"); err != nil {
		return err
	}
	return w.flush()
}

func (w writer) event(e *event.Event) error {
	return w.print("id: %s\nevent: %s\ndata: %s\n\n", e.ID, e.Type, e.Bytes())
}
