package admin

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"sluice/policy/limit"
	"sluice/policy/price"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// Division is what a report divides use by, beside team and day.
type Division string

// The divisions.
const (
	ByModel       Division = ""             // model, endpoint, account and unit
	ByTag         Division = "tag"          // the teams' tag, and unit
	ByKey         Division = "key"          // the team's key, and unit
	ByAccount     Division = "account"      // the account at the service, and unit
	ByKind        Division = "kind"         // model, endpoint, account and kind
	ByAccountKind Division = "account kind" // the account at the service, and kind
)

func (d Division) kinds() bool { return d == ByKind || d == ByAccountKind }

// columns names what the use is divided by, with the account only if there are others than main. The names do not change: users' programs
// read the CSV by them.
func (u *UsageReport) columns(by Division) (names []string) {
	switch by {
	case ByTag, ByKey, ByAccount:
		return []string{string(by)}
	case ByAccountKind:
		names = []string{string(ByAccount)}
	default:
		if names = []string{"model", "endpoint"}; u.hasAccounts() {
			names = append(names, "account")
		}
	}
	if by.kinds() {
		names = append(names, "kind", "size")
	}
	return names
}

// hasAccounts reports whether something was used on another account than main.
func (u *UsageReport) hasAccounts() bool {
	return slices.ContainsFunc(u.Rows, func(r UsageRow) bool { return limit.AccountName(r.Account) != teams.MainAccount })
}

// cells returns the cells of a row in columns. shown writes names, and size writes the size of pictures.
func (r *UsageRow) cells(columns []string, shown, size func(string) string) []string {
	of := map[string]string{
		"model": r.Model, "endpoint": string(r.Endpoint), "account": limit.AccountName(r.Account), "tag": r.Tag, "key": r.Key, "kind": r.Kind,
		"size": size(r.Size),
	}
	cells := make([]string, len(columns))
	for i, name := range columns {
		cells[i] = shown(of[name])
	}
	return cells
}

// amounts names the amounts after unit, used and estimated.
func (d Division) amounts() []string {
	if d.kinds() {
		return []string{"price", "spend", "estimated_spend"}
	}
	return nil
}

func (d Division) amountsOf(r *UsageRow) []string {
	if d.kinds() {
		return []string{r.Price.String(), r.Spend.String(), r.EstimatedSpend.String()}
	}
	return nil
}

// WriteCSV writes the report as CSV, for programs: with sizes of pictures as the ledger has them.
func (u *UsageReport) WriteCSV(w io.Writer, by Division) error {
	out := csv.NewWriter(w)
	columns := u.columns(by)
	_ = out.Write(slices.Concat([]string{"team", "day"}, columns, []string{"unit", "used", "estimated"}, by.amounts())) // Error has it
	for i := range u.Rows {
		r := &u.Rows[i]
		amounts := []string{string(r.Unit), r.Used.String(), r.Estimated.String()}
		_ = out.Write(slices.Concat([]string{Cell(r.Team), r.Day}, r.cells(columns, Cell, func(size string) string { return size }), amounts,
			by.amountsOf(r)))
	}
	out.Flush()
	return out.Error()
}

// WriteTable writes a table for people, and below it the sum of each team and unit with the share that is estimated.
func (u *UsageReport) WriteTable(w io.Writer, by Division) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	columns := u.columns(by)
	head := slices.Concat([]string{"team", "day"}, columns, []string{"unit", "used", "estimated"}, by.amounts())
	_, _ = fmt.Fprintln(out, strings.ReplaceAll(strings.ToUpper(strings.Join(head, "\t")), "_", " "))
	var sums usageSums
	for i := range u.Rows {
		r := &u.Rows[i]
		amounts := []string{string(r.Unit), r.Used.String(), r.Estimated.String()}
		_, _ = fmt.Fprintln(out, strings.Join(slices.Concat([]string{Printable(r.Team), r.Day}, r.cells(columns, Printable, price.SizeText),
			amounts, by.amountsOf(r)), "\t"))
		sums.add(u.Money, r)
	}
	for i := range sums {
		s := &sums[i]
		name := string(s.unit)
		if s.unit == unit.NameSpend && u.Word != "" {
			name += " " + u.Word
		}
		_, _ = fmt.Fprintf(out, "%s\tin all\t%s%s\t%s\t%s (%s)\n", Printable(s.team), strings.Repeat("\t", len(columns)), name,
			u.Money.Written(s.unit, s.used), u.Money.Written(s.unit, s.estimated), s.share())
	}
	if len(u.Rows) == 0 {
		_, _ = fmt.Fprintf(out, "nothing was used from %s to %s\n", u.From, u.To)
	}
	return out.Flush()
}

// WriteText writes the report for people: the table, the raises, and what is left of the limits of keys.
func (u *UsageReport) WriteText(w io.Writer, by Division) error {
	err := u.WriteTable(w, by)
	for _, text := range [...]string{u.raisesText(), u.keysText()} {
		if text != "" && err == nil {
			_, err = fmt.Fprintln(w, text)
		}
	}
	return err
}

// keysText has a line for each limit of a key.
func (u *UsageReport) keysText() (text string) {
	for i := range u.Keys {
		k := &u.Keys[i]
		per, until := "a "+k.Period, "until"
		if !slices.Contains(teams.Periods[:], teams.Period(k.Period)) {
			per, until = "per "+k.Period, "full at"
		}
		text += fmt.Sprintf("\n%s, key %s, %s %s: %s left of %s, %s used, %s held, %s %s", Printable(k.Team), Printable(k.Key), k.Unit, per,
			k.Left, k.Limit, k.Used, k.Held, until, k.Reset)
	}
	return text
}

// raisesText has a line for each quota with raises: its own amount, and each raise.
func (u *UsageReport) raisesText() (text string) {
	for i := range u.Raises {
		a := &u.Raises[i]
		if before := max(i-1, 0); i == 0 || u.Raises[before].Team != a.Team || u.Raises[before].Unit != a.Unit ||
			u.Raises[before].Period != a.Period {
			text += fmt.Sprintf("\n%s, %s a %s: %s", Printable(a.Team), a.Unit, a.Period, a.Base)
		}
		text += fmt.Sprintf(" + %s until %s, %s", a.Amount, a.Until.Format(time.RFC3339), Printable(a.Reason))
	}
	return text
}

// usageSum is what a team used of a unit.
type usageSum struct {
	team            string
	unit            unit.Name
	used, estimated int64
}

// usageSums has one for each team and unit, in the order of the rows.
type usageSums []usageSum

func (s *usageSums) add(m unit.Money, r *UsageRow) {
	if r.Kind == "" || r.Unit != unit.NameSpend {
		s.addUnit(r.Team, r.Unit, amountOf(m, r.Unit, r.Used), amountOf(m, r.Unit, r.Estimated))
	}
	if r.Kind != "" {
		s.addUnit(r.Team, unit.NameSpend, amountOf(m, unit.NameSpend, r.Spend), amountOf(m, unit.NameSpend, r.EstimatedSpend))
	}
}

// amountOf is an amount that the report wrote.
func amountOf(m unit.Money, of unit.Name, number json.Number) int64 {
	n, _ := m.ReadSum(of, number.String())
	return n
}

func (s *usageSums) addUnit(team string, of unit.Name, used, estimated int64) {
	at := len(*s) - 1
	for at >= 0 && ((*s)[at].team != team || (*s)[at].unit != of) {
		if at--; at < len(*s)-len(unit.Names) { // rows are by team
			at = -1
		}
	}
	if at < 0 {
		at, *s = len(*s), append(*s, usageSum{team: team, unit: of})
	}
	(*s)[at].used, (*s)[at].estimated = (*s)[at].used+used, (*s)[at].estimated+estimated
}

// share is the part that is estimated.
func (s *usageSum) share() string {
	if s.used == 0 {
		return "0%"
	}
	return new(big.Rat).Mul(big.NewRat(s.estimated, s.used), big.NewRat(100, 1)).FloatString(1) + "%"
}
