package clerk

import (
	"context"
	"encoding/json"

	"sluice/gateway/console/access"
	"sluice/gateway/console/figures"
	"sluice/gateway/console/pages"
	"sluice/gateway/console/registry"
	"sluice/policy/teams"
)

// mostTeams is how many teams the pages list: all.
const mostTeams = 1 << 20

// teamDesk is the registry's teams with their figures.
type teamDesk struct{ Deps }

// List implements [pages.Teams].
func (d teamDesk) List(ctx context.Context, p access.Person) (list []pages.TeamLine, err error) {
	var lines map[string]figures.TeamUse
	var errLines error
	reading := make(chan struct{})
	go func() {
		defer close(reading)
		lines, errLines = d.Figures.Lines(ctx, p)
	}()
	all, _, err := d.Registry.List(ctx, p, "", mostTeams)
	<-reading
	switch {
	case err != nil:
		return nil, told(err)
	case errLines != nil:
		return nil, errLines
	}
	for i := range all {
		list = append(list, pages.TeamLine{Team: teamOf(&all[i]), TeamUse: lines[all[i].ID]})
	}
	return list, nil
}

// Team implements [pages.Teams].
func (d teamDesk) Team(ctx context.Context, p access.Person, id string) (pages.Team, error) {
	t, err := d.Registry.Show(ctx, p, id)
	if err != nil {
		return pages.Team{}, told(err)
	}
	return teamOf(&t), nil
}

// Create implements [pages.Teams].
func (d teamDesk) Create(ctx context.Context, a pages.Actor, id string, fields pages.Fields) error {
	_, err := d.Registry.Create(ctx, registry.Actor(a), registry.Draft{ID: id, Members: fields})
	return told(err)
}

// Change implements [pages.Teams].
func (d teamDesk) Change(ctx context.Context, a pages.Actor, id, version string, fields pages.Fields) error {
	_, err := d.Registry.Replace(ctx, registry.Actor(a), registry.Draft{ID: id, Members: fields}, version)
	return told(err)
}

// Remove implements [pages.Teams]. The version is that of a team that was disabled, so that this does not disable it.
func (d teamDesk) Remove(ctx context.Context, a pages.Actor, id, version string) error {
	if version == "" {
		version = `""` // of no team
	}
	_, err := d.Registry.Delete(ctx, registry.Actor(a), id, version)
	return told(err)
}

// Adjust implements [pages.Teams].
func (d teamDesk) Adjust(ctx context.Context, a pages.Actor, id string, by pages.Adjustment) error {
	_, err := d.Registry.Adjust(ctx, registry.Actor(a), id, registry.Correction{Unit: teams.Unit(by.Unit), Delta: by.Delta})
	return told(err)
}

// teamOf is a team as its page shows it. The registry has read its members: those of another kind are absent here.
func teamOf(t *registry.Team) pages.Team {
	out := pages.Team{ID: t.ID, Owner: t.Owner, Disabled: t.Disabled(), Removing: t.Removing()}
	for name, into := range map[string]any{
		"description": &out.Description, "shadow": &out.Shadow, "self_service": &out.SelfService,
		"models": &out.Models, "endpoints": &out.Endpoints, "members": &out.Members,
	} {
		if text := t.Members[name]; text != nil {
			_ = json.Unmarshal(text, into)
		}
	}
	for i := range t.Keys {
		k := &t.Keys[i]
		out.Keys = append(out.Keys, pages.Key{ID: k.ID, Note: k.Note, Owner: k.Owner, Disabled: k.Disabled, Expires: orZero(k.Expires), LastUsed: orZero(k.LastUsed)})
	}
	if t.Owner == teams.OwnerDirectory {
		out.Version, out.Fields = t.ETag, t.Members
	}
	return out
}
