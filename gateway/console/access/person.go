// Package access decides who uses the console and what they may do there: tokens, keys, one-time links, sign-on with an issuer,
// sessions, and how often a login may fail. Pages, cookies and the listener are in gateway/console.
package access

import (
	"context"
	"slices"
)

// Role is what a person may do.
type Role uint8

// The roles. The zero Role may do nothing.
const (
	Member   Role = iota + 1 // sees the own teams, and makes keys where the team allows it
	Viewer                   // sees everything
	Operator                 // sees and changes everything
)

// String returns the role's word.
func (r Role) String() string {
	switch r {
	case Member:
		return "member"
	case Viewer:
		return "viewer"
	case Operator:
		return "operator"
	}
	return "nobody"
}

// Person is who uses the console. The zero Person may do nothing.
type Person struct {
	Name  string // for the audit, such as "oidc:alice@example.com"; never a secret
	Role  Role
	Teams []string // of a member, by id; of the others nil
}

// Sees reports whether the person may look at a team, given by its id.
func (p Person) Sees(team string) bool {
	return p.SeesAll() || p.Role == Member && slices.Contains(p.Teams, team)
}

// SeesAll reports whether the person may look at every team, the audit and the settings.
func (p Person) SeesAll() bool { return p.Role == Viewer || p.Role == Operator }

// Changes reports whether the person may change teams.
func (p Person) Changes() bool { return p.Role == Operator }

// MakesKeys reports whether the person may make and end keys of a team. selfService is the team's setting.
func (p Person) MakesKeys(team string, selfService bool) bool {
	return p.Changes() || selfService && p.Role == Member && p.Sees(team)
}

type personKey struct{}

// With returns a context that carries the person of a request.
func With(ctx context.Context, p Person) context.Context {
	return context.WithValue(ctx, personKey{}, p)
}

// From returns the person of a request; the zero Person if there is none.
func From(ctx context.Context) Person {
	p, _ := ctx.Value(personKey{}).(Person)
	return p
}
