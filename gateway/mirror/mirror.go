// Package mirror keeps the pictures of tasks for longer than the service does: in the operator's own store.
//
// It fetches each picture of a task that succeeded once, and puts it into the store before the success is announced, for ten minutes at
// most; a picture that is stored later has its own event. The outbox has a work for each of these tasks, which is written with its charge;
// one replica at a time has it, so a replica that is killed loses none. While the store is away, works wait. A picture that is never
// stored is counted and logged with its task's id.
//
// It also finds a stored picture for its team, removes pictures at the end of the time that the team sets, and compares a day's successes
// with the store. It does not decide who may ask, alters no answer of the service, and logs no address, because those are signed.
package mirror

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"

	"sluice/gateway/mirror/store"
	"sluice/policy/event"
	"sluice/telemetry"
)

const (
	together  = 8                // works at a time
	pause     = time.Second      // between two looks for works, at most
	awayPause = 10 * time.Second // between two tries while the store is away
	mostLate  = 100              // late successes that are announced in one look
	putFor    = time.Minute      // one picture
)

// Works are the tasks whose pictures wait. Package event has one form, package outbox the other.
type Works interface {
	// TakeWork MUST return works that are due, at most so many, and no other caller may get them for [event.Lease].
	TakeWork(ctx context.Context, most int) ([]event.Work, error)
	// LateWork MUST do the same with works whose success must now be announced as it is.
	LateWork(ctx context.Context, most int) ([]event.Work, error)
	// Worked MUST record the outcome of a try in one step, and report whether the work was still kept.
	Worked(ctx context.Context, w *event.Work, p event.Progress) (bool, error)
	// Succeeded MUST return the tasks of a team that succeeded on a day.
	Succeeded(ctx context.Context, team, day string) (event.Successes, error)
}

// Measures count what a Mirror does.
type Measures interface {
	MirrorStored(bytes int)
	MirrorFailed(reason string) // a try
	MirrorLost(reason string)   // a picture
	MirrorDeleted(objects int)
}

// Config has what a Mirror works with. Every field is required unless it says otherwise.
type Config struct {
	// Store is where pictures are kept; nil: nowhere. Then works wait for another replica, and late successes are announced.
	Store store.Store
	Works Works
	// Fetch writes the picture at an address, as [upstream.Fetcher.Copy] does.
	Fetch func(ctx context.Context, w io.Writer, address string) (contentType string, err error)
	// To returns who listens to an event.
	To event.Routes
	// Keep returns how long pictures are kept, by team, of the teams that have them stored.
	Keep func() map[string]time.Duration
	// First reports whether this replica is the first of all to use a name.
	First    func(ctx context.Context, n event.Name) (bool, error)
	Measures Measures
	Now      func() time.Time
	Log      *slog.Logger
}

// Mirror stores pictures. Any number of replicas may run one. It is safe for concurrent use.
type Mirror struct {
	Config
	ready   chan struct{} // there is room again
	buffers chan *buffer  // of pictures

	mu       sync.Mutex
	flying   int
	away     time.Time // when a store that did not answer is tried again; zero: it answers
	silent   bool      // works cannot be taken, which was logged
	waits    waiting
	keptHour int64 // the last hour for which this replica asked whether to delete
}

// New builds a Mirror. It starts nothing.
func New(config Config) *Mirror {
	m := &Mirror{Config: config, ready: make(chan struct{}, 1), buffers: make(chan *buffer, together), waits: waiting{}}
	large := make(chan struct{}, larges)
	for range larges {
		large <- struct{}{}
	}
	for range together {
		m.buffers <- &buffer{large: large}
	}
	return m
}

// Run stores until ctx ends, and returns once the works under way are given back.
func (m *Mirror) Run(ctx context.Context) {
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	var under sync.WaitGroup
	defer under.Wait()
	for ctx.Err() == nil {
		m.announceLate(ctx)
		m.look(ctx, &under)
		select {
		case <-ctx.Done():
		case <-ticker.C:
		case <-m.ready:
		}
	}
}

// announceLate announces, as they are, successes that were held back for as long as is allowed.
func (m *Mirror) announceLate(ctx context.Context) {
	late, err := m.Works.LateWork(ctx, mostLate)
	m.noteOutbox(ctx, err)
	for i := range late {
		_, err := m.Works.Worked(ctx, &late[i], late[i].Release(m.To)) // if it fails, some replica does it after the lease
		m.noteOutbox(ctx, err)
	}
}

// look takes as many works as there is room for, and deletes old pictures.
func (m *Mirror) look(ctx context.Context, under *sync.WaitGroup) {
	if m.Store == nil {
		return
	}
	if hour := m.Now().Unix() / 3600; hour != m.keptHour {
		m.keptHour = hour
		under.Go(func() { telemetry.Fence(m.Log, "mirror", func() { m.deleteOld(ctx, hour) }) })
	}
	room := m.room()
	if room <= 0 {
		return
	}
	list, err := m.Works.TakeWork(ctx, room)
	m.noteOutbox(ctx, err)
	for i := range list {
		m.begin(&list[i])
		under.Go(func() {
			defer m.end()
			telemetry.Fence(m.Log, "mirror", func() { m.try(ctx, &list[i]) }) // another try follows the lease
		})
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waits.forget(m.Now())
}

// room is how many works may be taken; while the store is away, one at each awayPause.
func (m *Mirror) room() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.away.IsZero():
		return together - m.flying
	case m.flying == 0 && !m.Now().Before(m.away):
		return 1
	}
	return 0
}

func (m *Mirror) begin(w *event.Work) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.flying++
	m.waits.begin(w)
}

func (m *Mirror) end() {
	m.mu.Lock()
	m.flying--
	m.mu.Unlock()
	select {
	case m.ready <- struct{}{}:
	default:
	}
}

// noteOutbox logs when works cannot be taken, and when they can again. What the end of the call's context cut is no fault; without a store
// no pictures wait.
func (m *Mirror) noteOutbox(ctx context.Context, err error) {
	if ctx.Err() != nil || m.Store == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch was := m.silent; {
	case err != nil && !was:
		m.Log.Warn("mirror", "error", "the outbox is away, pictures wait: "+err.Error())
	case err == nil && was:
		m.Log.Warn("mirror", "outbox", "back")
	}
	m.silent = err != nil
}

// isAway reports whether the store did not answer when it was asked last.
func isAway(m *Mirror) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.away.IsZero()
}

// noteStore notes whether the store answers, and logs a change.
func (m *Mirror) noteStore(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch was := !m.away.IsZero(); {
	case err != nil && !was:
		m.Log.Error("mirror", "error", "the store is away, pictures wait: "+err.Error())
	case err == nil && was:
		m.Log.Warn("mirror", "store", "back")
	}
	if m.away = (time.Time{}); err != nil {
		m.away = m.Now().Add(awayPause)
	}
}
