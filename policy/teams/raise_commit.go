package teams

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"sluice/policy/strictyaml"
)

// RaiseChange is one change of the raises: one that is made, or one that ends early.
type RaiseChange interface {
	// apply returns the raises in force after the change.
	apply(inForce []Raise) ([]Raise, Entry, error)
}

// AddRaise makes a raise.
type AddRaise struct{ Raise Raise }

// ErrMade is the error of a raise that was made already, with this id.
var ErrMade = errors.New("the raise was made already")

// maxRaises is how many raises a team may have at a time.
const maxRaises = 100

func (c AddRaise) apply(list []Raise) ([]Raise, Entry, error) {
	own := without(list, func(r Raise) bool { return r.Team != c.Raise.Team })
	if slices.ContainsFunc(own, func(r Raise) bool { return r.ID == c.Raise.ID }) {
		return nil, Entry{}, ErrMade
	}
	if len(own) >= maxRaises {
		return nil, Entry{}, &Problem{
			Code: CodeConflict, Text: "the team has 100 raises at the moment, the most that it may have",
			Advice: "end one of them",
		}
	}
	return append(slices.Clone(list), c.Raise), Entry{What: "raise.add", Team: c.Raise.Team, After: strictyaml.Encode(c.Raise)}, nil
}

// EndRaise ends a raise before its time.
type EndRaise struct{ Team, ID string }

func (c EndRaise) apply(list []Raise) ([]Raise, Entry, error) {
	at := slices.IndexFunc(list, func(r Raise) bool { return r.Team == c.Team && r.ID == c.ID })
	if at < 0 {
		return nil, Entry{}, &Problem{
			Code: CodeMissing, Field: "raise", Text: "the team has no such raise at the moment",
			Advice: "look at the team's raises",
		}
	}
	ended := list[at]
	return slices.Delete(slices.Clone(list), at, at+1), Entry{What: "raise.end", Team: ended.Team, Before: strictyaml.Encode(ended)}, nil
}

// CommitRaise changes the raises that the store has and writes them with their entry, as [Commit] does with the
// directory, whose version stays. It drops raises that have ended.
func CommitRaise(ctx context.Context, store Store, order Order, change RaiseChange) error {
	return commit(ctx, store, order, func(was State) (State, error) {
		if err := was.Check(); err != nil {
			return was, err
		}
		all, err := ReadRaises(was.Raises)
		if err != nil {
			return was, err
		}
		list, entry, err := change.apply(InForce(all, order.Now))
		if err != nil {
			return was, err
		}
		return was.withRaises(list, &entry).next(was.Document, was.last().Version, entry, order)
	})
}

// withRaises is the state with other raises. It sets their digest in the entry of the change.
func (s State) withRaises(list []Raise, entry *Entry) State {
	slices.SortFunc(list, func(a, b Raise) int { // by team, and the one that ends first in front
		return cmp.Or(cmp.Compare(a.Team, b.Team), a.Until.Compare(b.Until), cmp.Compare(a.ID, b.ID))
	})
	if s.Raises = []byte("[]"); len(list) > 0 {
		s.Raises = strictyaml.Encode(list)
	}
	entry.Raises = hexOf(s.Raises)
	return s
}

// withoutTeams is the state without the raises of teams that a change removes from the directory: another team may get the name.
func (s State) withoutTeams(before, after Document, entry *Entry) State {
	all, err := ReadRaises(s.Raises)
	gone := func(r Raise) bool {
		_, was := before.Team(r.Team)
		_, is := after.Team(r.Team)
		return was && !is
	}
	if err != nil || !slices.ContainsFunc(all, gone) {
		return s
	}
	return s.withRaises(without(all, gone), entry)
}
