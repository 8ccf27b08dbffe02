package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/user"
	"strings"
	"time"

	"sluice/policy/teams"
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
	return withDirectory(ctx, p, func(ctx context.Context, _ settings, kept teams.Store) error {
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

// Run replaces the directory and says what has changed.
func (c importCommand) Run(ctx context.Context, p program) error {
	text, err := c.read()
	if err != nil {
		return fmt.Errorf("read the file to import: %w", err)
	}
	given, err := teams.ReadDocument(text)
	if err != nil {
		return directoryFaults(err)
	}
	return withDirectory(ctx, p, func(ctx context.Context, s settings, kept teams.Store) error {
		var was int64
		d, err := teams.Commit(ctx, kept, commandOrder(c.Reason), func(d teams.Document) (teams.Change, error) {
			was = d.Version
			return teams.Import{Document: given, Force: c.Force}, nil
		})
		if err != nil {
			return err
		}
		warnOfOwners(p.stderr, s, d)
		if d.Version == was {
			_, err = fmt.Fprintf(p.stdout, "nothing has changed: version %d, %d teams\n", d.Version, len(d.Teams))
		} else {
			_, err = fmt.Fprintf(p.stdout, "imported: version %d, was %d; %d teams\n", d.Version, was, len(d.Teams))
		}
		return err
	})
}

func (c importCommand) read() ([]byte, error) {
	if c.File == "-" {
		return readAll(os.Stdin)
	}
	return readFile(c.File)
}

// directoryFaults are the faults of a document as those of a configuration: a line each, with the faulty word marked.
func directoryFaults(err error) error {
	var bad teams.Faults
	if !errors.As(err, &bad) {
		return err
	}
	fs := make(faults, len(bad))
	for i, f := range bad {
		fs[i] = fault{Name: "directory", Text: f.String(), Mark: f.Caret()}
	}
	return fs
}

// warnOfOwners warns of what is not in force because the teams file has it too. A teams file that this command cannot read
// is another machine's.
func warnOfOwners(w io.Writer, s settings, d teams.Document) {
	file, bad := judgeTeams(contentOf(s.TeamsFile), nil, "")
	if bad != nil {
		return
	}
	_, ignored, err := file.Join(d.Text(), [sha256.Size]byte{})
	if err == nil && len(ignored) > 0 {
		for line := range strings.Lines(ignored.Error() + "\n") {
			_, _ = io.WriteString(w, "warning: "+line)
		}
	}
}

// withDirectory calls do with the directory of the environment's settings.
func withDirectory(ctx context.Context, p program, do func(context.Context, settings, teams.Store) error) error {
	s, err := settingsFor(p.environ, "REDIS_URL", "REDIS_URL_FILE", "DIRECTORY_FILE", "TEAMS_FILE")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, usageTimeout)
	defer cancel()
	if s.RedisURL == "" {
		return do(ctx, s, s.directoryStore(nil))
	}
	client := openRedis(patient(s), slog.New(slog.DiscardHandler), nil, 0)
	defer func() { _ = client.Close() }()
	return do(ctx, s, s.directoryStore(client))
}

// commandOrder is an order by whoever runs a command.
func commandOrder(reason string) teams.Order {
	who := "command"
	if u, err := user.Current(); err == nil && teams.IsProse(u.Username) {
		who += ":" + u.Username
	}
	return teams.Order{Who: who, Address: thisHost(), Reason: reason, Now: time.Now()}
}
