package access

import (
	"context"
	"crypto/sha256"
	"net"
	"slices"
	"strings"

	"sluice/gateway/oidc"
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

// Person is a user of the console. The zero Person may do nothing.
type Person struct {
	Name  string // for the audit, such as "oidc:alice@example.com"; never a secret
	Role  Role
	Teams []string // ids of a member's teams; nil for other roles
}

// Sees reports whether the person may look at the team with this id.
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

// Actor is a person who changes something, for the audit.
type Actor struct {
	Person
	Address string // of the client; one line
	Reason  string // given by the person; may be empty
}

// By returns the actor of a request from an address, with or without a port.
func (p Person) By(address, reason string) Actor {
	if host, _, err := net.SplitHostPort(address); err == nil {
		address = host
	}
	return Actor{p, address, reason}
}

type personKey struct{}

// With returns a context that carries the person of a request.
func With(ctx context.Context, p Person) context.Context {
	return context.WithValue(ctx, personKey{}, p)
}

// From returns the person of a request, or the zero Person.
func From(ctx context.Context) Person {
	p, _ := ctx.Value(personKey{}).(Person)
	return p
}

// Teams are the teams in force.
type Teams interface {
	// OfKey returns the team and the id of a presented key; ok only if the gateway accepts the key now.
	OfKey(presented string) (team, key string, ok bool)
	// Digest returns the SHA-256 of a team's key; ok as in OfKey.
	Digest(team, key string) (digest [sha256.Size]byte, ok bool)
	// OfMembers returns the ids of the teams that have one of the groups, or the address unless it is empty, among their members, in
	// order. [Names] defines what an entry of the members means.
	OfMembers(groups []string, email string) []string
}

// Groups are the issuer's groups, or verified e-mail addresses, that give a role for all teams. Teams name their own members.
type Groups struct{ Operators, Viewers []string }

// person returns the issuer's person with its rights; ok is false without any rights.
func (g Groups) person(id oidc.Identity, teams Teams) (p Person, ok bool) {
	overlap := func(listed []string) bool {
		return slices.ContainsFunc(listed, func(one string) bool { return Names(one, id.Groups, id.Email) })
	}
	p = Person{Name: string(ByIssuer) + ":" + nameFor(id)}
	switch {
	case overlap(g.Operators):
		p.Role = Operator
	case overlap(g.Viewers):
		p.Role = Viewer
	default:
		p.Role, p.Teams = Member, teams.OfMembers(id.Groups, id.Email)
	}
	return p, p.Role != Member || len(p.Teams) > 0
}

// nameFor returns the address of the issuer's person, or the subject. If it is shortened, or is a subject that looks like an address, a
// part of its hash is added, so that names are unique.
func nameFor(id oidc.Identity) string {
	name := id.Email
	if name == "" {
		name = id.Subject
	}
	short := shorten(name)
	if short != name || id.Email == "" && strings.Contains(name, "@") {
		short += "#" + nameOf(name)[:12]
	}
	return short
}

// Names reports whether an entry of a list of members is one of the groups, or the email address unless that is empty. An entry with an @
// is an address, compared ignoring case; all others are groups, compared exactly. A group with an @ in its name is listed as group:name,
// so that those who name groups cannot impersonate an address.
func Names(entry string, groups []string, email string) bool {
	if !strings.Contains(entry, "@") {
		return slices.Contains(groups, entry)
	}
	if group, said := strings.CutPrefix(entry, "group:"); said {
		return slices.Contains(groups, group)
	}
	return lower(email) == lower(entry)
}

// lower folds only the letters A to Z: folding others could merge two mailboxes.
func lower(address string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, address)
}

// shorten returns the first 120 printable ASCII characters of a text.
func shorten(text string) string {
	const most = 120
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, text)
	return text[:min(len(text), most)]
}
