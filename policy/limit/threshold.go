package limit

import (
	"context"
	"encoding/json"
	"strconv"

	"sluice/policy/event"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// Alerts returns at which per cent of the quotas of an account, by its id, and of those inside it a charge announces that they are
// passed, and to which targets; no targets: nothing is announced. of is the account in force; nil: unknown. whole: the charge also
// announces the account's own quotas. It is false while this process does not know the targets. A later look announces them then,
// because what a charge announces is remembered as announced.
type Alerts func(account string) (of *teams.Team, percent []int, to []event.Target, whole bool)

// For returns the thresholds that charges of one account may pass, and the targets of the announcement.
func (a Alerts) For(account string, charges ...*Charge) (list []Thresholds, to []event.Target) {
	if a == nil {
		return nil, nil
	}
	_, percent, to, whole := a(account)
	if len(percent) == 0 || to == nil {
		return nil, nil
	}
	seen := map[string]bool{}
	for _, c := range charges {
		for _, t := range thresholdsOf(c, percent) {
			if name := t.Name(0); !seen[name] && (whole || t.Inside()) {
				seen[name] = true
				list = append(list, t)
			}
		}
	}
	return list, to
}

// Thresholds are the per cent of one quota at which its use is announced.
type Thresholds struct {
	Scope   ScopeKind
	Of      string // the value of the tag, or the id of the key or of the account; empty: the team, or the house
	Quota   int    // its number: day or month of a unit
	Period  int    // yyyymmdd or yyyymm
	Limit   int64
	Money   unit.Money
	Percent []int
}

// ThresholdsOf returns the thresholds of an account's own quota, by its standing on a date.
func ThresholdsOf(account *teams.Team, s *Standing, date *Calendar, percent []int) Thresholds {
	of := Thresholds{Quota: quotaNumber(teams.Quota{Unit: s.Unit, Period: s.Period}), Limit: s.Limit, Money: account.Money, Percent: percent}
	of.Scope, of.Of = wholeOf(account.ID)
	of.Period = date.Period(of.Quota)
	return of
}

// thresholdsOf returns the thresholds of the quotas that count a charge, in its day and month.
func thresholdsOf(c *Charge, percent []int) (list []Thresholds) {
	if c.Team == nil {
		return nil
	}
	add := func(kind ScopeKind, of string, quotas []teams.Quota) {
		for _, q := range quotas {
			t := Thresholds{Scope: kind, Of: of, Quota: quotaNumber(q), Period: c.Held.Day, Limit: q.Limit, Money: c.Team.Money, Percent: percent}
			if t.Quota%2 == 1 {
				t.Period = c.Held.Month
			}
			if q.Limit > 0 {
				list = append(list, t)
			}
		}
	}
	kind, of := wholeOf(c.Held.Team)
	add(kind, of, c.Team.Quotas)
	if c.Held.Tag != "" {
		add(ScopeTag, c.Held.Tag.Name(), c.Team.TagQuotas)
	}
	if key := c.Team.Key(c.Held.Key.Name()); key != nil {
		add(ScopeKey, key.ID, key.Quotas)
	}
	return list
}

// wholeOf returns the kind of scope that an account is, and the id of the account at the service, if it is one.
func wholeOf(account string) (kind ScopeKind, of string) {
	if account == teams.HouseID {
		return ScopeHouse, ""
	}
	if of, is := teams.AccountOfQuotas(account); is {
		return ScopeAccount, of
	}
	return ScopeTeam, ""
}

// Inside reports whether the quota is of a scope inside a team.
func (t *Thresholds) Inside() bool { return t.Scope == ScopeTag || t.Scope == ScopeKey }

// Unit is the quota's unit.
func (t *Thresholds) Unit() unit.Name { return unit.Names[t.Quota/2] }

// Least is the least use that reaches a per cent.
func (t *Thresholds) Least(percent int) int64 {
	return (t.Limit*int64(percent) + 99) / 100 // below 2⁶³, as amounts are below 2⁵³
}

// Name is the name by which an announcement is remembered, with the quota's limit.
func (t *Thresholds) Name(percent int) string {
	name := "reached:" + t.Scope.String() + ":"
	if t.Inside() {
		name += t.Of + ":"
	}
	return name + strconv.Itoa(t.Period) + ":" + string(t.Unit()) + ":" + strconv.Itoa(percent)
}

// Text is the data of the event [event.QuotaReached], a JSON object without its numbers: head stands before the per cent, and tail
// after what is left.
func (t *Thresholds) Text() (head, tail string) {
	head = `{"scope":"` + t.Scope.String() + `"`
	if t.Inside() || t.Scope == ScopeAccount {
		id, _ := json.Marshal(t.Of) // a text
		head += `,"id":` + string(id)
	}
	return head + `,"unit":"` + string(t.Unit()) + `","period":"` + string(teams.Periods[t.Quota%2]) + `","threshold":`,
		`,"limit":` + t.Money.Written(t.Unit(), t.Limit) + "}"
}

// Draft is the event that the use of an account passed a per cent. Spend is in the currency.
func (t *Thresholds) Draft(account string, percent int, used int64, to []event.Target) *event.Draft {
	head, tail := t.Text()
	number := func(n int64) string { return t.Money.Written(t.Unit(), n) }
	data := head + strconv.Itoa(percent) + `,"used":` + number(used) + `,"left":` + number(max(t.Limit-used, 0)) + tail
	return &event.Draft{Type: event.QuotaReached, Team: account, Data: json.RawMessage(data), To: to}
}

// reaching has the thresholds that a charge may pass, and the use before it. reached.lua does the same in Redis.
type reaching struct {
	of     *account
	id     string
	list   []Thresholds
	before []int64 // the use of each
	to     []event.Target
}

// reachingOf reads the use before a charge is made. The account's lock is held.
func reachingOf(a *account, c *Charge) (r reaching) {
	if a.in.Events == nil {
		return r
	}
	all, to := a.in.Alerts.For(c.Held.Team, c)
	if len(all) == 0 {
		return r
	}
	date := a.date.at(a.last)
	for _, t := range all {
		if t.Period == date.Period(t.Quota) { // periods that are over reach no threshold
			r.list = append(r.list, t)
		}
	}
	r.of, r.id, r.to = a, c.Held.Team, to
	r.before = r.used()
	return r
}

func (r *reaching) used() (all []int64) {
	for i := range r.list {
		var b Balance
		t, kind := &r.list[i], r.list[i].Scope
		name := ""
		if t.Inside() {
			name = t.Of
		} else {
			kind = ScopeTeam // the whole account
		}
		r.of.books[kind].read(&r.of.date, name, kind == ScopeKey, &b)
		all = append(all, b.Used[t.Quota])
	}
	return all
}

// announce announces each per cent that the charge has passed, once, and again with a larger limit. The account's lock is held.
func (r *reaching) announce() {
	if len(r.list) == 0 {
		return
	}
	for i, used := range r.used() {
		t := &r.list[i]
		for _, percent := range t.Percent {
			if least := t.Least(percent); r.before[i] < least && least <= used {
				n := event.Name{Owner: r.id, Name: t.Name(percent), Limit: t.Limit, Again: true}
				_, _ = r.of.in.Events.Once(context.Background(), n, t.Draft(r.id, percent, used, r.to)) // it never fails
			}
		}
	}
}
