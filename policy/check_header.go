package policy

import (
	"strings"

	"sluice/policy/strictjson"
)

// asyncHeader judges the async header, which must be on where a task is created and off on every other path. Its value is
// enable or disable in any case, the same on every line of it: otherwise two parsers could see two requests.
func asyncHeader(q *Request) offence {
	found, on := headerSwitch(q.facts.call.Async)
	switch must := q.Kind == KindTask; {
	case found.count > 0 || on == must:
		return found
	case must:
		return offends(q.facts.call.inPlaceOf("Async", strictjson.Absent.String()))
	}
	return offends(quote(q.facts.call.Async[0]))
}

// sseHeader judges the SSE header, which may be on or off.
func sseHeader(q *Request) offence {
	found, _ := headerSwitch(q.facts.call.SSE)
	return found
}

// headerSwitch reads the values of a header that is a switch. Without values it is off.
func headerSwitch(values []string) (found offence, on bool) {
	off := false
	for _, v := range values {
		switch {
		case strings.EqualFold(v, "enable"):
			on = true
		case strings.EqualFold(v, "disable"):
			off = true
		default:
			return offends(quote(v)), false
		}
	}
	if on && off {
		return offends(quote(strings.Join(values, ", "))), false
	}
	return offence{}, on
}
