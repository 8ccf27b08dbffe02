package policy

import (
	"fmt"
	"io"
)

// WriteRules writes the table of rules as text, a block of lines for each: its id and mode, the requests it is about,
// the member, what is allowed, and the sentence of interface.md that it comes from. After them stand the sentences that
// no gateway can judge. Headers are named with prefix, as in [Call]. This is what `sluice check --rules` prints.
func WriteRules(w io.Writer, prefix string) error {
	p := printer{w: w, call: Call{Prefix: prefix}}
	for i := range rules {
		p.rule(&rules[i])
	}
	p.printf("Sentences that no gateway can judge:\n")
	for _, sentence := range unjudged {
		p.printf("\n  from   %s\n  why    %s\n", sentence[0], sentence[1])
	}
	return p.err
}

// printer writes until the first error and keeps it.
type printer struct {
	w    io.Writer
	call Call // names the headers
	err  error
}

func (p *printer) rule(r *rule) {
	p.printf("%s  %s\n  when   %s\n  field  %s\n  allow  %s\n  from   %s\n\n",
		r.ID, r.Mode, r.When.text, r.Field, r.Check.allowed, r.From)
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = io.WriteString(p.w, p.call.spelled(fmt.Sprintf(format, args...)))
	}
}
