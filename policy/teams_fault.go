package policy

import (
	"fmt"
	"strings"
)

// Fault is one thing wrong in an input of the operator. No field of it contains a secret, nor more than 64 bytes of input.
type Fault struct {
	Line   int    // 1 for the first; 0 where the input has no lines
	Column int    // 1 for the first; 0 where unknown
	Field  string // where, "teams[0].rates.tokens.per"; empty where the fault is not in one field
	Text   string // what was given and what is allowed
}

// String renders the fault on one line.
func (f Fault) String() string {
	var b strings.Builder
	if f.Line > 0 {
		fmt.Fprintf(&b, "line %d", f.Line)
		if f.Column > 0 {
			fmt.Fprintf(&b, ":%d", f.Column)
		}
		b.WriteString(": ")
	}
	if f.Field != "" {
		b.WriteString(f.Field + ": ")
	}
	return b.String() + f.Text
}

// Faults is everything wrong with an input, in the order of its lines.
type Faults []Fault

// Error renders the faults, one per line.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, fault := range f {
		lines[i] = fault.String()
	}
	return strings.Join(lines, "\n")
}
