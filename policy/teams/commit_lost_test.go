package teams_test

import (
	"testing"

	"sluice/policy/teams"
)

// A store has lost something if its document is older, or the same with an older end of its trail.
func TestLost(t *testing.T) {
	note := func(s teams.State) teams.State {
		next, err := s.Next(nil, teams.Entry{What: "usage.adjust", Team: "search"}, order)
		if err != nil {
			t.Fatal(err)
		}
		return next
	}
	none := teams.State{}
	noted := note(none)
	first := someTrail(t, 1).State
	second := someTrail(t, 2).State
	for _, tt := range []struct {
		about      string
		has, known teams.State
		want       bool
	}{
		{"nothing was ever known", first, none, false},
		{"the same", second, second, false},
		{"a newer document", second, first, false},
		{"an older document", first, second, true},
		{"no document", none, first, true},
		{"newer entries", note(first), first, false},
		{"older entries", first, note(first), true},
		{"no entries", none, noted, true},
		{"entries of another memory in place of the document", noted, first, true},
	} {
		if got := teams.Lost(tt.has, tt.known); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.about, got, tt.want)
		}
	}
}
