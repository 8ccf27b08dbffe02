package teams_test

import (
	"context"
	"errors"
	"testing"

	"sluice/policy/teams"
)

// deaf is a store whose answers to writes are lost. The methods that it lacks are not called.
type deaf struct {
	teams.Store
	teams.State
	reached bool // the writes reach it all the same
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

// TestALostAnswerIsNoFailure of a change that was made: its caller would make it once more. One that was not made is a failure.
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
