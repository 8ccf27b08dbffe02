package directory_test

import (
	"context"
	"errors"
	"testing"

	"sluice/policy/directory"
)

// deaf is a store whose answers to writes are lost. The methods that it lacks are not called.
type deaf struct {
	directory.Store
	directory.State
	reached bool // the writes reach it all the same
	writes  int
}

var errDeaf = errors.New("the answer was lost")

func (d *deaf) Pause(context.Context, int) error              { return nil }
func (d *deaf) Head(context.Context) (string, error)          { return d.State.Head(), nil }
func (d *deaf) Read(context.Context) (directory.State, error) { return d.State, nil }
func (d *deaf) Write(_ context.Context, _, next directory.State) error {
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
		d, err := directory.Commit(t.Context(), store, order, func(directory.Document) (directory.Change, error) {
			return directory.CreateTeam{Team: team("search")}, nil
		})
		if reached && (err != nil || d.Version != 1 || len(d.Teams) != 1) || !reached && !errors.Is(err, errDeaf) || store.writes != 1 {
			t.Errorf("reached the store: %v; %+v, %v after %d writes", reached, d, err, store.writes)
		}
		if err := directory.Note(t.Context(), store, order, directory.Entry{What: "usage.adjust"}); (err == nil) != reached {
			t.Errorf("reached the store: %v; a note: %v", reached, err)
		}
	}
}
