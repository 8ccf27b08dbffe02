// Package mirror keeps the pictures of tasks for longer than the service does: in the operator's own store.
//
// It fetches each picture of a task that succeeded once, and puts it into the store before the success is announced, for ten minutes at
// most; what is stored later has an event of its own. Which tasks those are is the outbox's: their works are written with their charges,
// and one replica at a time has each, so a replica that is killed loses none. While the store is away works wait. What is never stored is
// counted and logged with its task's id.
//
// It also finds a stored picture for its team, removes what was kept for as long as its team says, and compares a day's successes with the
// store. It decides nothing about who may ask, alters no answer of the service, and logs no address: those of pictures are signed.
package mirror

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"sluice/gateway/mirror/store"
	"sluice/policy/event"
)

const (
	together  = 8                // works at a time
	pause     = time.Second      // between two looks for works, at most
	awayPause = 10 * time.Second // between two tries while the store is away
	mostLate  = 100              // successes that are announced in one look
	putFor    = time.Minute      // one picture
)

// Works are the tasks whose pictures wait. Package event has one form, package outbox the other.
type Works interface {
	// TakeWork MUST return works that are due, at most so many, and no other caller may get them for [event.Lease].
	TakeWork(ctx context.Context, most int) ([]event.Work, error)
	// LateWork MUST do the same with works whose success is to be announced as it is.
	LateWork(ctx context.Context, most int) ([]event.Work, error)
	// Worked MUST record what came of a try in one step, and report whether the work was kept until then.
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
	// To names who listens to an event.
	To event.Routes
	// Keep is for how long pictures of teams are kept that have them stored, by team.
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
	away     time.Time // the store did not answer: when it is tried again; zero: it answers
	silent   bool      // the works cannot be had; the log says so once
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

// Run stores until ctx ends, and returns when what is under way has been given back.
func (m *Mirror) Run(ctx context.Context) {
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	var under sync.WaitGroup
	defer under.Wait()
	for ctx.Err() == nil {
		m.tellLate(ctx)
		m.look(ctx, &under)
		select {
		case <-ctx.Done():
		case <-ticker.C:
		case <-m.ready:
		}
	}
}

// tellLate announces successes that were held back for as long as may be, as they are.
func (m *Mirror) tellLate(ctx context.Context) {
	late, err := m.Works.LateWork(ctx, mostLate)
	m.works(err)
	for i := range late {
		_, err := m.Works.Worked(ctx, &late[i], late[i].Release(m.To)) // if it fails, some replica does it after the lease
		m.works(err)
	}
}

// look takes works as there is room, and deletes what is old.
func (m *Mirror) look(ctx context.Context, under *sync.WaitGroup) {
	if m.Store == nil {
		return
	}
	if hour := m.Now().Unix() / 3600; hour != m.keptHour {
		m.keptHour = hour
		under.Go(func() { m.deleteOld(ctx, hour) })
	}
	room := m.room()
	if room <= 0 {
		return
	}
	list, err := m.Works.TakeWork(ctx, room)
	m.works(err)
	for i := range list {
		m.begin(&list[i])
		under.Go(func() {
			m.try(ctx, &list[i])
			m.end()
		})
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waits.forget(m.Now())
}

// room is how many works may be taken: while the store is away one, once in a while.
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

// works logs that works cannot be had, and that they can again.
func (m *Mirror) works(err error) {
	if errors.Is(err, context.Canceled) {
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

// stored notes whether the store answers.
func (m *Mirror) stored(err error) {
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
