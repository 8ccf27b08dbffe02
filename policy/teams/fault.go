package teams

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Fault is one thing wrong in an input of the operator. No field contains a secret, or more than 64 bytes of one input.
type Fault struct {
	Line   int    // 1 for the first; 0 if the input has no lines
	Column int    // in characters, 1 for the first; 0 where unknown
	Field  string // the field, such as "teams[0].rates.tokens.per"; empty if the fault is not in one field
	Word   string // the word at the column, as far as it may be shown; may be empty
	Text   string // what was given and what is allowed
}

// maxIndent bounds the columns before a line's first word, in a file and in what Caret draws.
const maxIndent = 128

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

// Caret draws the faulty word at its column with carets under it, in two lines. It is empty if there is no word to show.
// The rest of the line is not drawn, because it may hold a key.
func (f Fault) Caret() string {
	if f.Word == "" || f.Column < 1 {
		return ""
	}
	indent := strings.Repeat(" ", min(f.Column-1, maxIndent))
	return indent + f.Word + "\n" + indent + strings.Repeat("^", utf8.RuneCountInString(f.Word)) + "\n"
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

// sorted puts the faults in the order of their places.
func (f Faults) sorted() Faults {
	slices.SortStableFunc(f, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return f
}
