package console

import (
	"cmp"
	"context"
	"io"
	"math"
	"slices"
	"time"

	"sluice/gateway/console/access"
	"sluice/policy/account"
	"sluice/policy/limit"
	"sluice/policy/teams"
)

// Balances keep the teams' usage and limits.
type Balances interface {
	// Adjust corrects what a team used. It MUST be idempotent by its ID.
	Adjust(ctx context.Context, c limit.Correction) (limit.Adjustment, error)
	// Rows reads the ledger.
	Rows(ctx context.Context, q limit.Query) ([]limit.Row, error)
}

// Tasks cancels tasks at the service.
type Tasks interface {
	// Has reports whether a task is a team's.
	Has(ctx context.Context, team, task string) (bool, error)
	// Cancel cancels a team's task. A nil error means that the service accepted it; a [*teams.Problem] is for the person.
	Cancel(ctx context.Context, team, task string) error
}

// RegistryDeps are the registry's dependencies. Tasks may be nil: then no task is known.
type RegistryDeps struct {
	Directory teams.Store
	File      func() *teams.File // the teams in force, or only the teams file
	Balances  Balances
	Tasks     Tasks
	Standings func() []account.Standing // of the accounts at the service; nil: only those in the ledger are known
	Now       func() time.Time
	Random    io.Reader // a cryptographic source, for keys
	// InForce returns the directory in force in this process. A store with an older one has lost it, and is soon overwritten, together
	// with any change made meanwhile. Nil: not known.
	InForce func() teams.State
	// PaceReached and AuditReached are called when [ChangesBound] and [AuditBound] refuse a change. Nil: not called.
	PaceReached, AuditReached func()
}

// Registry shows and changes teams, keys and the audit for a [access.Person]. The teams of the teams file and of the directory are one
// list. The API and the pages use it. It decides who may do what; package teams decides what a change does. For a member, other teams do
// not exist. Every error is a [*teams.Problem]. It is safe for concurrent use.
type Registry struct {
	RegistryDeps
	Raises Raises
	kept   kept
	pace   pace

	corrected corrections
}

// NewRegistry returns the registry.
func NewRegistry(deps RegistryDeps) *Registry {
	r := &Registry{RegistryDeps: deps}
	r.Raises = Raises{r}
	r.kept = kept{deps: &r.RegistryDeps, turn: make(chan struct{}, 1)}
	return r
}

var (
	errNoTeam = &teams.Problem{Code: teams.CodeMissing, Field: "id", Text: "there is no such team", Advice: "look at the list of teams"}
	// errNoTeamOfQuery is errNoTeam for a team in a query.
	errNoTeamOfQuery = &teams.Problem{Code: teams.CodeMissing, Field: "team", Text: errNoTeam.Text, Advice: errNoTeam.Advice}

	errNoTask = &teams.Problem{Code: teams.CodeMissing, Field: "task", Text: "the team has no such task", Advice: "look at the team's tasks"}
	errMayNot = &teams.Problem{Code: teams.CodeForbidden, Text: "you may look at this, but not change it", Advice: "ask an operator"}
	errNotAll = &teams.Problem{Code: teams.CodeForbidden, Text: "this is about all teams", Advice: "look at your own team, or ask an operator"}
	errOfFile = &teams.Problem{
		Code: teams.CodeConflict, Field: "owner", Text: "the team is in the teams file", Given: "file", Allowed: "directory",
		Advice: "change it in the file",
	}
)

// find returns a team that the person may see.
func (r *Registry) find(d teams.Document, p access.Person, id string) (teams.Spec, error) {
	if !p.Sees(id) {
		return teams.Spec{}, errNoTeam
	}
	team, ok := teams.Both{File: r.File(), Directory: d}.Team(id)
	if !ok {
		return team, errNoTeam
	}
	return team, nil
}

// changeable refuses a change that the person may not make, or of a team in the teams file.
func changeable(team teams.Spec, may bool) error {
	switch {
	case !may:
		return errMayNot
	case team.Owner == teams.OwnerFile:
		return errOfFile
	}
	return nil
}

// Page returns up to most teams that the person may see, in the order of ids, after an id; more reports whether more follow.
func (r *Registry) Page(ctx context.Context, p access.Person, after string, most int) (list []teams.Spec, more bool, err error) {
	d, used, err := r.kept.openUsed(ctx)
	if err != nil {
		return nil, false, err
	}
	list, more = page(teams.Both{File: r.File(), Directory: d}, p, after, most)
	for i := range list {
		list[i].Used = used
	}
	return list, more, nil
}

// Known returns the teams that the person may see, as in force in this process. It does not ask the store, which may be away.
func (r *Registry) Known(p access.Person) []teams.Spec {
	var d teams.Document
	if r.InForce != nil {
		d, _ = r.InForce().Open() // a directory in force can be read
	}
	list, _ := page(teams.Both{File: r.File(), Directory: d}, p, "", math.MaxInt)
	return list
}

// page returns a page of the teams of both owners that a person may see.
func page(both teams.Both, p access.Person, after string, most int) (list []teams.Spec, more bool) {
	ids := slices.DeleteFunc(both.IDs(), func(id string) bool { return cmp.Compare(id, after) <= 0 || !p.Sees(id) })
	for _, id := range ids[:min(len(ids), most)] {
		if team, ok := both.Team(id); ok {
			list = append(list, team)
		}
	}
	return list, len(ids) > most
}

// Show returns one team.
func (r *Registry) Show(ctx context.Context, p access.Person, id string) (teams.Spec, error) {
	d, used, err := r.kept.openUsed(ctx)
	if err != nil {
		return teams.Spec{}, err
	}
	team, err := r.find(d, p, id)
	team.Used = used
	return team, err
}

// Create makes a team of the directory, without keys.
func (r *Registry) Create(ctx context.Context, a access.Actor, team teams.Spec) (teams.Spec, error) {
	if !a.Changes() {
		return teams.Spec{}, errMayNot
	}
	if _, ok := r.File().Spec(team.ID); ok {
		return teams.Spec{}, errOfFile
	}
	return r.change(ctx, a, team.ID, func(teams.Document) (teams.Change, error) { return teams.CreateTeam{Team: team}, nil })
}

// Replace replaces every member of a team of the directory but its id and keys. ifMatch is as in [teams.ReplaceTeam].
func (r *Registry) Replace(ctx context.Context, a access.Actor, team teams.Spec, ifMatch string) (teams.Spec, error) {
	return r.change(ctx, a, team.ID, func(d teams.Document) (teams.Change, error) {
		was, err := r.find(d, a.Person, team.ID)
		return teams.ReplaceTeam{Team: team, IfMatch: ifMatch, Now: r.Now()}, cmp.Or(err, changeable(was, a.Changes()))
	})
}

// Delete disables a team of the directory, so that its keys end immediately, and marks it for removal: the replicas remove it
// once it has no open work and all have seen the mark. ifMatch is as in [teams.ReplaceTeam].
func (r *Registry) Delete(ctx context.Context, a access.Actor, id, ifMatch string) (teams.Spec, error) {
	return r.change(ctx, a, id, func(d teams.Document) (teams.Change, error) {
		was, err := r.find(d, a.Person, id)
		return teams.EndTeam{ID: id, IfMatch: ifMatch, Now: r.Now()}, cmp.Or(err, changeable(was, a.Changes()))
	})
}

// Mint makes a key of a team of the directory. ifMatch is as in [teams.ReplaceTeam].
func (r *Registry) Mint(ctx context.Context, a access.Actor, team, ifMatch string, order teams.KeyOrder) (teams.NewKey, error) {
	minted, err := teams.MintKey(r.Random)
	if err != nil {
		return teams.NewKey{}, teams.Away("no key can be made at the moment", err)
	}
	now, days := r.Now(), r.File().Defaults().KeyDays
	t, err := r.changeKeys(ctx, a, team, teams.AddKey{Team: team, IfMatch: ifMatch, Minted: minted, Order: order, Now: now, DefaultDays: days})
	made := teams.NewKey{ID: minted.ID, Key: minted.Reveal()}
	for i := range t.Keys {
		switch k := &t.Keys[i]; {
		case k.ID == minted.ID && !k.Expires.IsZero():
			made.Expires = &k.Expires
		case k.ID == order.Replaces:
			made.OldEnds = k.Expires
		}
	}
	if err != nil {
		return teams.NewKey{}, err
	}
	return made, nil
}

// EndKey removes a key of a team of the directory.
func (r *Registry) EndKey(ctx context.Context, a access.Actor, team, key string) error {
	_, err := r.changeKeys(ctx, a, team, teams.RemoveKey{Team: team, Key: key})
	return err
}

// ChangeKey sets members of a key of a team of the directory. members and ifMatch are as in [teams.ChangeKey].
func (r *Registry) ChangeKey(ctx context.Context, a access.Actor, team, key string, members []byte, ifMatch string) (teams.Spec, error) {
	return r.changeKeys(ctx, a, team, teams.ChangeKey{Team: team, Key: key, IfMatch: ifMatch, Members: members})
}

// changeKeys changes the keys of a team, if the person may.
func (r *Registry) changeKeys(ctx context.Context, a access.Actor, id string, change teams.Change) (teams.Spec, error) {
	counted := false
	return r.change(ctx, a, id, func(d teams.Document) (teams.Change, error) {
		was, err := r.find(d, a.Person, id)
		if err == nil {
			err = changeable(was, a.MakesKeys(id, was.Flag("self_service")))
		}
		if err == nil && !counted {
			err, counted = r.paced(a, id, costKeys), true
		}
		return change, err
	})
}

// change changes the directory and returns the team after that.
func (r *Registry) change(ctx context.Context, a access.Actor, id string, decide teams.Decide) (teams.Spec, error) {
	d, err := r.kept.commit(ctx, orderOf(r, a), decide)
	if err != nil {
		return teams.Spec{}, err
	}
	team, _ := d.Team(id)
	if team.Used, err = r.Directory.Used(ctx); err != nil {
		team.Used = nil // not an error: the change was made
	}
	return team, nil
}

// orderOf returns the order of a change by an actor.
func orderOf(r *Registry, a access.Actor) teams.Order {
	o := teams.Order{Who: a.Name, Address: a.Address, Reason: a.Reason, Now: r.Now(), Money: r.File().Money}
	if !a.Changes() {
		o.Most = auditMost
	}
	return o
}
