package mirror

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"sluice/gateway/mirror/store"
	"sluice/gateway/upstream"
	"sluice/policy/event"
	"sluice/telemetry"
)

// The reasons why a try failed, and why a picture is lost.
const (
	reasonFetch   = "fetch"   // the picture's host did not give it
	reasonStore   = "store"   // the store did not take it
	reasonExpired = "expired" // its address expired first
	reasonRefused = "refused" // it is no picture, or too large
)

var errPanicked = errors.New("its try panicked")

// errStore is the error of a store that did not take a picture.
type errStore struct{ error }

func (e errStore) Unwrap() error { return e.error }

func ofStore(err error) bool {
	_, is := errors.AsType[errStore](err)
	return is
}

// waits has the times until the next try of a work whose pictures could not be fetched; the last one repeats.
var waits = [...]time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute}

// untilNext is how long a work waits: at most until its addresses expire, for a last try.
func untilNext(w *event.Work, now time.Time) time.Duration {
	wait := waits[min(max(w.Tries, 1), len(waits))-1]
	if left := w.Ends.Sub(now); left > 0 {
		wait = min(wait, left+time.Second)
	}
	return wait
}

// try stores the pictures of a work that wait, and records the outcome. The end of ctx gives the work back.
func (m *Mirror) try(ctx context.Context, w *event.Work) {
	lease, lost := context.WithCancel(ctx)
	defer lost()
	go telemetry.Fence(m.Log, "mirror", func() { m.renew(lease, w) })
	var failed error
	for i := range w.Pictures {
		if w.Pictures[i].State != event.PictureWaits {
			continue
		}
		err := errPanicked // a try that panics counts as one that failed
		telemetry.Fence(m.Log, "mirror", func() { err = m.picture(ctx, w, i) })
		switch reason := lostFor(w, err, m.Now()); {
		case ctx.Err() != nil:
			m.record(ctx, w, event.Progress{Next: time.Millisecond})
			return
		case err == nil:
			w.Pictures[i].State, w.Tries = event.PictureStored, 0
		case reason != "":
			w.Pictures[i].State = event.PictureLost
			m.reportLost(ctx, w, i, reason, err)
		default:
			failed = err
			m.reportFailed(ctx, w, i, err)
		}
		if ofStore(failed) {
			break
		}
		if w.Waits() {
			m.record(ctx, w, event.Progress{Keep: true, Next: event.Lease})
		}
	}
	lost()
	m.conclude(ctx, w, failed)
}

// conclude records a try with all pictures.
func (m *Mirror) conclude(ctx context.Context, w *event.Work, failed error) {
	if !w.Waits() {
		m.note(w, time.Time{})
		m.record(ctx, w, w.Release(m.To))
		return
	}
	wait := awayPause // while the store is away: the work goes on soon after it is back
	if !ofStore(failed) {
		w.Tries++
		wait = untilNext(w, m.Now())
	}
	m.note(w, m.Now().Add(wait))
	m.record(ctx, w, event.Progress{Keep: true, Next: wait})
}

// lostFor is why a picture that a try did not store is lost; empty: it is tried again.
func lostFor(w *event.Work, err error, now time.Time) string {
	switch {
	case err == nil:
	case errors.Is(err, upstream.ErrNoImage), errors.Is(err, upstream.ErrTooLarge):
		return reasonRefused
	case now.After(w.Ends) && !ofStore(err), now.After(w.Ends.Add(time.Hour)): // a store that is away may have been away before
		return reasonExpired
	}
	return ""
}

// picture fetches and puts one picture.
func (m *Mirror) picture(ctx context.Context, w *event.Work, i int) error {
	buf := <-m.buffers
	buf.ctx = ctx
	defer func() {
		buf.reset()
		m.buffers <- buf
	}()
	day := func() error {
		return m.put(ctx, dayKey(w.Team, w.Task), &store.Object{Body: []byte(w.Day), Type: "text/plain", Task: w.Task})
	}
	if isAway(m) { // try the store first: a picture might be fetched in vain
		if err := day(); err != nil {
			return err
		}
	}
	contentType, err := m.Fetch(ctx, buf, w.Pictures[i].URL)
	if err != nil {
		return err
	}
	ext := endings[contentType]
	if ext == "" {
		return upstream.ErrNoImage
	}
	size := len(buf.bytes)
	if err = day(); err == nil {
		err = m.put(ctx, keyOf(w, i, ext), &store.Object{Body: buf.bytes, Type: contentType, Task: w.Task})
	}
	if err == nil {
		m.Measures.MirrorStored(size)
	}
	return err
}

func (m *Mirror) put(ctx context.Context, key string, o *store.Object) error {
	ctx, cancel := context.WithTimeout(ctx, putFor)
	defer cancel()
	err := m.Store.Put(ctx, key, o)
	if err != nil && errors.Is(context.Cause(ctx), context.Canceled) {
		return err // the process stops
	}
	if m.noteStore(err); err != nil {
		return errStore{err}
	}
	return nil
}

// renew keeps a work this replica's until ctx ends.
func (m *Mirror) renew(ctx context.Context, w *event.Work) {
	of := &event.Work{Team: w.Team, Task: w.Task} // the other goroutine changes the work
	ticker := time.NewTicker(event.Lease / 3)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			_, _ = m.Works.Worked(ctx, of, event.Progress{Next: event.Lease}) // if it fails, another replica tries, too
		}
	}
}

// record reports to the outbox, and repeats that until the lease ends. Then another replica tries, and stores the same bytes again.
func (m *Mirror) record(ctx context.Context, w *event.Work, p event.Progress) {
	for uncut, ends := context.WithoutCancel(ctx), m.Now().Add(event.Lease); ; {
		_, err := m.Works.Worked(uncut, w, p)
		m.noteOutbox(uncut, err)
		if err == nil || ctx.Err() != nil || m.Now().After(ends) {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

func (m *Mirror) reportFailed(ctx context.Context, w *event.Work, i int, err error) {
	if ofStore(err) { // noteStore logs it once
		m.Measures.MirrorFailed(reasonStore)
		return
	}
	m.Measures.MirrorFailed(reasonFetch)
	m.Log.LogAttrs(ctx, slog.LevelWarn, "mirror", append(named(w, i), slog.Int("tries", w.Tries+1), slog.String("error", err.Error()))...)
}

func (m *Mirror) reportLost(ctx context.Context, w *event.Work, i int, reason string, err error) {
	m.Measures.MirrorLost(reason)
	m.Log.LogAttrs(ctx, slog.LevelError, "mirror", append(named(w, i), slog.String("lost", reason), slog.String("error", err.Error()))...)
}

func named(w *event.Work, i int) []slog.Attr {
	return []slog.Attr{slog.String("team", w.Team), slog.String("task", w.Task), slog.Int("picture", i+1)}
}

const (
	small   = 8 << 20  // bytes of a buffer that is used again
	largest = 32 << 20 // bytes of a picture, as package upstream has it
	larges  = 2        // pictures at a time that are larger than small; others wait
)

// buffer takes the bytes of one picture. All buffers of a mirror take at most 160 MiB: each of the 8 takes 8 MiB, and 4 more while it
// grows, and 2 of them take 32 MiB more.
type buffer struct {
	ctx   context.Context // of the try: it ends the wait for room
	bytes []byte
	large chan struct{} // has a token for each picture that may be large
	own   []byte        // the small bytes that are used again
	has   bool          // a token
}

// Write waits for room if the picture becomes large.
func (b *buffer) Write(p []byte) (int, error) {
	need := len(b.bytes) + len(p)
	switch {
	case need > largest:
		return 0, upstream.ErrTooLarge
	case need > cap(b.bytes) && need > small:
		select {
		case <-b.large:
		case <-b.ctx.Done():
			return 0, b.ctx.Err()
		}
		b.own, b.has = b.bytes, true
		b.bytes = append(make([]byte, 0, largest), b.bytes...)
	case need > cap(b.bytes):
		b.bytes = append(make([]byte, 0, min(max(2*cap(b.bytes), need), small)), b.bytes...)
	}
	b.bytes = append(b.bytes, p...)
	return len(p), nil
}

// reset makes room for another picture.
func (b *buffer) reset() {
	if b.has {
		b.bytes, b.own, b.has = b.own, nil, false
		b.large <- struct{}{}
	}
	b.bytes = b.bytes[:0]
}
