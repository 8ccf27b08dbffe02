package teams_test

import (
	"context"
	"errors"
	"testing"

	"sluice/policy/teams"
)

// deaf is a store whose replies to writes are lost. The methods that it lacks are not called.
type deaf struct {
	teams.Store
	teams.State
	reached bool // the writes reach it nevertheless
	writes  int
}

var errDeaf = errors.New("the answer was lost")

func (d *deaf) Pause(context.Context, int) error          { return nil }
func (d *deaf) Head(context.Context) (string, error)      { return d.State.Head(), nil }
func (d *deaf) Read(context.Context) (teams.State, error) { return d.State, nil }
func (d *deaf) Write(_ context.Context, _, next teams.State) error {
	d.writes++
	if d.reached {
		d.State = next
	}
	return errDeaf
}

// TestALostAnswerIsNoFailure: a change that was made succeeds, or its caller would repeat it. A change that was not made fails.
func TestALostAnswerIsNoFailure(t *testing.T) {
	for _, reached := range []bool{true, false} {
		store := &deaf{reached: reached}
		d, err := teams.Commit(t.Context(), store, order, func(teams.Document) (teams.Change, error) {
			return teams.CreateTeam{Team: spec("search")}, nil
		})
		if reached && (err != nil || d.Version != 1 || len(d.Teams) != 1) || !reached && !errors.Is(err, errDeaf) || store.writes != 1 {
			t.Errorf("reached the store: %v; %+v, %v after %d writes", reached, d, err, store.writes)
		}
		if err := teams.Note(t.Context(), store, order, teams.Entry{What: "usage.adjust"}); (err == nil) != reached {
			t.Errorf("reached the store: %v; a note: %v", reached, err)
		}
	}
}

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

func TestATeamGoesWhenAllAreThroughWithIt(t *testing.T) {
	through := func(replica string, version int64) teams.Report {
		return teams.Report{Replica: replica, Version: version, Through: []string{"maps"}}
	}
	for _, tt := range []struct {
		about   string
		reports []teams.Report
		want    bool
	}{
		{"nobody has said anything", nil, false},
		{"the only one is through", []teams.Report{through("a", 5)}, true},
		{"both are", []teams.Report{through("a", 5), through("b", 6)}, true},
		{"one has an older version in force", []teams.Report{through("a", 5), through("b", 4)}, false},
		{"something is open at one", []teams.Report{through("a", 5), {Replica: "b", Version: 5, Through: []string{"ads"}}}, false},
	} {
		if got := teams.Removable(tt.reports, 5, "maps"); got != tt.want {
			t.Errorf("%s: %v", tt.about, got)
		}
	}
}
