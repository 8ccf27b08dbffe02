package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"sluice/gateway/admin"
	"sluice/policy/teams"
)

// auditCommand is sluice audit.
type auditCommand struct {
	Team   string `placeholder:"T" help:"Of one team alone."`
	JSON   bool   `help:"As JSON, one entry a line, exactly as they are kept."`
	Verify bool   `help:"Prove instead that no entry was changed, dropped or moved; exit code 1 if one was."`
}

// Run prints the audit of the directory, or proves it.
func (a auditCommand) Run(ctx context.Context, p program) error {
	return withDirectory(ctx, p, func(ctx context.Context, _ settings, kept teams.Store) error {
		if a.Verify {
			return verifyAudit(ctx, p.stdout, kept)
		}
		return a.print(ctx, p.stdout, kept)
	})
}

func (a auditCommand) print(ctx context.Context, w io.Writer, kept teams.Store) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	count := 0
	for text, err := range kept.Entries(ctx, false) {
		if err != nil {
			return fmt.Errorf("read the audit: %w", err)
		}
		e, bad := teams.ReadEntry(text)
		switch {
		case a.Team != "" && e.Team != a.Team:
			continue
		case a.JSON:
			if _, err := fmt.Fprintf(w, "%s\n", text); err != nil {
				return err
			}
			continue
		case bad != nil: // it must not hide the others
			e = teams.Entry{What: "cannot be read; see sluice audit --verify"}
		}
		if count++; count == 1 {
			_, _ = fmt.Fprintln(table, "ENTRY\tTIME\tWHO\tFROM\tWHAT\tTEAM\tKEY\tREASON")
		}
		_, _ = fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", e.Seq, e.Time.Format(time.RFC3339),
			admin.Printable(e.Who), admin.Printable(e.Address), admin.Printable(e.What), admin.Printable(e.Team), admin.Printable(e.Key), admin.Printable(e.Reason))
	}
	if count == 0 && !a.JSON {
		_, err := fmt.Fprintln(w, "no entries")
		return err
	}
	return table.Flush()
}

// verifyAudit proves the whole trail.
func verifyAudit(ctx context.Context, w io.Writer, kept teams.Store) error {
	proof, is, err := teams.Prove(ctx, kept)
	if err != nil {
		return err
	}
	if faults := proof.Verify(is); len(faults) > 0 {
		return fmt.Errorf("the audit is not as it was written:\n  %s", strings.Join(faults, "\n  "))
	}
	if proof.Count == 0 {
		_, err = fmt.Fprintln(w, "no entries")
		return err
	}
	_, err = fmt.Fprintf(w, "%d entries, %d to %d, are as they were written, and the directory is as the last one left it.\nhead %s\n",
		proof.Count, proof.First, proof.Last, is.Head())
	return err
}
