package figures

import (
	"context"
	"time"

	"sluice/gateway/console/access"
	"sluice/policy/account"
	"sluice/policy/limit"
)

// Removed is the state of an account that is not in the accounts file and was used this month.
const Removed account.State = "removed"

// AccountList is the accounts at the service, as this replica knows them, and the use of all teams on them.
type AccountList struct {
	At       time.Time
	Accounts []AccountLine // in the order of their file, then the removed ones
	Today    Use
	Month    Use   // so far, in UTC
	Unread   error // why the use is unknown; nil: it is known
}

// AccountLine is one account.
type AccountLine struct {
	account.Standing
	Today, Month Use
	Quotas       []limit.Standing // as last known; nil: none
}

// AccountList returns the accounts, even if their use cannot be read. A person who does not see all teams gets [ErrAbsent].
func (f *Figures) AccountList(ctx context.Context, p access.Person) (AccountList, error) {
	list := AccountList{At: f.Deps.Now()}
	if !p.SeesAll() {
		return list, ErrAbsent
	}
	today, month, err := f.byAccount(ctx, p, list.At)
	list.Unread = err
	listed := map[string]bool{}
	for _, s := range f.standings() {
		line := AccountLine{Standing: s, Today: today.use(s.ID), Month: month.use(s.ID)}
		if s.Quotas != nil {
			line.Quotas = f.Balances.LastKnown(s.Quotas).Limits
		}
		list.Accounts, listed[s.ID] = append(list.Accounts, line), true
	}
	for _, row := range month.sorted() {
		list.Month = list.Month.Plus(row.Use)
		list.Today = list.Today.Plus(today.use(row.Name))
		if !listed[row.Name] {
			gone := account.Standing{ID: row.Name, State: Removed}
			list.Accounts = append(list.Accounts, AccountLine{Standing: gone, Today: today.use(row.Name), Month: row.Use})
		}
	}
	return list, nil
}

// byAccount returns the use of each account on the day of at, and in its month so far.
func (l *ledger) byAccount(ctx context.Context, p access.Person, at time.Time) (today, month *adder, err error) {
	today, month = new(adder), new(adder)
	days := lastDays(at, at.UTC().Day())
	b, err := l.book(ctx, p, "", dates{spans: [][]int{days}}, "account")
	if err == nil {
		b.add(today, days[len(days)-1:], "account")
		b.add(month, days, "account")
	}
	return today, month, err
}

func (d *Deps) standings() []account.Standing {
	if d.Standings == nil {
		return nil
	}
	return d.Standings()
}
