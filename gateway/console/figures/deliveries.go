package figures

import (
	"context"
	"slices"

	"sluice/gateway/console/access"
	"sluice/policy/event"
	"sluice/policy/teams"
)

// Deliveries returns the hooks that a person sees and the deliveries of an owner's events. Only people who see all teams get the events
// and hooks of [event.Operators]. Its error is [event.ErrState] or [event.ErrID] if the query is faulty.
func (f *traffic) Deliveries(ctx context.Context, p access.Person, q event.Query) (event.Report, error) {
	file, owners := f.deps.Teams(), []string{q.Owner}
	switch q.Owner {
	case "":
		visible, _ := f.deps.visible(p)
		owners = idsOf(visible)
	case event.Operators:
		if owners = nil; !p.SeesAll() {
			return event.Report{}, ErrAbsent
		}
	default:
		if _, err := f.deps.find(p, q.Owner); err != nil {
			return event.Report{}, err
		}
	}
	if p.SeesAll() {
		owners = append(owners, event.Operators)
	}
	var hooks []event.Address
	for _, owner := range owners {
		hooks = append(hooks, teams.Hooks(file, owner)...)
	}
	r, err := event.Look(ctx, f.deps.Outbox, hooks, q)
	if !p.SeesAll() {
		r.Data = slices.DeleteFunc(r.Data, func(d event.DeliveryReport) bool { return d.Owner == event.Operators })
	}
	return r, err
}
