package policy

import (
	"fmt"
	"strconv"
	"strings"
)

// Finding is one rule that a request breaks.
type Finding struct {
	Rule    string // id of the rule
	Field   string // path of the member, or the header, with the index of the first offender
	Given   string // what was given, in printable ASCII, at most 64 bytes of it the client's
	Allowed string // what is allowed, in words
	Limit   string // the bound as one number, where the rule has one
	Count   int    // how many elements break the rule, at least 1; 100 are counted; Field and Given are the first one's
}

// String says it in one sentence, for the message of a 400.
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

// Warning is the value of a Sluice-Warning header: `image.prompt.length;limit=2000;given=2317`, parameters as
// structured fields write them.
func (f Finding) Warning() string {
	var b strings.Builder
	b.WriteString(f.Rule)
	if f.Limit != "" {
		b.WriteString(";limit=" + parameter(f.Limit))
	}
	return b.String() + ";given=" + parameter(f.Given)
}

// parameter writes s as a bare item: a number as it is, everything else as a quoted string.
func parameter(s string) string {
	if _, err := strconv.ParseInt(s, 10, 64); err == nil && len(s) <= 15 {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// Verdict is what the rules say about a request, in the order of the table.
type Verdict struct {
	Violations []Finding // of rules whose mode is refuse: any of them makes a 400
	Warnings   []Finding // of rules whose mode is warn: the request goes through
}

// Judge judges a request by every rule of the table at once. What a finding does is decided by the rule's mode: the
// team's, else the gateway's, else the table's own. A request that breaks nothing costs no allocation.
func Judge(gateway, team Modes, req *Request) Verdict {
	var verdict Verdict
	for _, rule := range rulesFor(req) {
		if rule.Check.idle(req.facts) || !rule.When.holds(req) {
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

// finding puts an offence into the words of its rule. The empty brackets of the rule's field take the offender's
// indices, from the left.
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
