package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"sluice/cmd/sluice/files"
	"sluice/cmd/sluice/settings"
	"sluice/gateway/admin"
	"sluice/policy/invoice"
	"sluice/telemetry"
	"sluice/telemetry/recent"
)

// reconcileCommand is sluice reconcile.
type reconcileCommand struct {
	Bill string `arg:"" placeholder:"BILL.csv" help:"The service's bill, or one in the form of FOCUS; - reads standard input."`

	Map       string        `placeholder:"F" help:"What its columns mean, as YAML: see docs/money.md. Absent: a bill of sluice usage --focus."`
	From      string        `placeholder:"D" help:"From this day on, such as 2026-11-01, in UTC; the first that the bill has whole if absent."`
	To        string        `placeholder:"D" help:"To this day; the last that the bill has whole if absent."`
	Account   string        `placeholder:"A" help:"Of only one account at the service, by its id in the accounts file."`
	Tolerance string        `default:"0.5%" placeholder:"P" help:"How much the sums may differ, of the bill's: ${default}."`
	Report    time.Duration `placeholder:"T" help:"Report the outcome to the metrics of all replicas, over Redis; the next report is due within this time, such as 36h."`
	JSON      bool          `help:"As JSON." xor:"form"`
	CSV       bool          `help:"As CSV." xor:"form"`
}

// Run compares a bill with the ledger, and with --report reports the outcome. It changes no account. Its error is a [badUsage] or
// [badInput], unless the two differ by more than the tolerance.
func (c reconcileCommand) Run(ctx context.Context, p program) error {
	s, err := settingsFor(p.environ, "REDIS_URL", "REDIS_URL_FILE")
	if err == nil && c.Report != 0 && (c.Report < time.Minute || s.RedisURL == "") {
		err = badUsage{errors.New("--report: allowed: a time of at least 1m, with " + settings.Prefix + "REDIS_URL")}
	}
	if err != nil {
		return err
	}
	done := telemetry.Reconciled{At: time.Now().UTC(), Due: time.Now().UTC().Add(c.Report), Outcome: telemetry.ReconciledFailed}
	r, err := c.compare(ctx, p)
	if err == nil {
		done.Ratio, done.Outcome = r.Ratio(), telemetry.ReconciledWithin
		if !r.Within {
			done.Outcome = telemetry.ReconciledBeyond
		}
		if err = r.Form(c.JSON, c.CSV)(p.stdout); err == nil && !r.Within {
			err = fmt.Errorf("the bill and the ledger differ by more than %s", c.Tolerance)
		}
	}
	if usage := (badUsage{}); c.Report == 0 || errors.As(err, &usage) {
		return err
	}
	client := openPatient(s)
	defer func() { _ = client.Close() }()
	if failed := recent.NoteReconciled(ctx, client, done); failed != nil {
		return badInput{errors.Join(err, fmt.Errorf("the outcome was not reported: %w", failed))}
	}
	return err
}

func (c reconcileCommand) compare(ctx context.Context, p program) (r admin.Reconciliation, err error) {
	tolerance, err := invoice.ParseTolerance(c.Tolerance)
	if err != nil {
		return r, badUsage{fmt.Errorf("--tolerance: %w", err)}
	}
	span, err := invoice.ParseSpan(c.From, c.To)
	if err != nil {
		return r, badUsage{fmt.Errorf("--from, --to: %w", err)}
	}
	span.Account = c.Account
	if today, _, err := (usageCommand{}).report(ctx, p); err == nil { // else the ledger cannot be read below
		span.Money = today.Money
	}
	sums, err := c.read(span, p.stderr)
	if err != nil {
		return r, badInput{err}
	}
	from, to := span.Of(sums)
	report, _, err := usageCommand{From: from, To: to, Kinds: true}.report(ctx, p)
	var ledger []invoice.Use
	if err == nil {
		ledger, err = report.Uses()
		ledger = invoice.OnAccount(ledger, c.Account)
	}
	if err != nil {
		return r, badInput{err}
	}
	if c.Map == "" { // a bill of sluice usage has names escaped as cells
		for i := range ledger {
			ledger[i].Model = admin.Cell(ledger[i].Model)
		}
	}
	return admin.Reconciliation{
		Report: invoice.Compare(sums, ledger, tolerance), Currency: report.Currency, From: report.From, To: report.To, Account: c.Account,
		Accounts: sums.Accounts,
	}, nil
}

// read adds up the bill, and writes the map's warnings. An error begins with the faulty file: the map or the bill.
func (c reconcileCommand) read(span invoice.Span, warn io.Writer) (sums *invoice.Sums, err error) {
	columns := &invoice.Focus
	if c.Map != "" {
		text, err := files.Read(c.Map)
		if err == nil {
			columns, err = invoice.ParseMap(text)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Map, err)
		}
		_, _ = io.WriteString(warn, columns.Warning(c.Map))
	}
	in := os.Stdin
	if c.Bill != "-" {
		file, err := os.Open(c.Bill)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Bill, files.Pathless(err))
		}
		defer func() { _ = file.Close() }()
		in = file
	}
	if sums, err = invoice.Read(in, columns, span); err != nil {
		err = fmt.Errorf("%s: %w", c.Bill, err)
	}
	return sums, err
}
