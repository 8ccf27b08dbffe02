package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/big"
	"os"
	"strings"

	"sluice/cmd/sluice/files"
	"sluice/gateway/admin"
	"sluice/policy/invoice"
	"sluice/policy/limit"
)

// reconcileCommand is sluice reconcile.
type reconcileCommand struct {
	Bill string `arg:"" placeholder:"BILL.csv" help:"The service's bill, or one in the form of FOCUS; - reads standard input."`

	Map       string `placeholder:"F" help:"What its columns mean, as YAML: see docs/money.md. Absent: a bill of sluice usage --focus."`
	From      string `placeholder:"D" help:"From this day on, such as 2026-11-01, in UTC; the bill's first day if absent."`
	To        string `placeholder:"D" help:"To this day; the bill's last if absent."`
	Account   string `placeholder:"A" help:"Of one account at the service alone, by its id in the accounts file."`
	Tolerance string `default:"0.5%" placeholder:"P" help:"How much the sums may differ, of the bill's: ${default}."`
	JSON      bool   `help:"As JSON." xor:"form"`
	CSV       bool   `help:"As CSV." xor:"form"`
}

// Run compares a bill with the ledger. It changes nothing. Its error is a [badUsage] or [badInput], unless the two differ by more than
// the tolerance.
func (c reconcileCommand) Run(ctx context.Context, p program) error {
	tolerance, ok := new(big.Rat).SetString(strings.TrimSuffix(c.Tolerance, "%"))
	if !ok || !strings.HasSuffix(c.Tolerance, "%") || tolerance.Sign() < 0 || len(c.Tolerance) > 20 {
		return badUsage{errors.New("--tolerance: allowed: a part of the bill in per cent, such as 0.5%")}
	}
	span, err := c.span()
	if err != nil {
		return badUsage{err}
	}
	sums, err := c.read(span)
	if err != nil {
		return badInput{fmt.Errorf("%s: %w", c.Bill, err)}
	}
	from, to := c.days(sums)
	report, _, err := usageCommand{From: from, To: to, Kinds: true}.report(ctx, p)
	var ledger []invoice.Use
	if err == nil {
		ledger, err = report.Uses()
		ledger = invoice.OnAccount(ledger, c.Account)
	}
	if err != nil {
		return badInput{err}
	}
	if c.Map == "" { // our own bill has names as cells
		for i := range ledger {
			ledger[i].Model = admin.Cell(ledger[i].Model)
		}
	}
	compared := invoice.Compare(sums, ledger, tolerance.Quo(tolerance, big.NewRat(100, 1)))
	r := admin.Reconciliation{Report: compared, Currency: report.Currency, From: report.From, To: report.To, Account: c.Account, Accounts: sums.Accounts, Corrections: compared.Corrections(ledger)}
	write := r.WriteText
	switch {
	case c.JSON:
		write = r.WriteJSON
	case c.CSV:
		write = r.WriteCSV
	}
	if err = write(p.stdout); err == nil && !r.Within {
		err = fmt.Errorf("the bill and the ledger differ by more than %s", c.Tolerance)
	}
	return err
}

// span reads --from and --to.
func (c reconcileCommand) span() (s invoice.Span, err error) {
	s.Account = c.Account
	for _, d := range []struct {
		text string
		day  *int
	}{{c.From, &s.From}, {c.To, &s.To}} {
		if d.text == "" {
			continue
		}
		days, ok := limit.Days(d.text, d.text)
		if !ok {
			return s, errors.New("--from, --to: allowed: days such as 2026-11-01, --from not after --to, at most 400 days")
		}
		*d.day = days[0]
	}
	return s, nil
}

// read adds up the bill.
func (c reconcileCommand) read(span invoice.Span) (*invoice.Sums, error) {
	columns := &invoice.Focus
	if c.Map != "" {
		text, err := files.Read(c.Map)
		if err == nil {
			columns, err = invoice.ParseMap(text)
		}
		if err != nil {
			return nil, fmt.Errorf("--map %s: %w", c.Map, err)
		}
	}
	in := os.Stdin
	if c.Bill != "-" {
		file, err := os.Open(c.Bill)
		if err != nil {
			return nil, files.Pathless(err)
		}
		defer func() { _ = file.Close() }()
		in = file
	}
	return invoice.Read(in, columns, span)
}

// days are the first and the last day that are compared; "" if neither the flags nor the bill name any.
func (c reconcileCommand) days(sums *invoice.Sums) (from, to string) {
	from, to = c.From, c.To
	if first, last := sums.Days(); first != 0 {
		from, to = cmp.Or(from, limit.DayText(first)), cmp.Or(to, limit.DayText(last))
	}
	return from, to
}
