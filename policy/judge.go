package policy

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Finding is one rule that a request breaks.
type Finding struct {
	Rule    string // id of the rule
	Field   string // path of the member, or the header, with the index of the first offender
	Given   string // what was given, in printable ASCII, with at most 64 bytes from the client
	Allowed string // what is allowed, in words
	Limit   string // the bound as one number, if the rule has one
	Count   int    // elements that break the rule, 1 to 100 (or more); Field and Given are of the first
}

// String is the finding in one sentence, for the message of a 400.
func (f Finding) String() string {
	more := ""
	switch {
	case f.Count >= maxMarked:
		more = fmt.Sprintf(" and at least %d more", f.Count-1)
	case f.Count > 1:
		more = fmt.Sprintf(" and %d more", f.Count-1)
	}
	return fmt.Sprintf("%s: given %s%s, allowed %s (%s)", f.Field, f.Given, more, f.Allowed, f.Rule)
}

// Warning is the value of a Sluice-Warning header, with parameters as in structured fields:
// `image.prompt.length;limit=2000;given=2317`.
func (f Finding) Warning() string {
	var b strings.Builder
	b.WriteString(f.Rule)
	if f.Limit != "" {
		b.WriteString(";limit=" + parameter(f.Limit))
	}
	return b.String() + ";given=" + parameter(f.Given)
}

// parameter writes s as a bare item of structured fields: a number as it is, other text as a quoted string.
func parameter(s string) string {
	if _, err := strconv.ParseInt(s, 10, 64); err == nil && len(s) <= 15 {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// Verdict is the rules' judgment of a request, in the order of the table.
type Verdict struct {
	Violations []Finding // of rules whose mode is refuse: any of them makes a 400
	Warnings   []Finding // of rules whose mode is warn: the request is let through
}

// Judge judges a request by every rule of the table. A rule's mode is the team's, else the gateway's, else that of the
// table. A request that breaks no rule costs no allocation.
func Judge(gateway, team Modes, req *Request) Verdict {
	var verdict Verdict
	list := rulesOfImages
	if req.isText() {
		list = rulesOfText
	}
	for i := range list {
		if list[i].idle(req.facts) {
			continue
		}
		rule := list[i].rule
		if !rule.When.holds(req) {
			continue
		}
		found := rule.Check.find(req)
		if found.count == 0 {
			continue
		}
		switch team.Of(rule.ID, gateway.Of(rule.ID, rule.Mode)) {
		case ModeRefuse:
			verdict.Violations = append(verdict.Violations, rule.finding(found, &req.facts.call))
		case ModeWarn:
			verdict.Warnings = append(verdict.Warnings, rule.finding(found, &req.facts.call))
		}
	}
	return verdict
}

// RuleIDs lists the ids of all rules in the order of the table.
func RuleIDs() []string {
	ids := make([]string, len(rules))
	for i := range rules {
		ids[i] = rules[i].ID
	}
	return ids
}

// finding is an offence in the words of its rule. The offender's indices go into the empty brackets of the rule's field,
// from the left.
func (r *rule) finding(found offence, call *Call) Finding {
	field := call.spelled(r.Field)
	for _, index := range found.at {
		field = strings.Replace(field, "[]", "["+strconv.Itoa(int(index))+"]", 1)
	}
	given := found.given
	if found.text {
		given = quote(given)
	}
	return Finding{
		Rule: r.ID, Field: field, Given: given, Allowed: call.spelled(r.Check.allowed), Limit: r.Check.limit, Count: int(found.count),
	}
}

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

// Row is a rule of the table in readable form.
type Row struct {
	ID      string
	When    string // the requests it applies to
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

// Brief quotes a client's input for a message, cut to 64 bytes.
func Brief(input string) string {
	if len(input) > 64 {
		input = input[:64] + "…"
	}
	return strconv.Quote(strings.ToValidUTF8(input, "?"))
}
