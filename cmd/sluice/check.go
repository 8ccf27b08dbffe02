package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"sluice/policy"
	"sluice/policy/teams"
)

// checkCommand is sluice check.
type checkCommand struct {
	Rules bool `help:"Print the table of request rules instead."`
}

// Run shows the settings and teams in effect. It lists warnings and returns faults.
func (command checkCommand) Run(p program) error {
	if command.Rules {
		s, err := settingsFor(p.environ, "HEADER_PREFIX")
		if err != nil {
			return err
		}
		return policy.WriteRules(p.stdout, s.HeaderPrefix)
	}
	c, err := loadConfiguration(p.environ)
	var fs faults
	_ = errors.As(err, &fs)
	var text strings.Builder
	writeSettings(&text, c.settings, fs)
	if c.teams != nil {
		writeTeams(&text, c.teams)
	}
	for _, warning := range c.warnings {
		text.WriteString("# warning: " + warning + "\n")
	}
	if _, failed := io.WriteString(p.stdout, text.String()); failed != nil {
		return errors.Join(err, failed)
	}
	return err
}

// writeSettings writes an environment file of all settings in effect. A faulty value is not shown: it may be a secret in
// the wrong variable.
func writeSettings(w io.Writer, s settings, fs faults) {
	values := s.values()
	for _, name := range settingNames {
		if fs.has(name) {
			_, _ = fmt.Fprintf(w, "# faulty: %s\n", name)
			continue
		}
		_, _ = fmt.Fprintf(w, "%s=%s\n", name, values[name])
	}
}

// writeTeams writes one line for each team.
func writeTeams(w io.Writer, file *teams.File) {
	for _, team := range file.List {
		_, _ = fmt.Fprintf(w, "# team %s: %d keys, models %s, endpoints %s", team.ID, len(team.Keys), listOr(team.Models), listOr(team.Endpoints))
		if team.Disabled {
			_, _ = io.WriteString(w, ", disabled")
		}
		_, _ = io.WriteString(w, "\n")
	}
}

// listOr joins the words of a list; nil means all: *.
func listOr[T ~string](list []T) string {
	if list == nil {
		return "*"
	}
	words := make([]string, len(list))
	for i, word := range list {
		words[i] = string(word)
	}
	return strings.Join(words, ",")
}
