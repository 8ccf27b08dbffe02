package main

import (
	"cmp"
	"slices"
	"strings"
)

// fault is one thing wrong with the configuration. It names the setting and what is allowed, never the value that was
// found: a value in the wrong variable may be a secret.
type fault struct {
	Name string // the setting, such as SLUICE_LISTEN, or the teams file's path
	Text string // what is allowed, or what is wrong, in words
}

// faults is everything wrong with the configuration at once. As an error it makes the program end with exit code 2.
type faults []fault

// Error lists one fault a line.
func (fs faults) Error() string {
	var lines strings.Builder
	for i, f := range fs {
		if i > 0 {
			lines.WriteByte('\n')
		}
		lines.WriteString(f.Name + ": " + f.Text)
	}
	return lines.String()
}

// add notes a fault unless the setting has one already: the first says what has to change first.
func (fs *faults) add(name, text string) {
	if !fs.has(name) {
		*fs = append(*fs, fault{name, text})
	}
}

func (fs faults) has(name string) bool {
	return slices.ContainsFunc(fs, func(f fault) bool { return f.Name == name })
}

// err is fs as an error, nil when there is nothing wrong.
func (fs faults) err() error {
	if len(fs) == 0 {
		return nil
	}
	slices.SortStableFunc(fs, func(a, b fault) int { return cmp.Compare(a.Name, b.Name) })
	return fs
}
