package access

import (
	"slices"
	"strings"
)

// Groups are the issuer's groups, or verified e-mail addresses, that give rights to more than teams. Teams name their own.
type Groups struct{ Operators, Viewers []string }

// person returns what somebody with these groups and this address may do; ok is false if that is nothing.
func (g Groups) person(name string, groups []string, email string, teams Teams) (p Person, ok bool) {
	overlap := func(listed []string) bool {
		return slices.ContainsFunc(listed, func(one string) bool { return Names(one, groups, email) })
	}
	p = Person{Name: name}
	switch {
	case overlap(g.Operators):
		p.Role = Operator
	case overlap(g.Viewers):
		p.Role = Viewer
	default:
		p.Role, p.Teams = Member, teams.OfMembers(groups, email)
	}
	return p, p.Role != Member || len(p.Teams) > 0
}

// Names reports whether an entry of a list of members is one of somebody's groups, or the address unless it is empty. An entry with an @
// is an address, compared without regard to case; all others are groups, letter for letter. Whoever names groups must not be able to
// make one that counts as somebody's address, so a group with an @ in its name is listed as group:name.
func Names(entry string, groups []string, email string) bool {
	if !strings.Contains(entry, "@") {
		return slices.Contains(groups, entry)
	}
	if group, said := strings.CutPrefix(entry, "group:"); said {
		return slices.Contains(groups, group)
	}
	return lower(email) == lower(entry)
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
