// Package placement finds the account at the service on which a request is held: one that may be asked, and has room.
//
// Package account chooses, and package limit says whether there is room; a [Search] goes from one account to the next, and says in the end
// why each of them refuses. It does no I/O itself, and knows no HTTP.
//
// It promises that an account without room, too small for the request for ever, or of unknown room is skipped while another may have
// room; that a request is told to wait no longer than until an account of unknown room is asked again; and that a request is counted with
// the account on which it is held, and with no other, whatever becomes of the search.
package placement

import (
	"maps"
	"slices"
	"time"

	"sluice/gateway/accounts"
	"sluice/gateway/turn"
	"sluice/policy/account"
	"sluice/policy/limit"
)

// unknownWait is how long until an account whose room was unknown is asked again.
const unknownWait = time.Second

// Search is the search of one request. Begin it with [New], and end it with End.
//
//	for on := search.Next(); on != nil; on = search.Next() {
//		hold := …
//		search.Note(hold, admit(hold))
//	}
type Search struct {
	snapshot *accounts.Snapshot
	want     account.Want
	attempt  accounts.Attempt
	placed   bool

	last        outcome
	full, never outcome // full: of the account that has room soonest; never: of one that never has enough
	err         error   // why the room of an account is unknown
	choice      account.Choice
	refused     []turn.Refusal
}

// outcome is a verdict and its hold. In the zero value the verdict is nil.
type outcome struct {
	verdict *limit.Verdict
	hold    *limit.Hold
}

// New begins a search among the accounts of a snapshot that are not awaited.
func New(snapshot *accounts.Snapshot, want account.Want, awaited turn.Awaited) Search {
	want.Spent = maps.Clone(map[string]time.Duration(awaited))
	return Search{snapshot: snapshot, want: want}
}

// Next chooses an account, for which the caller MUST call Record; nil: the search is over.
func (s *Search) Next() *accounts.Attempt {
	if s.last.verdict != nil {
		return nil
	}
	attempt, choice := s.snapshot.Choose(s.want)
	if attempt.Account == nil {
		if s.choice = choice; choice.Refusal == account.AllOut && s.never.verdict != nil { // that one is not out
			s.choice.Refusal = account.Busy
		}
		return nil
	}
	s.attempt = attempt
	return &s.attempt
}

// Note takes the outcome of a hold on the chosen account.
func (s *Search) Note(h *limit.Hold, v *limit.Verdict, err error) {
	id, got := s.attempt.ID, outcome{v, h}
	if err == nil && v.Held != nil {
		s.placed, s.last = true, got
		return
	}
	if err == nil && v.Fault.Scope != limit.ScopeAccount {
		s.attempt.Drop()
		s.last = got
		if r := turn.RefusalOf(v, h); r != nil {
			s.refused = []turn.Refusal{*r}
		}
		return
	}
	s.attempt.NoRoom()
	if err != nil {
		s.err = err
		s.spend(id, unknownWait)
		s.refused = append(s.refused, turn.Refusal{Resource: turn.Account(id, h.Model), Way: id, Wait: unknownWait, Closed: true})
		return
	}
	s.refused = append(s.refused, turn.RefusalBy(v, h, id))
	if v.Reason == limit.ReasonNever {
		s.want.Tried, s.never = append(s.want.Tried, id), got
		return
	}
	s.spend(id, max(v.Wait, time.Millisecond))
	if s.full.verdict == nil || v.Wait < s.full.verdict.Wait {
		s.full = got
	}
}

// spend notes that an account is not asked again for a while.
func (s *Search) spend(id string, wait time.Duration) {
	if s.want.Spent == nil {
		s.want.Spent = map[string]time.Duration{}
	}
	s.want.Spent[id] = wait
}

// End ends the search. If no hold was placed, also after a panic, the request is counted with no account.
func (s *Search) End() {
	if !s.placed {
		s.attempt.Drop()
	}
}

// Attempt returns the attempt with the account that was chosen last; without an Account none was. If the hold was placed, the attempt is
// counted until the caller ends it.
func (s *Search) Attempt() accounts.Attempt { return s.attempt }

// Verdict returns the result of the search and the hold that it is about. Without a verdict there is an error, because the room of an
// account is unknown and no other may be asked before that one, or Choice says why no account can be asked.
func (s *Search) Verdict() (*limit.Verdict, *limit.Hold, error) {
	got := s.last
	switch {
	case got.verdict != nil:
	case s.choice.Refusal == account.Exhausted && s.err == nil && s.never.verdict != nil:
		got = s.never
	case s.full.verdict != nil && s.full.verdict.Wait <= s.choice.Wait:
		got = s.full
	case s.err != nil && s.choice.Wait >= unknownWait: // no account is known to be asked sooner
		return nil, nil, s.err
	}
	return got.verdict, got.hold, nil
}

// Choice says why no account can be asked.
func (s *Search) Choice() *account.Choice { return &s.choice }

// Refused lists what the request may wait for: the team's limit if that refused, else one refusal for each account that is not awaited.
func (s *Search) Refused() []turn.Refusal {
	if s.last.verdict != nil {
		return s.refused
	}
	for _, away := range s.snapshot.Away(s.want) {
		known := slices.ContainsFunc(s.refused, func(r turn.Refusal) bool { return r.Way == away.ID })
		if _, spent := s.want.Spent[away.ID]; !known && !spent {
			s.refused = append(s.refused, turn.Refusal{
				Resource: turn.Account(away.ID, s.want.Model), Way: away.ID, Wait: away.Wait,
				Closed: away.Out,
			})
		}
	}
	return s.refused
}
