package policy

import (
	"fmt"
	"io"
	"strings"
)

// WriteRules writes the table of rules as text, a block of lines for each: its id and mode, the requests it is about,
// the member, what is allowed, and the sentence of interface.md that it comes from. The sentences that no gateway can
// judge follow. Headers have the prefix, as in [Call]. This is what `sluice check --rules` prints.
func WriteRules(w io.Writer, prefix string) error {
	var b strings.Builder
	for _, r := range rules {
		fmt.Fprintf(&b, "%s  %s\n  when   %s\n  field  %s\n  allow  %s\n  from   %s\n\n",
			r.ID, r.Mode, r.When.text, r.Field, r.Check.allowed, r.From)
	}
	b.WriteString("Sentences that no gateway can judge:\n")
	for _, sentence := range unjudged {
		fmt.Fprintf(&b, "\n  from   %s\n  why    %s\n", sentence[0], sentence[1])
	}
	call := Call{Prefix: prefix}
	_, err := io.WriteString(w, call.spelled(b.String()))
	return err
}

// Row is a rule of the table for people.
type Row struct {
	ID      string
	When    string // the requests it is about
	Field   string // the member or header it is about
	Allowed string
	From    string // the sentence of interface.md that it comes from
	Mode    Mode   // unless a setting says otherwise
}

// Table returns the table of rules. Headers have the prefix, as in [Call].
func Table(prefix string) []Row {
	call := Call{Prefix: prefix}
	rows := make([]Row, len(rules))
	for i := range rules {
		r := &rules[i]
		rows[i] = Row{r.ID, r.When.text, call.spelled(r.Field), call.spelled(r.Check.allowed), call.spelled(r.From), r.Mode}
	}
	return rows
}
