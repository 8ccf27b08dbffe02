package hooks

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"sluice/policy/event"
	"sluice/policy/teams"
)

const (
	pause   = time.Second     // between two looks at the outbox, at most
	outlast = 2 * time.Second // behind a lease's end: by then another replica has taken what this one lost

	defaultLife = 72 * time.Hour
)

// Config has what a Deliverer works with. Every field is required but Life.
type Config struct {
	Outbox event.Outbox
	Teams  func() *teams.File // in force
	Poster *Poster
	Life   time.Duration // of an event; 0: 72 h
	Count  func(hook string, outcome Outcome)
	Now    func() time.Time
	Log    *slog.Logger
}

// Deliverer takes deliveries that are due and posts them, at most four at a time to each hook, so that a slow receiver holds up no other.
// Any number of replicas may run one: the outbox leases each delivery to one of them. It is safe for concurrent use.
type Deliverer struct {
	Config
	ready chan struct{} // a hook has room again

	mu     sync.Mutex
	file   *teams.File // whose hooks these are
	hooks  map[event.Address]*event.Hook
	ended  map[event.Address]bool // with 410, until the file changes
	flying map[event.Address]int
	away   bool // the outbox is; the log says so once
	waits  waiting
}

// New builds a Deliverer. It starts nothing.
func New(config Config) *Deliverer {
	config.Life = cmp.Or(config.Life, defaultLife)
	return &Deliverer{Config: config, ready: make(chan struct{}, 1), flying: map[event.Address]int{}, waits: waiting{}}
}

// Run delivers until ctx ends, and returns when what is under way has been told to the outbox: within some 10 s.
func (d *Deliverer) Run(ctx context.Context) {
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	var under sync.WaitGroup
	defer under.Wait()
	for ctx.Err() == nil {
		d.look(ctx, &under)
		select {
		case <-ctx.Done():
		case <-ticker.C:
		case <-d.ready:
		}
	}
}

// look takes what is due at hooks that have room.
func (d *Deliverer) look(ctx context.Context, under *sync.WaitGroup) {
	for room, list := range d.rooms() {
		due, err := d.Outbox.Due(ctx, list, room)
		if d.outbox(err); err != nil {
			return
		}
		for i := range due {
			if h := d.begin(&due[i]); h != nil {
				under.Go(func() { d.deliver(ctx, h, &due[i]) })
			}
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waits.forget(d.Now())
}

// rooms lists the hooks by how many deliveries they may take at the moment.
func (d *Deliverer) rooms() map[int][]event.Address {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.follow()
	rooms := map[int][]event.Address{}
	for _, of := range all(d.file) {
		for i := range of.hooks {
			to := event.Address{Owner: of.owner, Hook: of.hooks[i].ID}
			if room := perHook - d.flying[to]; room > 0 && !d.ended[to] {
				rooms[room] = append(rooms[room], to)
			}
		}
	}
	return rooms
}

// follow takes another file's hooks over. The caller holds the lock.
func (d *Deliverer) follow() {
	file := d.Teams()
	if file == d.file {
		return
	}
	d.file, d.hooks, d.ended = file, map[event.Address]*event.Hook{}, map[event.Address]bool{}
	for _, of := range all(file) {
		for i := range of.hooks {
			d.hooks[event.Address{Owner: of.owner, Hook: of.hooks[i].ID}] = &of.hooks[i]
		}
	}
}

// begin counts a delivery as under way; nil: its hook has gone, and whoever has the file with it delivers.
func (d *Deliverer) begin(due *event.Delivery) *event.Hook {
	d.mu.Lock()
	defer d.mu.Unlock()
	h := d.hooks[due.To]
	if h != nil {
		d.flying[due.To]++
		d.waits.add(due, d.Now())
	}
	return h
}

// deliver tries once, and tells the outbox. The end of ctx cuts no try: what the receiver took would be sent again.
func (d *Deliverer) deliver(ctx context.Context, h *event.Hook, due *event.Delivery) {
	taken := d.Now()
	answer, err := d.Poster.Post(context.WithoutCancel(ctx), h, &due.Event, due.Path)
	outcome := judge(due, answer.Code, d.Now(), d.Life, rand.Float64())
	d.end(due, outcome)
	d.Count(h.ID, outcome)
	d.tell(ctx, due, outcome, err)
	d.record(ctx, due, taken)
	d.mu.Lock()
	if d.flying[due.To]--; d.flying[due.To] == 0 {
		delete(d.flying, due.To)
	}
	d.mu.Unlock()
	select {
	case d.ready <- struct{}{}:
	default:
	}
}

// end notes what came of a try.
func (d *Deliverer) end(due *event.Delivery, outcome Outcome) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waits.end(due)
	if outcome == Ended {
		d.ended[due.To] = true
	}
}

// tell logs a try that was not taken. No answer's text is in it: teams may read the log.
func (d *Deliverer) tell(ctx context.Context, due *event.Delivery, outcome Outcome, err error) {
	if outcome == Taken {
		return
	}
	attrs := []slog.Attr{
		slog.String("owner", due.To.Owner), slog.String("hook", due.To.Hook), slog.String("event", due.Event.ID.String()),
		slog.Int("status", due.Code), slog.Int("tries", due.Tries), slog.String("outcome", string(outcome)),
	}
	if err != nil {
		attrs = append(attrs, slog.String("error", err.Error()))
	}
	d.Log.LogAttrs(ctx, slog.LevelWarn, "hook", attrs...)
}

// record tells the outbox, again until the lease ends: then another replica tries, which is a second delivery of the same id.
func (d *Deliverer) record(ctx context.Context, due *event.Delivery, taken time.Time) {
	for {
		err := d.Outbox.Tried(context.WithoutCancel(ctx), due)
		d.outbox(err)
		if err == nil || ctx.Err() != nil || d.Now().Sub(taken) > event.Lease-outlast {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// outbox logs that the outbox is away, and that it is back.
func (d *Deliverer) outbox(err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch was := d.away; {
	case err != nil && !was:
		d.Log.Warn("hooks", "error", "the outbox is away, deliveries wait: "+err.Error())
	case err == nil && was:
		d.Log.Warn("hooks", "outbox", "back")
	}
	d.away = err != nil
}
