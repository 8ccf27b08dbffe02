package console

import (
	"context"
	"slices"
	"strings"
	"time"

	"sluice/policy/limit"
	"sluice/policy/teams"
)

// FindAccount refuses an account at the service that is neither one of ids, those of the accounts file, nor in the team's ledger until now.
// It always accepts main.
func (c Correction) FindAccount(ctx context.Context, team string, now time.Time, ids []string,
	ledger func(context.Context, limit.Query) ([]limit.Row, error),
) error {
	if limit.AccountName(c.Account) == teams.MainAccount {
		return nil
	}
	now = now.UTC()
	days, _ := limit.Days(limit.OldestDay(now), now.Format(limit.DayForm))
	rows, err := ledger(ctx, limit.QueryOf(team, days, limit.ScopeAccount))
	if err != nil {
		return teams.Away("the ledger cannot be read", err)
	}
	known := append([]string{teams.MainAccount}, ids...)
	for i := range rows {
		known = append(known, limit.AccountName(rows[i].Account))
	}
	if slices.Contains(known, c.Account) {
		return nil
	}
	slices.Sort(known)
	return &teams.Problem{
		Code: teams.CodeInvalid, Field: "account", Text: "no such account at the service", Given: c.Account,
		Allowed: strings.Join(slices.Compact(known), ", ") + ", which the accounts file or the ledger of team " + team + " has",
	}
}
