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
	// apply returns the known raises after the change.
	apply(known []Raise) ([]Raise, Entry, error)
}

// AddRaise makes a raise.
type AddRaise struct{ Raise Raise }

// ErrMade is the error of a raise that was made already, with this id.
var ErrMade = errors.New("the raise was made already")

// maxRaises is how many raises a team may have at a time, and how many ended ones are known.
const maxRaises = 100

func (c AddRaise) apply(list []Raise) ([]Raise, Entry, error) {
	own := without(list, func(r Raise) bool { return r.Team != c.Raise.Team })
	if slices.ContainsFunc(own, func(r Raise) bool { return r.ID == c.Raise.ID }) {
		return nil, Entry{}, ErrMade
	}
	if len(without(own, Raise.ended)) >= maxRaises {
		return nil, Entry{}, &Problem{
			Code: CodeConflict, Text: "the team has 100 raises at the moment, the most that it may have",
			Advice: "end one of them",
		}
	}
	return append(slices.Clone(list), c.Raise), Entry{What: "raise.add", Team: c.Raise.Team, After: strictyaml.Encode(c.Raise)}, nil
}

// EndRaise ends a raise before its time. Until then it is known: what ordered it must not make it again.
type EndRaise struct{ Team, ID string }

func (c EndRaise) apply(list []Raise) ([]Raise, Entry, error) {
	at := slices.IndexFunc(list, func(r Raise) bool { return r.Team == c.Team && r.ID == c.ID && !r.ended() })
	if at < 0 {
		return nil, Entry{}, &Problem{
			Code: CodeMissing, Field: "raise", Text: "the team has no such raise at the moment",
			Advice: "look at the team's raises",
		}
	}
	ended, all := list[at], slices.Clone(list)
	all[at].Until, all[at].Known = ended.From, ended.Until // a version that ignores Known must see that it does not count
	other := func(r Raise) bool { return r.Team != c.Team || !r.ended() }
	if known := without(all, other); len(known) > maxRaises {
		all = without(all, func(r Raise) bool { return !other(r) && r.ID == known[0].ID }) // the oldest
	}
	return all, Entry{What: "raise.end", Team: ended.Team, Before: strictyaml.Encode(ended)}, nil
}

// ended reports whether the raise was ended before its time.
func (r Raise) ended() bool { return !r.Known.IsZero() }

// CommitRaise changes the raises that the store has and writes them with their entry, as [Commit] does with the
// directory, whose version stays. It drops raises whose time is over.
func CommitRaise(ctx context.Context, store Store, order Order, change RaiseChange) error {
	return commit(ctx, store, order, func(was State) (State, error) {
		if err := was.Check(); err != nil {
			return was, err
		}
		all, err := ReadRaises(was.Raises)
		if err != nil {
			return was, err
		}
		over := func(r Raise) bool { return !order.Now.Before(r.Until) && !order.Now.Before(r.Known) }
		list, entry, err := change.apply(without(all, over))
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
