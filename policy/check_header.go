package policy

import (
	"cmp"
	"strings"

	"sluice/policy/strictjson"
)

// asyncHeader judges the async header. It must be on where a task is created, and off on every other path. Its values
// are enable and disable in any case, the same in every line of it, or two readers could see two requests.
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

// inPlaceOf says what a client sent in place of the service's header of that word, or none where it sent nothing like it.
func (c *Call) inPlaceOf(word, none string) string {
	if name := c.stray(word); name != "" {
		return name + " in its place"
	}
	return none
}

// stray is the name of a header that is the service's but for what stands before its word, such as X-Acme-Async; of
// several the first by name. Empty: there is none.
func (c *Call) stray(word string) (stray string) {
	for name := range c.Header {
		head := len(name) - len(word) - 1
		if head < 1 || name[head] != '-' || !strings.EqualFold(name[head+1:], word) || strings.EqualFold(name, c.prefix()+word) {
			continue
		}
		if stray == "" || name < stray {
			stray = name
		}
	}
	if short := cut(stray); short != stray {
		return short + "..."
	}
	return stray
}

// neutralPrefix is the word that interface.md has in place of a service's own, and with it the table of rules.
const neutralPrefix = "X-Service-"

func (c *Call) prefix() string { return cmp.Or(c.Prefix, neutralPrefix) }

// spelled names the headers in a text of the table by the service's own word.
func (c *Call) spelled(text string) string {
	return strings.ReplaceAll(text, neutralPrefix, c.prefix())
}

// sseHeader judges the SSE header, which may be on or off.
func sseHeader(q *Request) offence {
	found, _ := headerSwitch(q.facts.call.SSE)
	return found
}

// headerSwitch reads the values of a header that is a switch. No value, an empty list, is off.
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
