package hooks

import (
	"context"
	"time"

	"sluice/policy/event"
)

// agedEvery is how often the outbox is asked what waits, and which hooks have ended.
const agedEvery = 10 * time.Second

// age asks the outbox how long events of each hook have waited, and which hooks have ended, unless it was asked lately. While the outbox is
// away, the last answers are kept.
func (d *Deliverer) age(ctx context.Context) {
	d.mu.Lock()
	d.follow()
	now, hooks := d.Now(), make([]event.Address, 0, len(d.hooks))
	for to := range d.hooks {
		hooks = append(hooks, to)
	}
	due := len(hooks) > 0 && (now.Sub(d.aged) >= agedEvery || now.Before(d.aged))
	d.mu.Unlock()
	if !due {
		return
	}
	oldest, err := d.Outbox.Oldest(ctx, hooks)
	ended, failed := d.Outbox.Ended(ctx)
	var changed []event.Address
	undated := map[event.Address]string{}
	d.mu.Lock()
	if d.aged = now; err == nil {
		d.oldest = oldest
	}
	for to, end := range ended {
		switch {
		case d.has(to, end.Mark):
			if d.ended[to] = end.Mark; end.At.IsZero() && failed == nil {
				undated[to] = end.Mark
			}
		case failed == nil:
			changed = append(changed, to)
		}
	}
	d.mu.Unlock()
	for _, to := range changed { // its old lines count as new if they come back
		_ = d.Outbox.End(ctx, to, "")
	}
	for to, mark := range undated { // so that people see that it has ended
		_ = d.Outbox.End(ctx, to, mark)
	}
}

// Oldest returns the age of the oldest event that each hook has not taken, by the ids of hooks, whether or not a replica has tried it. 0:
// the hook has taken all. Hooks of several teams with one id count as one.
func (d *Deliverer) Oldest() map[string]time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	now, ages := d.Now(), map[string]time.Duration{}
	for to := range d.hooks {
		ages[to.Hook] = max(ages[to.Hook], 0)
	}
	for to, at := range d.oldest {
		if age, known := ages[to.Hook]; known {
			ages[to.Hook] = max(age, now.Sub(at))
		}
	}
	return ages
}

// Ended returns whether the receiver of each hook has ended it, by the ids of hooks. Hooks of several teams with one id count as one, which
// has ended if one of them has.
func (d *Deliverer) Ended() map[string]bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	ends := map[string]bool{}
	for to := range d.hooks {
		_, ended := d.ended[to]
		ends[to.Hook] = ends[to.Hook] || ended
	}
	return ends
}
