package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"strings"
	"text/tabwriter"
	"time"

	"sluice/cmd/sluice/files"
	"sluice/cmd/sluice/settings"
	"sluice/gateway/admin"
	"sluice/policy/strictyaml"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// directoryCommand is sluice directory.
type directoryCommand struct {
	Export exportCommand `cmd:"" help:"Write the directory to standard output, with the hashes of its keys."`
	Import importCommand `cmd:"" help:"Replace the directory by an exported one, or by teams in the form of a teams file."`
}

// exportCommand is sluice directory export.
type exportCommand struct{}

// Run writes the directory.
func (exportCommand) Run(ctx context.Context, p program) error {
	return withDirectory(ctx, p, func(ctx context.Context, _ settings.Settings, kept teams.Store) error {
		s, err := kept.Read(ctx)
		if err != nil {
			return fmt.Errorf("read the directory: %w", err)
		}
		d, err := s.Open()
		if err != nil {
			return err
		}
		_, err = p.stdout.Write(d.Text())
		return err
	})
}

// importCommand is sluice directory import.
type importCommand struct {
	File   string `arg:"" help:"The file to read; - for standard input."`
	Force  bool   `help:"Also if the directory was changed after the file was exported: undo these changes."`
	Reason string `placeholder:"…" help:"Why, in up to 200 characters; kept in the audit."`
}

// Run replaces the directory and prints the changes.
func (c importCommand) Run(ctx context.Context, p program) error {
	text, err := contentIn(c.File)
	if err != nil {
		return fmt.Errorf("read the file to import: %w", err)
	}
	given, err := teams.ReadDocument(text)
	if bad := strictyaml.Faults(nil); errors.As(err, &bad) {
		return settings.DocumentFaults("directory", bad)
	} else if err != nil {
		return err
	}
	return withDirectory(ctx, p, func(ctx context.Context, s settings.Settings, kept teams.Store) error {
		var was int64
		order := commandOrder(c.Reason)
		order.Money = fileOrNone(s).Money
		d, err := teams.Commit(ctx, kept, order, func(d teams.Document) (teams.Change, error) {
			was = d.Version
			return teams.Import{Document: given, Force: c.Force}, nil
		})
		if err != nil {
			return err
		}
		warnOfOwners(p.stderr, s, d)
		if d.Version == was {
			_, err = fmt.Fprintf(p.stdout, "nothing has changed: version %d, %d %s\n", d.Version, len(d.Teams),
				unit.Noun(int64(len(d.Teams)), "teams"))
		} else {
			_, err = fmt.Fprintf(p.stdout, "imported: version %d, was %d; %d %s\n", d.Version, was, len(d.Teams),
				unit.Noun(int64(len(d.Teams)), "teams"))
		}
		return err
	})
}

// contentIn reads the file that a command names; - is standard input.
func contentIn(file string) ([]byte, error) {
	if file == "-" {
		return files.All(os.Stdin)
	}
	return files.Read(file)
}

// warnOfOwners warns of parts that the teams file overrides. It ignores an unreadable teams file, which may be on another machine.
func warnOfOwners(w io.Writer, s settings.Settings, d teams.Document) {
	_, ignored, err := fileOrNone(s).Join(d.Text())
	if err == nil && len(ignored) > 0 {
		for line := range strings.Lines(ignored.Error() + "\n") {
			_, _ = io.WriteString(w, "warning: "+line)
		}
	}
}

// withDirectory calls do with the directory of the environment's settings.
func withDirectory(ctx context.Context, p program, do func(context.Context, settings.Settings, teams.Store) error) error {
	s, err := settingsFor(p.environ, "REDIS_URL", "REDIS_URL_FILE", "DIRECTORY_FILE", "TEAMS_FILE")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, usageTimeout)
	defer cancel()
	if s.RedisURL == "" {
		return do(ctx, s, directoryStore(s, nil))
	}
	client := openPatient(s)
	defer func() { _ = client.Close() }()
	return do(ctx, s, directoryStore(s, client))
}

// commandOrder returns an order by the user who runs the command.
func commandOrder(reason string) teams.Order {
	who := "command"
	if u, err := user.Current(); err == nil && teams.IsProse(u.Username) {
		who += ":" + u.Username
	}
	return teams.Order{Who: who, Address: thisHost(), Reason: reason, Now: time.Now()}
}

// auditCommand is sluice audit.
type auditCommand struct {
	Team   string `placeholder:"T" help:"Only this team's entries."`
	JSON   bool   `help:"As JSON, one entry a line, exactly as they are kept."`
	Verify bool   `help:"Prove instead that no entry was changed, dropped or moved; exit code 1 if one was."`
}

// Run prints the audit of the directory, or proves it.
func (a auditCommand) Run(ctx context.Context, p program) error {
	return withDirectory(ctx, p, func(ctx context.Context, _ settings.Settings, kept teams.Store) error {
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
		case bad != nil: // one bad entry must not hide the others
			e = teams.Entry{What: "cannot be read; see sluice audit --verify"}
		}
		if count++; count == 1 {
			_, _ = fmt.Fprintln(table, "ENTRY\tTIME\tWHO\tFROM\tWHAT\tTEAM\tKEY\tREASON")
		}
		_, _ = fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", e.Seq, e.Time.Format(time.RFC3339),
			admin.Printable(e.Who), admin.Printable(e.Address), admin.Printable(e.What), admin.Printable(e.Team), admin.Printable(e.Key),
			admin.Printable(e.Reason))
	}
	if count == 0 && !a.JSON {
		_, err := fmt.Fprintln(w, "no entries")
		return err
	}
	return table.Flush()
}

// verifyAudit proves the whole audit.
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
	are := "are as they were"
	if proof.Count == 1 {
		are = "is as it was"
	}
	_, err = fmt.Fprintf(w, "%d %s, %d to %d, %s written, and the directory is as the last one left it.\nhead %s\n",
		proof.Count, unit.Noun(proof.Count, "entries"), proof.First, proof.Last, are, is.Head())
	return err
}
