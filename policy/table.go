package policy

import (
	"slices"
	"strings"
)

// rules is interface.md in executable form: one row per sentence that a gateway can judge, to be compared line by line.
// The sentences that no gateway can judge are in unjudged.
//
// A request beyond a stated bound is refused. It passes with a warning if the document says that the service truncates or
// ignores the member, that it has no effect or belongs to the other mode, or if the document contradicts itself: no legal
// request is ever refused.
//
// Headers are named as in the document; findings have the service's own prefix, see [Call].
//
// A row is: id, when, field, check, the sentence it comes from, mode. Sentences are verbatim; the number before one is
// its endpoint, M the message resources and L the limits. Names that the document does not show are those of the
// service's clients.
var rules = slices.Concat(headerRules, textRules, toolRules, imageRules, inputRules)

var headerRules = []rule{
	{"header.async", whenAlways, "X-Service-Async",
		check{allowed: "enable where a task is created, elsewhere disable or no such header", find: asyncHeader},
		"3: X-Service-Async: enable (required, must be enable).", ModeRefuse},
	{"header.sse", whenAlways, "X-Service-SSE",
		check{allowed: "enable or disable", find: sseHeader},
		"1: For streaming, also X-Service-SSE: enable.", ModeRefuse},
}

// rulesOfText and rulesOfImages are the rules that a request of that sort can break.
var (
	rulesOfText   = rulesWhere(func(id string) bool { return !strings.HasPrefix(id, "image.") })
	rulesOfImages = rulesWhere(func(id string) bool { return !strings.HasPrefix(id, "text.") })
)

// candidate is a rule behind what it takes to see that it has nothing to find. Nearly all rules have nothing to find in a request, and
// a row of the table is larger than a line of the processor's cache.
type candidate struct {
	field field // as in check
	mark  mark
	rule  *rule
}

func candidateOf(r *rule) candidate { return candidate{r.Check.field, r.Check.mark, r} }

// idle reports whether the rule has nothing to find.
func (c candidate) idle(f *facts) bool {
	return c.field != fieldUnknown && !f.values[c.field].set() || c.mark != markNone && f.marks[c.mark].count == 0
}

func rulesWhere(wanted func(id string) bool) (list []candidate) {
	for i := range rules {
		if r := &rules[i]; wanted(r.ID) {
			list = append(list, candidateOf(r))
		}
	}
	return list
}

func rulesFor(q *Request) []candidate {
	if q.isText() {
		return rulesOfText
	}
	return rulesOfImages
}
