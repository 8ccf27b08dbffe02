package main

import (
	"cmp"
	"slices"
	"strings"
)

// fault is one fault of the configuration. It names the setting and what is allowed, never the value: a value in the wrong
// variable may be a secret. Ids and modes of rules are shown if they have the form of one.
type fault struct {
	Name string // the setting, such as SLUICE_LISTEN, or the teams file's path
	Text string // the allowed values, or the fault
	Mark string // the faulty part of a file with carets under it, in whole lines; empty: not shown
}

// faults are all faults of the configuration. As an error they make the program exit with code 2.
type faults []fault

// Error lists one fault a line, and its mark below it.
func (fs faults) Error() string {
	lines := make([]string, 0, len(fs))
	for _, f := range fs {
		lines = append(lines, f.Name+": "+f.Text)
		for mark := range strings.Lines(f.Mark) {
			lines = append(lines, "    "+strings.TrimSuffix(mark, "\n"))
		}
	}
	return strings.Join(lines, "\n")
}

// oneLine is Error in one line, for the log and for readiness.
func (fs faults) oneLine() string {
	texts := make([]string, len(fs))
	for i, f := range fs {
		texts[i] = f.Name + ": " + f.Text
	}
	return strings.Join(texts, "; ")
}

// add notes a fault unless the setting has one already.
func (fs *faults) add(name, text string) {
	if !fs.has(name) {
		*fs = append(*fs, fault{Name: name, Text: text})
	}
}

func (fs faults) has(name string) bool {
	return slices.ContainsFunc(fs, func(f fault) bool { return f.Name == name })
}

// err is fs as an error; nil: no fault.
func (fs faults) err() error {
	if len(fs) == 0 {
		return nil
	}
	slices.SortStableFunc(fs, func(a, b fault) int { return cmp.Compare(a.Name, b.Name) })
	return fs
}
