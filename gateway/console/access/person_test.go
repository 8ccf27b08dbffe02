package access_test

import (
	"testing"

	"sluice/gateway/console/access"
)

func TestRights(t *testing.T) {
	// sees the own team, sees another, changes, makes keys, makes them where the team forbids it
	for role, want := range map[access.Role][5]bool{
		0:               {false, false, false, false, false},
		access.Member:   {true, false, false, true, false},
		access.Viewer:   {true, true, false, false, false},
		access.Operator: {true, true, true, true, true},
	} {
		p := access.Person{Name: "somebody", Role: role, Teams: []string{"maps"}}
		got := [5]bool{p.Sees("maps"), p.Sees("search"), p.Changes(), p.MakesKeys("maps", true), p.MakesKeys("maps", false)}
		if got != want {
			t.Errorf("role %d: %v, want %v", role, got, want)
		}
		if p.SeesAll() != want[1] || p.MakesKeys("search", true) != want[2] {
			t.Errorf("role %d has other rights at foreign teams", role)
		}
	}
}

func TestContextWithoutPerson(t *testing.T) {
	if p := access.From(t.Context()); p.Sees("maps") || p.Role != 0 {
		t.Errorf("%+v without a login", p)
	}
	if p := access.From(access.With(t.Context(), access.Person{Role: access.Viewer})); !p.SeesAll() {
		t.Errorf("%+v", p)
	}
}
