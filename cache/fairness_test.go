package cache_test

import (
	"fmt"
	"strings"
	"testing"
)

// putMany claims tasks for each team: "search 3 shop 2" is three and two.
func putMany(t *testing.T, a claims, teams string) {
	t.Helper()
	for in := strings.NewReader(teams); in.Len() > 0; {
		var team string
		var n int
		if _, err := fmt.Fscan(in, &team, &n); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			a.Put(t.Context(), aClaim(team, fmt.Sprint(team, i)))
		}
	}
}

func dueTeams(t *testing.T, a claims, most int, first ...string) (teams []string) {
	t.Helper()
	goes := map[string]bool{}
	for _, team := range first {
		goes[team] = true
	}
	list, err := a.Due(t.Context(), most, goes)
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		teams = append(teams, list[i].Team)
	}
	return teams
}

// A round alternates between all teams, however many tasks one of them has. Teams share the places that others leave, and
// the teams that go first stand first.
func TestDueIsFairOverTeams(t *testing.T) {
	forms(t, func(t *testing.T, replica func() claims) {
		a := replica()
		putMany(t, a, "bulk 30 search 3 shop 1")
		got := dueTeams(t, a, 12)
		if len(got) != 12 || count(got, "bulk") != 8 || count(got, "search") != 3 || count(got, "shop") != 1 {
			t.Errorf("in the first round are %v", got)
		}
		if head := got[:3]; count(head, "bulk") != 1 || count(head, "search") != 1 || count(head, "shop") != 1 {
			t.Errorf("not in turn: %v", got)
		}
		if got := dueTeams(t, a, 12); len(got) != 12 || count(got, "bulk") != 12 {
			t.Errorf("in the second round, with one team only, are %v", got)
		}
		putMany(t, a, "late 2 other 1")
		if got := strings.Join(dueTeams(t, a, 6, "late"), " "); !strings.HasPrefix(got, "late late ") || count(strings.Fields(got), "bulk") != 3 {
			t.Errorf("late goes first: %s", got)
		}
	})
}

// If there are more teams than places in a round, each team is served within as many rounds as that takes.
func TestDueTakesTurnsOverRounds(t *testing.T) {
	forms(t, func(t *testing.T, replica func() claims) {
		a := replica()
		putMany(t, a, "a 4 b 4 c 4 d 4 e 4")
		var all []string
		for range 5 {
			all = append(all, dueTeams(t, a, 2)...)
		}
		for _, team := range []string{"a", "b", "c", "d", "e"} {
			if n := count(all, team); n != 2 {
				t.Errorf("%s had %d turns of ten in %v, want 2", team, n, all)
			}
		}
	})
}

func count(list []string, word string) (n int) {
	for _, w := range list {
		if w == word {
			n++
		}
	}
	return n
}

// Teams that go first leave the others a third of a round, wherever it is cut and however many tasks they have.
func TestDueLeavesSomethingToTheOthers(t *testing.T) {
	forms(t, func(t *testing.T, replica func() claims) {
		a := replica()
		putMany(t, a, "bulk 30 other 30 search 30")
		got := dueTeams(t, a, 60, "bulk", "search")
		for _, end := range []int{3, 9, 15, 30} {
			if n := count(got[:end], "other"); n != end/3 {
				t.Errorf("%d of the first %d are of the team that does not go first", n, end)
			}
		}
		putMany(t, a, "a1 9 a2 9 a3 9 a4 9 z1 9")
		if got := dueTeams(t, a, 3, "a1", "a2", "a3", "a4", "bulk", "search"); count(got, "z1")+count(got, "other") != 1 {
			t.Errorf("more teams go first than a round has room for: %v", got)
		}
	})
}
