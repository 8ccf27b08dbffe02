package access

import (
	"slices"
	"strings"
)

// Groups are the issuer's groups, or verified e-mail addresses, that give rights to more than teams. Teams name their own.
type Groups struct{ Operators, Viewers []string }

// person returns what somebody with these groups and this address may do; ok is false if that is nothing.
func (g Groups) person(name string, groups []string, email string, teams Teams) (p Person, ok bool) {
	names := groups
	if email != "" {
		names = append(slices.Clone(groups), email)
	}
	p = Person{Name: name}
	switch {
	case overlap(g.Operators, names):
		p.Role = Operator
	case overlap(g.Viewers, names):
		p.Role = Viewer
	default:
		p.Role, p.Teams = Member, teams.OfMembers(names)
	}
	return p, p.Role != Member || len(p.Teams) > 0
}

func overlap(listed, names []string) bool {
	return slices.ContainsFunc(listed, func(one string) bool { return Names(one, names) })
}

// Names reports whether an entry of a list of members is one of somebody's groups and addresses. Groups are compared letter for
// letter, addresses without regard to case.
func Names(entry string, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return name == entry || strings.Contains(entry, "@") && lower(name) == lower(entry)
	})
}

// lower folds the letters A to Z alone: to fold others could make two mailboxes one.
func lower(address string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, address)
}
