package pages

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"sluice/gateway/console/access"
	"sluice/gateway/console/figures"
	"sluice/policy/account"
	"sluice/policy/unit"
)

type accountsView struct {
	figures.AccountList
	Lines              []accountRow
	Wrong              int // accounts that are out or cooling
	InFlight           int
	Unread             string // why the use is unknown; empty: it is known
	TodayURL, MonthURL string // the rows of the sums
}

// accountRow is an account on the page.
type accountRow struct {
	figures.AccountLine
	State     string
	Class     string // of the state's mark; empty: none
	Wrong     bool
	Rates     []string
	Limits    []limitRow
	Failovers []failover
}

// stateClasses are the classes of states, which are those of tasks' states.
var stateClasses = map[account.State]string{account.OK: "succeeded", account.Cooling: "pending", account.Out: "failed"}

// failover is the number of requests that left an account for one reason.
type failover struct {
	Reason string
	N      int64
}

// accounts shows the accounts at the service. Their state is shown even if their use cannot be read.
func (s *site) accounts(r *http.Request, p access.Person) (view, error) {
	if !p.SeesAll() {
		return view{}, errForbidden
	}
	list, err := s.Figures.AccountList(r.Context(), p)
	if err != nil {
		return view{}, err
	}
	v := accountsView{AccountList: list}
	if list.Unread != nil {
		v.Unread = faultOf(list.Unread).Sentence()
	}
	for i := range list.Accounts {
		row := newAccountRow(list.Accounts[i], list.At, s.Currency())
		v.Lines, v.InFlight = append(v.Lines, row), v.InFlight+row.InFlight
		if row.Wrong {
			v.Wrong++
		}
	}
	today := midnight(s.Now()).Format(time.DateOnly)
	v.TodayURL = moneyURL("/money", figures.MoneyQuery{From: today, To: today}, "account")
	v.MonthURL = moneyURL("/money", figures.MoneyQuery{From: today[:8] + "01", To: today}, "account")
	return view{page: "accounts", title: "Accounts", data: v, live: true}, nil
}

func newAccountRow(line figures.AccountLine, at time.Time, in unit.Currency) accountRow {
	row := accountRow{AccountLine: line, State: string(line.State), Class: stateClasses[line.State], Wrong: line.IsIll()}
	for _, l := range line.Standing.Limits {
		row.Rates = append(row.Rates, accountLimit(l, in))
	}
	for _, q := range line.Quotas {
		row.Limits = append(row.Limits, newLimitRow(q, at, ""))
	}
	for reason, n := range line.Standing.Failovers {
		row.Failovers = append(row.Failovers, failover{reason, n})
	}
	slices.SortFunc(row.Failovers, func(a, b failover) int { return strings.Compare(a.Reason, b.Reason) })
	return row
}
