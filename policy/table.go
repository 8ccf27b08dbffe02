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

func rulesWhere(wanted func(id string) bool) (list []*rule) {
	for i := range rules {
		if wanted(rules[i].ID) {
			list = append(list, &rules[i])
		}
	}
	return list
}

func rulesFor(q *Request) []*rule {
	if q.isText() {
		return rulesOfText
	}
	return rulesOfImages
}
