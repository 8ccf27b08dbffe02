package console

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"sluice/policy/limit"
	"sluice/policy/strictyaml"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// Correction is a correction of a team's use, as the person wrote it.
type Correction struct {
	Unit    unit.Name
	Delta   string // what to add; below 0 to give back. Spend is in the currency
	Day     string // such as 2026-11-12, in UTC; empty: today
	Account string // at the service; empty: main
	Once    string // of the form that orders it: the same that is sent twice counts once; empty: each counts
	Money   unit.Money
}

// Read checks a correction of a team and its reason.
func (c Correction) Read(team, reason string, now time.Time) (order limit.Correction, err error) {
	refused := func(field, text, allowed string) (limit.Correction, error) {
		return limit.Correction{}, &teams.Problem{Code: teams.CodeInvalid, Field: field, Text: text, Allowed: allowed}
	}
	delta, ok := c.Money.Read(c.Unit, c.Delta)
	day, kept := c.day(now)
	switch {
	case !slices.Contains(unit.Names[:], c.Unit):
		return refused("unit", "no such unit", strictyaml.AnyOf(unit.Names[:]))
	case !ok || delta == 0:
		return refused("delta", "not an amount", "a whole number other than 0; for spend up to "+strconv.Itoa(c.Money.Digits())+" decimals")
	case !kept:
		return refused("day", "a day outside the ledger", "a day such as "+now.UTC().
			Format(limit.DayForm)+", today or one of the "+strconv.Itoa(limit.LedgerDays-1)+" before")
	case c.Account != "" && !teams.IsID(c.Account):
		return refused("account", "another text", "an id as in the accounts file, such as "+teams.MainAccount)
	case strings.TrimSpace(reason) == "" || utf8.RuneCountInString(reason) > teams.MaxProse:
		return refused("reason", "a correction needs a reason", "1 to 200 characters in one line")
	}
	return limit.Correction{
		ID: "adjust-" + idOf(c.Once, team, string(c.Unit), c.Delta, c.Day, c.Account, reason), Team: team, Unit: c.Unit,
		Delta: delta, Day: day, Account: c.Account, Why: reason,
	}, nil
}

// idOf returns an id of lower-case letters and digits: a random one, or of what a form orders, so that a form that is sent twice orders
// once.
func idOf(once string, order ...string) string {
	if once == "" {
		once = rand.Text()
	}
	sum := sha256.Sum256([]byte(once + "\x00" + strings.Join(order, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// day returns the number of the day, 0 for today. kept is false if the ledger does not keep it.
func (c Correction) day(now time.Time) (day int, kept bool) {
	if c.Day == "" {
		return 0, true
	}
	days, ok := limit.Days(c.Day, now.UTC().Format(limit.DayForm))
	if !ok {
		return 0, false
	}
	return days[0], true
}

// Step is a step of a correction. The audit has an entry for each.
type Step string

// The steps. A correction that was ordered but neither posted nor refused may have been posted: its process ended or lost its connections.
const (
	Ordered Step = ""
	Posted  Step = ".posted"
	Refused Step = ".refused" // by the accounts, because the use would fall below 0
)

// ErrOpen is the error of a correction that was posted, but whose outcome is missing in the audit. It MUST NOT be posted again.
var ErrOpen = errors.New("the audit leaves the outcome open")

// ErrAgain is the error of a form that was sent before, and counted then. What it ordered stands.
var ErrAgain = errors.New("the form was sent before")

// Post posts a correction that Read returned. It writes an audit entry first, so that no correction lacks one, and another with the
// outcome. Any error but [ErrOpen], [ErrAgain] and those of the first entry is a [*teams.Problem].
func (c Correction) Post(ctx context.Context, to Balances, order *limit.Correction,
	note func(context.Context, teams.Entry) error,
) (done limit.Adjustment, err error) {
	if err := note(ctx, c.entry(order, Ordered)); err != nil {
		return done, err
	}
	ctx = context.WithoutCancel(ctx) // the outcome must be audited even if the client leaves
	done, err = to.Adjust(ctx, *order)
	// Redis posts an id once: what changes nothing was posted before.
	again := err == nil && done.DayBefore == done.Day && done.MonthBefore == done.Month
	if err != nil { // the reply may be lost; the same id counts only once
		done, err = to.Adjust(ctx, *order)
	}
	switch {
	case err != nil:
		problem := teams.Away("the correction "+order.ID+" may or may not have been posted", err)
		problem.Advice = "look at the team's usage before you try again"
		return done, problem
	case done.Done:
		if err := note(ctx, c.entry(order, Posted)); err != nil {
			return done, errors.Join(ErrOpen, err)
		}
		if again {
			return done, ErrAgain
		}
		return done, nil
	}
	if err := note(ctx, c.entry(order, Refused)); err != nil {
		return done, err
	}
	return done, c.refusal(order, &done)
}

// refusal returns why a correction was refused.
func (c Correction) refusal(order *limit.Correction, done *limit.Adjustment) error {
	used, most := "this month", done.Month
	if order.Named() {
		used, most = "on "+cmp.Or(c.Day, "the running day"), done.Day
		if order.Account != "" {
			used += " on account " + order.Account
		}
	}
	return &teams.Problem{
		Code: teams.CodeConflict, Field: "delta", Text: "the team used less " + used + " than is given back, and nothing was changed",
		Given: c.Money.Written(order.Unit, order.Delta), Allowed: "at least " + c.Money.Written(order.Unit, -most), Advice: "give back less",
	}
}

// entry returns a step's entry of the audit, with the correction's id in the accounts.
func (c Correction) entry(order *limit.Correction, step Step) teams.Entry {
	after := map[string]string{"id": order.ID, "unit": string(order.Unit), "delta": c.Money.Written(order.Unit, order.Delta)}
	for name, value := range map[string]string{"day": c.Day, "account": c.Account} {
		if value != "" {
			after[name] = value
		}
	}
	return teams.Entry{What: "usage.adjust" + string(step), Team: order.Team, After: object(after)}
}

// object encodes members as JSON.
func object(members map[string]string) json.RawMessage {
	text, err := json.Marshal(members)
	if err != nil {
		return nil
	}
	return text
}
