package admin

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"

	"sluice/policy"
	"sluice/policy/invoice"
	"sluice/policy/limit"
	"sluice/policy/unit"
)

// Uses returns the use in the report, one for each team, day, model, endpoint, account and kind. A request that names no model has its
// endpoint as the model, as in bills.
func (u *UsageReport) Uses() (all []invoice.Use, err error) {
	requests := int64(0) // of the row of the ledger
	for i := range u.Rows {
		row := &u.Rows[i]
		if i == 0 || !row.ofRow(&u.Rows[i-1]) {
			requests = 0
		}
		if i == 0 || !row.ofRow(&u.Rows[i-1]) || row.Kind != u.Rows[i-1].Kind { // pictures of all sizes are one use
			all = append(all, invoice.Use{
				Team: row.Team, Account: row.Account, Model: cmp.Or(row.Model, string(row.Endpoint)), Kind: row.Kind, Correction: row.isCorrection(),
			})
		}
		use := &all[len(all)-1]
		day, ok := limit.Days(row.Day, row.Day)
		if !ok || !u.addAmount(&use.Used, row.Unit, row.Used) || !u.addAmount(&use.Estimated, row.Unit, row.Estimated) {
			return nil, fmt.Errorf("row %d of the usage is not readable: %s %s %s", i+1, row.Day, row.Unit, row.Used)
		}
		use.Day = day[0]
		if row.Spend != "" && row.Unit != unit.NameSpend && (!u.addAmount(&use.Used, unit.NameSpend, row.Spend) ||
			!u.addAmount(&use.Estimated, unit.NameSpend, row.EstimatedSpend)) {
			return nil, fmt.Errorf("row %d of the usage is not readable: it costs %s", i+1, row.Spend)
		}
		if row.Unit == unit.NameRequests {
			requests = use.Used[limit.Requests]
		}
		use.Rounded += u.rounded(row, requests)
	}
	return all, nil
}

// rounded is by how much the costs of a kind's requests were rounded up: exactly if one price held, otherwise less than the last digit for
// each request. An unknown kind has no price.
func (u *UsageReport) rounded(row *UsageRow, requests int64) int64 {
	if row.Unit != unit.NameTokens || row.Kind == "" || row.Kind == invoice.Unknown {
		return 0
	}
	if row.Price == "" {
		return max(requests, 0)
	}
	cost, costs := new(big.Rat).SetString(row.Spend.String())
	exact, priced := new(big.Rat).SetString(unitPrice(row))
	quantity, counted := new(big.Rat).SetString(row.Used.String())
	if !costs || !priced || !counted {
		return 0
	}
	up := cost.Sub(cost, exact.Mul(exact, quantity))
	up.Mul(up, new(big.Rat).SetInt64(u.Money.Parts()))
	up.Add(up, big.NewRat(1, 2)) // the bill's own sum is rounded once
	return max(new(big.Int).Quo(up.Num(), up.Denom()).Int64(), 0)
}

// isCorrection reports whether the row is a correction by sluice adjust. A client may use the model's name of corrections, but only on
// another endpoint.
func (r *UsageRow) isCorrection() bool {
	return r.Model == limit.AdjustedModel && r.Endpoint == policy.EndpointOther
}

// ofRow reports whether two rows come from one row of the ledger.
func (r *UsageRow) ofRow(o *UsageRow) bool {
	return r.Team == o.Team && r.Day == o.Day && r.Model == o.Model && r.Endpoint == o.Endpoint && r.Account == o.Account
}

// addAmount adds a number of a unit, and reports whether it is one.
func (u *UsageReport) addAmount(to *limit.Amounts, of unit.Name, number json.Number) bool {
	i := unit.Index(of)
	n, ok := u.Money.ReadSum(of, number.String())
	if ok = ok && i >= 0; ok {
		to[i] += n
	}
	return ok
}

// unitPrice is the price of one PricingUnit; empty: no single price held.
func unitPrice(row *UsageRow) string {
	price, ok := new(big.Rat).SetString(row.Price.String())
	if !ok {
		return ""
	}
	if row.Unit == unit.NameTokens { // their price is for a million
		price.Quo(price, big.NewRat(1_000_000, 1))
	}
	text := price.FloatString(18) // exact
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}
