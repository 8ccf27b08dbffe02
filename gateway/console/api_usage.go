package console

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// mostRows bounds the ledger rows of one report.
const mostRows = 200_000

// Usage is the use of a team, or of all teams that the caller sees, by day, team, model, endpoint, account, tag, key or kind.
type Usage struct {
	unit.Currency
	From string `json:"from"` // the first day in UTC, such as 2026-11-21
	To   string `json:"to"`   // the last day
	By   string `json:"by"`
	Data []Use  `json:"data"` // sorted by Of; [] if nothing was used
}

// Use is the use of all units for one day, team, model, endpoint, account, tag, key or kind. Kinds have no requests.
type Use struct {
	Of        string  `json:"of"`            // the day, the team, the model, the endpoint, the account, the tag, the key or the kind
	Size      string  `json:"size,omitzero"` // by kind: the pictures' size in the price list
	Used      Amounts `json:"used"`
	Estimated Amounts `json:"estimated"` // the estimated part of Used
}

// by maps dimensions to the name that a row counts under.
var by = map[string]func(limit.Row) string{
	"day": func(r limit.Row) string {
		d := strconv.Itoa(r.Day)
		return d[:4] + "-" + d[4:6] + "-" + d[6:]
	},
	"model":    func(r limit.Row) string { return r.Model },
	"endpoint": func(r limit.Row) string { return string(r.Endpoint) },
	"account":  func(r limit.Row) string { return limit.AccountName(r.Account) },
	"tag":      func(r limit.Row) string { return r.Tag },
	"key":      func(r limit.Row) string { return r.Key },
	"kind":     nil, // addUpKinds
	"team":     func(r limit.Row) string { return r.Team },
}

// The dimensions of one team's use, and of all teams'.
var (
	dimensionsOfTeam = []string{"day", "model", "endpoint", "account", "tag", "key", "kind"}
	dimensionsOfAll  = []string{"day", "team", "model", "endpoint", "account", "tag", "key", "kind"}
)

// inside are the dimensions that have a ledger of their own.
var inside = map[string]limit.ScopeKind{"tag": limit.ScopeTag, "key": limit.ScopeKey}

func (a *api) usage(c *call) error {
	id := c.parts["id"]
	if _, err := a.Registry.Show(c.r.Context(), c.who, id); err != nil {
		return err
	}
	return report(a, c, []string{id}, dimensionsOfTeam)
}

// usageOfAll reports the use of all teams that the caller sees.
func usageOfAll(a *api, c *call) error {
	ids := append([]string{}, c.who.Teams...)
	if c.who.SeesAll() {
		ids = nil
	}
	return report(a, c, ids, dimensionsOfAll)
}

// report answers with the use of teams by one of the dimensions.
func report(a *api, c *call, ids, dimensions []string) error {
	today := a.Now().UTC().Format(limit.DayForm)
	u := Usage{Currency: a.Currency(), From: c.query.Get("from"), To: cmp.Or(c.query.Get("to"), today), By: cmp.Or(c.query.Get("by"), "day")}
	u.From = cmp.Or(u.From, u.To)
	days, ok := limit.Days(u.From, u.To)
	of := by[u.By]
	switch {
	case !ok:
		return invalid("from", "no such days",
			"from and to as days such as "+today+", from not after to, at most "+strconv.Itoa(limit.LedgerDays)+" days")
	case !slices.Contains(dimensions, u.By):
		last := len(dimensions) - 1
		return invalid("by", "no such way to add up", strings.Join(dimensions[:last], ", ")+" or "+dimensions[last])
	}
	rows, err := a.rows(c.r.Context(), ids, u.By, days)
	switch {
	case errors.Is(err, limit.ErrRows):
		return &teams.Problem{
			Code: teams.CodeInvalid, Field: "from", Text: "the report has too many rows", Allowed: strconv.Itoa(mostRows),
			Advice: "ask for fewer days",
		}
	case err != nil:
		return unread(err)
	}
	if of == nil {
		u.Data = addUpKinds(rows, u.Money)
	} else {
		u.Data = addUp(rows, u.Money, of)
	}
	return c.write(http.StatusOK, u)
}

// insideDays bounds the days of the ledger of tags or keys in one read: a day has up to 1,001 rows for each team.
const insideDays = 31

// rows reads a ledger of some teams, or of all if ids is nil.
func (a *api) rows(ctx context.Context, ids []string, by string, days []int) (rows []limit.Row, err error) {
	if inside[by] == limit.ScopeTeam {
		return a.Ledger.Rows(ctx, limit.Query{Teams: ids, Days: days, Most: mostRows})
	}
	for part := range slices.Chunk(days, insideDays) {
		q := limit.Query{Teams: ids, Days: part, By: inside[by]}
		if len(ids) != 1 { // for one team a chunk has few rows, for all it may have millions
			q.Most = max(mostRows-len(rows), 1)
		}
		some, err := a.Ledger.Rows(ctx, q)
		if err != nil {
			return nil, err
		}
		if rows = append(rows, some...); len(rows) > mostRows {
			return nil, limit.ErrRows
		}
	}
	return rows, nil
}

func addUp(rows []limit.Row, m unit.Money, of func(limit.Row) string) []Use {
	used, estimated := map[string]limit.Amounts{}, map[string]limit.Amounts{}
	for _, row := range rows {
		name := of(row)
		used[name], estimated[name] = used[name].Plus(row.Used), estimated[name].Plus(row.Estimated)
	}
	data := []Use{}
	for _, name := range slices.Sorted(maps.Keys(used)) {
		data = append(data, Use{Of: name, Used: Amounts{used[name], m}, Estimated: Amounts{estimated[name], m}})
	}
	return data
}

// addUpKinds adds up rows by kind and size, in the order of kinds.
func addUpKinds(rows []limit.Row, m unit.Money) []Use {
	data, at := []limit.Part{}, map[limit.Part]int{}
	for i := range rows {
		for _, p := range rows[i].Parts() {
			name := limit.Part{Kind: p.Kind, Size: p.Size}
			n, known := at[name]
			if !known {
				n, data = len(data), append(data, name)
				at[name] = n
			}
			data[n].Used, data[n].Estimated = data[n].Used.Plus(p.Used), data[n].Estimated.Plus(p.Estimated)
		}
	}
	slices.SortFunc(data, func(a, b limit.Part) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Size, b.Size)) })
	list := make([]Use, len(data))
	for i := range data {
		list[i] = Use{data[i].Kind.String(), data[i].Size, Amounts{data[i].Used, m}, Amounts{data[i].Estimated, m}}
	}
	return list
}

// AdjustOrder is the body of a correction.
type AdjustOrder struct {
	Unit    unit.Name      `json:"unit"`
	Delta   jsontext.Value `json:"delta"`   // a number: what to add; spend is in the currency
	Day     string         `json:"day"`     // such as 2026-11-12; absent: today
	Account string         `json:"account"` // at the service; absent: main
	Reason  string         `json:"reason"`
}

// AdjustedUse is a team's use before and after a correction. The use of a day that the order names is that on its account in the ledger.
type AdjustedUse struct {
	Unit        unit.Name   `json:"unit"`
	DayBefore   json.Number `json:"day_before"`
	Day         json.Number `json:"day"`
	MonthBefore json.Number `json:"month_before"` // 0 for a day of an earlier month
	Month       json.Number `json:"month"`        // likewise
}

func (a *api) adjust(c *call) error {
	id := c.parts["id"]
	if _, err := a.Registry.Show(c.r.Context(), c.who, id); err != nil { // as in replaceTeam
		return err
	}
	var o AdjustOrder
	if err := c.into(&o); err != nil {
		return err
	}
	if err := isNumber("delta", o.Delta); err != nil {
		return err
	}
	done, err := a.Registry.Adjust(c.r.Context(), c.who.By(c.r.RemoteAddr, o.Reason), id,
		Correction{Unit: o.Unit, Delta: o.Delta.String(), Day: o.Day, Account: o.Account})
	if err != nil {
		return err
	}
	number := func(n int64) json.Number { return json.Number(a.Currency().Money.Written(o.Unit, n)) }
	return c.write(http.StatusOK, AdjustedUse{o.Unit, number(done.DayBefore), number(done.Day), number(done.MonthBefore), number(done.Month)})
}

// isNumber checks that a member of the body, if it is there, is a number.
func isNumber(member string, value jsontext.Value) error {
	if value != nil && value.Kind() != '0' {
		return invalid(member, "not a number", "a number such as 0.3")
	}
	return nil
}

// RaiseOrder is the body of a raise.
type RaiseOrder struct {
	Unit   unit.Name      `json:"unit"`
	Period teams.Period   `json:"period"`
	Amount jsontext.Value `json:"amount"` // a number: what to add; spend is in the currency
	Until  *time.Time     `json:"until"`  // nil: the end of the period
	Reason string         `json:"reason"`
}

func listRaises(a *api, c *call) error {
	all, err := a.Registry.Raises.List(c.r.Context(), c.who, c.parts["id"])
	if err != nil {
		return err
	}
	return c.write(http.StatusOK, list(all, ""))
}

func addRaise(a *api, c *call) error {
	id := c.parts["id"]
	if _, err := a.Registry.Show(c.r.Context(), c.who, id); err != nil { // as in replaceTeam
		return err
	}
	var o RaiseOrder
	if err := c.into(&o); err != nil {
		return err
	}
	if err := isNumber("amount", o.Amount); err != nil {
		return err
	}
	order := teams.RaiseOrder{Unit: o.Unit, Period: o.Period, Amount: o.Amount.String(), Until: o.Until}
	made, err := a.Registry.Raises.Add(c.r.Context(), c.who.By(c.r.RemoteAddr, o.Reason), id, order)
	if err != nil {
		return err
	}
	return c.write(http.StatusCreated, made)
}

func endRaise(a *api, c *call) error {
	return c.done(a.Registry.Raises.End(c.r.Context(), c.actor(), c.parts["id"], c.parts["raise"]))
}
