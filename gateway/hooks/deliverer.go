package hooks

import (
	"context"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/url"
	"strings"
	"sync"
	"time"

	"sluice/policy/event"
	"sluice/policy/teams"
	"sluice/telemetry"
)

const (
	pause   = time.Second     // between two looks at the outbox, at most
	outlast = 2 * time.Second // before a lease's end, at which another replica may take the delivery
)

// Config has what a Deliverer works with. Every field is required.
type Config struct {
	Outbox event.Outbox
	Teams  func() *teams.File // in force
	Poster *Poster
	Count  func(hook string, outcome Outcome)
	Now    func() time.Time
	Log    *slog.Logger
}

// Deliverer takes deliveries that are due and posts them, at most four at a time to each hook, 32 to the hooks of one host, and 256 in all,
// so that a slow receiver holds up no other. The outbox keeps the four over all replicas. Any number of replicas may run one: the outbox
// leases each delivery to one of them. It is safe for concurrent use.
type Deliverer struct {
	Config
	ready chan struct{} // a hook has room again

	mu     sync.Mutex
	file   *teams.File // whose hooks these are
	hooks  map[event.Address]*event.Hook
	ended  map[event.Address]string // hooks that ended with 410, by the mark of their lines: until the lines change
	flying map[event.Address]int
	hosts  map[event.Address]string
	away   bool                        // the outbox is away, which was logged
	oldest map[event.Address]time.Time // the oldest event that waits, as last known
	aged   time.Time                   // when the outbox was last asked for oldest
}

// New builds a Deliverer. It starts nothing.
func New(config Config) *Deliverer {
	return &Deliverer{Config: config, ready: make(chan struct{}, 1), ended: map[event.Address]string{}, flying: map[event.Address]int{}}
}

// Run delivers until ctx ends, and returns once the outcomes of running deliveries are in the outbox: within some 10 s.
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
	d.age(ctx)
	rooms, most := d.rooms()
	due, lost, err := d.Outbox.Due(ctx, rooms, most)
	if d.noteOutbox(ctx, err); err != nil {
		return
	}
	for i := range due {
		if h := d.begin(&due[i]); h != nil {
			under.Go(func() {
				defer d.end(due[i].To)
				telemetry.Fence(d.Log, "hook", func() { d.deliver(ctx, h, &due[i]) }) // another delivery follows the lease
			})
		}
	}
	d.reportLost(ctx, lost)
}

// rooms returns how many more deliveries each hook may take now, and all hooks together.
func (d *Deliverer) rooms() (rooms event.Rooms, most int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.follow()
	rooms, most = event.Rooms{Hooks: map[event.Address]event.Room{}, Hosts: map[string]int{}}, inAll
	for to := range d.hooks {
		rooms.Hooks[to], rooms.Hosts[d.hosts[to]] = event.Room{Host: d.hosts[to], Most: d.room(to)}, perHost
	}
	for to, n := range d.flying {
		most -= n
		rooms.Hosts[d.hosts[to]] = max(rooms.Hosts[d.hosts[to]]-n, 0)
	}
	return rooms, most
}

// room is how many more deliveries a hook may take now. The lock is held.
func (d *Deliverer) room(to event.Address) int {
	if _, ended := d.ended[to]; ended {
		return 0
	}
	return perHook - d.flying[to]
}

// follow takes over the hooks of a new teams file. The lock is held.
func (d *Deliverer) follow() {
	file := d.Teams()
	if file == d.file {
		return
	}
	d.file, d.hooks, d.hosts = file, map[event.Address]*event.Hook{}, map[event.Address]string{}
	for _, of := range all(file) {
		for i := range of.hooks {
			to := event.Address{Owner: of.owner, Hook: of.hooks[i].ID}
			d.hooks[to], d.hosts[to] = &of.hooks[i], hostOf(&of.hooks[i])
		}
	}
	maps.DeleteFunc(d.ended, func(to event.Address, mark string) bool { return !d.has(to, mark) })
}

// has reports whether there is a hook with this mark. The lock is held.
func (d *Deliverer) has(to event.Address, mark string) bool {
	is := d.hooks[to]
	return is != nil && is.Mark() == mark
}

// hostOf is the host and port of a hook's URL.
func hostOf(h *event.Hook) string {
	u, err := url.Parse(h.URL)
	if err != nil {
		return h.URL // it was read strictly
	}
	return strings.ToLower(u.Host)
}

// begin counts a delivery as under way; nil: its hook is gone or has no room, and another replica may deliver it after the lease.
func (d *Deliverer) begin(due *event.Delivery) *event.Hook {
	d.mu.Lock()
	defer d.mu.Unlock()
	h := d.hooks[due.To]
	if h == nil || d.room(due.To) <= 0 {
		return nil
	}
	d.flying[due.To]++
	return h
}

// deliver tries once, and reports to the outbox. The end of ctx cuts no try: an event that the receiver took would be sent again.
func (d *Deliverer) deliver(ctx context.Context, h *event.Hook, due *event.Delivery) {
	taken := d.Now()
	answer, err := d.Poster.Post(context.WithoutCancel(ctx), h, &due.Event, due.Path)
	outcome, wait := judge(due, answer.Code, rand.Float64())
	if outcome == Ended && !d.stop(ctx, h, due.To) {
		outcome = Failed
	}
	d.record(ctx, due, wait, taken)
	if due.State == event.GivenUp {
		outcome = GivenUp
	}
	d.Count(h.ID, outcome)
	d.logTry(ctx, due, outcome, err)
}

// end counts a delivery as over.
func (d *Deliverer) end(to event.Address) {
	d.mu.Lock()
	if d.flying[to]--; d.flying[to] == 0 {
		delete(d.flying, to)
	}
	d.mu.Unlock()
	select {
	case d.ready <- struct{}{}:
	default:
	}
}

// stop ends deliveries to a hook: from this replica at once, and from the others once they ask. false: its lines have changed since the
// try began, and the answer says nothing about the new ones.
func (d *Deliverer) stop(ctx context.Context, h *event.Hook, to event.Address) bool {
	mark := h.Mark()
	d.mu.Lock()
	d.follow()
	is := d.has(to, mark)
	if is {
		d.ended[to] = mark
	}
	d.mu.Unlock()
	if is {
		uncut := context.WithoutCancel(ctx)
		d.noteOutbox(uncut, d.Outbox.End(uncut, to, mark)) // if it fails, others learn it from their own answers
	}
	return is
}

// reportLost counts and logs deliveries that the outbox gave up.
func (d *Deliverer) reportLost(ctx context.Context, lost map[event.Address]int) {
	for to, n := range lost {
		for range n {
			d.Count(to.Hook, GivenUp)
		}
		d.Log.LogAttrs(ctx, slog.LevelWarn, "hook",
			slog.String("owner", to.Owner), slog.String("hook", to.Hook), slog.Int("deliveries", n), slog.String("outcome", string(GivenUp)),
			slog.String("error", "their events are no longer kept"))
	}
}

// logTry logs a try that was not taken, without the text of the answer: teams may read the log.
func (d *Deliverer) logTry(ctx context.Context, due *event.Delivery, outcome Outcome, err error) {
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

// record reports to the outbox, and repeats that until the lease ends. Then another replica delivers it a second time.
func (d *Deliverer) record(ctx context.Context, due *event.Delivery, wait time.Duration, taken time.Time) {
	for uncut := context.WithoutCancel(ctx); ; {
		err := d.Outbox.Tried(uncut, due, wait)
		d.noteOutbox(uncut, err)
		if err == nil || ctx.Err() != nil || d.Now().Sub(taken) > event.Lease-outlast {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// noteOutbox logs when the outbox is away, and when it is back. What the end of the call's context cut is no fault.
func (d *Deliverer) noteOutbox(ctx context.Context, err error) {
	if ctx.Err() != nil {
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
