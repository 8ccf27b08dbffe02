package teams

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"sluice/policy/strictyaml"
	"sluice/policy/unit"
)

// Raise adds to a quota of a team for a while: from when it is made until a moment of the quota's period, or the period's end. The
// team may be of any owner. The ledger does not change.
type Raise struct {
	ID     string // 12 of a–z and 0–9
	Team   string
	Unit   unit.Name
	Period Period
	Amount int64     // above 0; money counts in Money
	From   time.Time // when it was made
	Until  time.Time // the first moment at which it no longer counts
	Known  time.Time // of a raise that was ended: until when it is known that it was made; zero: until Until
	Reason string    // 1 to MaxProse characters in one line
	Money  unit.Money
}

// raiseText is a raise in JSON: in the store, in the API and in entries of the audit.
type raiseText struct {
	ID     string      `json:"id"`
	Team   string      `json:"team"`
	Unit   unit.Name   `json:"unit"`
	Period Period      `json:"period"`
	Amount json.Number `json:"amount"` // spend is in the currency
	From   time.Time   `json:"from"`
	Until  time.Time   `json:"until"`
	Known  time.Time   `json:"known,omitzero"`
	Reason string      `json:"reason"`
	Money  unit.Money  `json:"currency_digits,omitzero"` // of spend; absent: 9
}

// MarshalJSON writes it.
func (r Raise) MarshalJSON() ([]byte, error) {
	amount := json.Number(r.Money.Written(r.Unit, r.Amount))
	text := raiseText{r.ID, r.Team, r.Unit, r.Period, amount, r.From.UTC(), r.Until.UTC(), r.Known, r.Reason, r.Money}
	if r.Unit != unit.NameSpend {
		text.Money = unit.Nanos
	}
	return strictyaml.Encode(text), nil
}

// UnmarshalJSON reads what MarshalJSON writes. It ignores members that it does not know: a later version may write more.
func (r *Raise) UnmarshalJSON(text []byte) error {
	var t raiseText
	if err := json.Unmarshal(text, &t); err != nil {
		return err
	}
	amount, ok := t.Money.Read(t.Unit, t.Amount.String())
	if !ok {
		return fmt.Errorf("a raise of %q %s cannot be read", t.Amount, t.Unit)
	}
	*r = Raise{t.ID, t.Team, t.Unit, t.Period, amount, t.From, t.Until, t.Known, t.Reason, t.Money}
	return nil
}

// Of reports whether the raise is of this quota.
func (r *Raise) Of(of unit.Name, period Period) bool { return r.Unit == of && r.Period == period }

// RaiseOrder describes a raise to be made.
type RaiseOrder struct {
	Unit   unit.Name
	Period Period
	Amount string     // as it is written; spend is in the currency
	Until  *time.Time // nil: the end of the running period
	Reason string
	Once   string // of the form that orders it: what is sent twice, with one end, is one raise; empty: each is one
}

// Raise returns the raise, with an id, that the order makes of a quota of a team, or a [Problem] with [CodeUnfit] that
// says why it makes none.
func (o RaiseOrder) Raise(id string, team *Team, now time.Time) (Raise, error) {
	r := Raise{
		ID: id, Team: team.ID, Money: team.Money, Unit: o.Unit, Period: o.Period, From: now.UTC().Truncate(time.Millisecond),
		Reason: strings.TrimSpace(o.Reason),
	}
	ends, ok := endOfPeriod(o.Period, now)
	if !ok {
		return r, notAllowed(CodeUnfit, "period", strictyaml.Shown(string(o.Period)), strictyaml.AnyOf(Periods[:]), "")
	}
	if unit.Index(o.Unit) < 0 {
		return r, notAllowed(CodeUnfit, "unit", strictyaml.Shown(string(o.Unit)), strictyaml.AnyOf(unit.Names[:]), "")
	}
	at := slices.IndexFunc(team.Quotas, func(q Quota) bool { return q.Unit == o.Unit && q.Period == o.Period })
	if at < 0 {
		return r, notAllowed(CodeUnfit, "unit", string(o.Unit)+" a "+string(o.Period), quotasOf(team),
			"only a quota that the team has can be raised")
	}
	if err := r.count(o.Amount, team.Quotas[at].Limit); err != nil {
		return r, err
	}
	if r.Until = ends; o.Until != nil {
		r.Until = o.Until.UTC()
	}
	if !r.Until.After(now) || r.Until.After(ends) {
		given, from, to := r.Until.Format(time.RFC3339), now.UTC().Format(time.RFC3339), ends.Format(time.RFC3339)
		return r, notAllowed(CodeUnfit, "until", given, "after "+from+", at most "+to+", the end of the "+string(o.Period), "")
	}
	if r.Reason == "" || !IsProse(r.Reason) {
		given := fmt.Sprintf("%d characters", utf8.RuneCountInString(r.Reason))
		return r, notAllowed(CodeUnfit, "reason", given, fmt.Sprintf("1 to %d in one line", MaxProse), "say why, for the audit")
	}
	return r, nil
}

// count reads the amount, which is added to a limit.
func (r *Raise) count(text string, limit int64) (err error) {
	amount, ok := r.Money.Read(r.Unit, text)
	most := r.Money.Written(r.Unit, unit.Most-limit)
	allowed := "a whole number above 0, at most " + most
	if r.Unit == unit.NameSpend {
		allowed = fmt.Sprintf("an amount above 0 with at most %d decimals, at most %s", r.Money.Digits(), most)
	}
	if r.Amount = amount; !ok || amount <= 0 || amount > unit.Most-limit {
		err = notAllowed(CodeUnfit, "amount", strictyaml.Shown(text), allowed, "")
	}
	return err
}

// quotasOf lists the quotas of a team in words.
func quotasOf(team *Team) string {
	names := make([]string, len(team.Quotas))
	for i, q := range team.Quotas {
		names[i] = string(q.Unit) + " a " + string(q.Period)
	}
	if len(names) == 0 {
		return "none, because the team has no quota"
	}
	return strictyaml.AnyOf(names)
}

// endOfPeriod is the end of the period that runs at a moment.
func endOfPeriod(p Period, now time.Time) (time.Time, bool) {
	year, month, day := now.UTC().Date()
	switch p {
	case PeriodDay:
		return time.Date(year, month, day+1, 0, 0, 0, 0, time.UTC), true
	case PeriodMonth:
		return time.Date(year, month+1, 1, 0, 0, 0, 0, time.UTC), true
	}
	return time.Time{}, false
}

// ReadRaises reads the raises of a [State], which may include ended ones.
func ReadRaises(text []byte) (list []Raise, err error) {
	if text == nil {
		return nil, nil
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("the raises cannot be read: %w", err)
	}
	return list, nil
}

// InForce are the raises that count at a moment, the first to end first.
func InForce(all []Raise, now time.Time) []Raise {
	list := without(all, func(r Raise) bool { return !now.Before(r.Until) })
	slices.SortStableFunc(list, func(a, b Raise) int { return a.Until.Compare(b.Until) })
	return list
}

// Raised returns the teams with the raises that are in force at a moment, and when the first of them ends; the zero
// time: none is in force. A raise of a quota that its team does not have has no effect. The file itself does not
// change.
func (f *File) Raised(all []Raise, now time.Time) (raised *File, next time.Time) {
	list := InForce(all, now)
	if len(list) == 0 {
		return f, time.Time{}
	}
	changed := *f
	changed.List = slices.Clone(f.List)
	for i, team := range changed.List {
		changed.List[i] = team.raised(list)
	}
	changed.index()
	return &changed, list[0].Until
}

// raised is the team with those of the raises that are its own.
func (t *Team) raised(list []Raise) *Team {
	more := *t
	for _, r := range list {
		at := slices.IndexFunc(t.Quotas, func(q Quota) bool { return r.Team == t.ID && r.Of(q.Unit, q.Period) })
		if at < 0 {
			continue
		}
		if more.Base == nil {
			more.Base, more.Quotas = t.Quotas, slices.Clone(t.Quotas)
		}
		if r.Unit == unit.NameSpend { // it may have been made before currency_digits was set
			r.Money, r.Amount = t.Money, t.Money.In(r.Money, r.Amount)
		}
		more.Raises = append(more.Raises, r)
		more.Quotas[at].Limit = min(more.Quotas[at].Limit+r.Amount, unit.Most)
	}
	if more.Base == nil {
		return t
	}
	return &more
}

// Unraised is the team as it is without its raises.
func (t *Team) Unraised() *Team {
	if t.Base == nil {
		return t
	}
	less := *t
	less.Quotas, less.Base, less.Raises = t.Base, nil, nil
	return &less
}

// RaisesOf are the raises of one quota, and its limit without them.
func (t *Team) RaisesOf(of unit.Name, period Period) (list []Raise, base int64) {
	for _, q := range t.Unraised().Quotas {
		if q.Unit == of && q.Period == period {
			base = q.Limit
		}
	}
	return without(t.Raises, func(r Raise) bool { return !r.Of(of, period) }), base
}
