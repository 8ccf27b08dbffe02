package clerk

import (
	"context"
	"time"

	"sluice/gateway/console/figures"
	"sluice/gateway/console/pages"
	"sluice/gateway/console/registry"
	"sluice/policy"
	"sluice/policy/directory"
)

// Deps are what the clerk asks. All are required.
type Deps struct {
	Registry *registry.Registry
	Figures  *figures.Figures
	Audit    directory.Store
	Config   func() pages.Config // the settings in effect, without secrets
	Modes    policy.Modes        // that the settings set
	Prefix   string              // of the service's headers, for the rules
	Currency func() string
	Now      func() time.Time
}

// Clerk answers for the pages.
type Clerk struct{ deps Deps }

// New returns a clerk.
func New(deps Deps) *Clerk { return &Clerk{deps} }

// Pages are the sources of the pages.
func (c *Clerk) Pages() pages.Deps {
	return pages.Deps{
		Teams: teamDesk{c.deps}, Keys: keyDesk{c.deps.Registry}, Figures: c.deps.Figures, House: house{c.deps}, Currency: c.deps.Currency, Now: c.deps.Now,
		Cancel: func(ctx context.Context, a pages.Actor, team, task string) error {
			return told(c.deps.Registry.Cancel(ctx, registry.Actor(a), team, task))
		},
	}
}

// keyDesk is the registry's keys.
type keyDesk struct{ registry *registry.Registry }

// Mint implements [pages.Keys].
func (d keyDesk) Mint(ctx context.Context, a pages.Actor, team string, k pages.NewKey) (pages.Minted, error) {
	return d.mint(ctx, a, team, registry.KeyOrder{Note: k.Note, Expires: k.Expires})
}

// Rotate implements [pages.Keys]. The new key has the note of the old one.
func (d keyDesk) Rotate(ctx context.Context, a pages.Actor, team, old string, oldEnds time.Time) (pages.Minted, error) {
	keys, err := d.registry.Keys(ctx, a.Person, team)
	if err != nil {
		return pages.Minted{}, told(err)
	}
	order := registry.KeyOrder{Replaces: old, Ends: oldEnds}
	for i := range keys {
		if keys[i].ID == old {
			order.Note = keys[i].Note
		}
	}
	return d.mint(ctx, a, team, order)
}

func (d keyDesk) mint(ctx context.Context, a pages.Actor, team string, o registry.KeyOrder) (pages.Minted, error) {
	made, err := d.registry.Mint(ctx, registry.Actor(a), team, o)
	return pages.Minted{ID: made.ID, Secret: made.Key, Expires: orZero(made.Expires)}, told(err)
}

// Remove implements [pages.Keys].
func (d keyDesk) Remove(ctx context.Context, a pages.Actor, team, key string) error {
	return told(d.registry.EndKey(ctx, registry.Actor(a), team, key))
}

func orZero(at *time.Time) time.Time {
	if at == nil {
		return time.Time{}
	}
	return *at
}
