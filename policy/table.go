package policy

import (
	"slices"
	"strings"
)

// rules is interface.md in executable form: one row per sentence that a gateway can judge. Lay it beside that document
// and tick every bound; the sentences that no gateway can judge are in unjudged.
//
// A bound that the document states is refused. What it says is truncated, ignored, without effect, of the other mode,
// or states in two ways, is warned of: such a request does something, and nothing legal is ever refused.
//
// Headers are named as in that document; what is said of them has the service's own word, see [Call].
//
// A row reads: id, when, field, check, the sentence it comes from, mode. The sentences are verbatim; the number before
// one is its endpoint, M the message resources and L the limits. Names that the document does not show are those that
// the service's clients use.
var rules = slices.Concat(headerRules, textRules, toolRules, imageRules, inputRules)

var headerRules = []rule{
	{"header.async", whenAlways, "X-Service-Async",
		check{allowed: "enable where a task is created, elsewhere disable or no such header", find: asyncHeader},
		"3: X-Service-Async: enable (required, must be enable).", ModeRefuse},
	{"header.sse", whenAlways, "X-Service-SSE",
		check{allowed: "enable or disable", find: sseHeader},
		"1: For streaming, also X-Service-SSE: enable.", ModeRefuse},
}

// rulesOfText and rulesOfImages are the rules that a request of that sort can break, so that none is asked in vain.
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
