package policy

import (
	"maps"
	"math"
	"strconv"
	"strings"

	"sluice/policy/strictjson"
)

// Mode determines the fate of a request that breaks a rule.
type Mode string

// The modes.
const (
	ModeRefuse Mode = "refuse" // 400, with every violation
	ModeWarn   Mode = "warn"   // let through, reported in a Sluice-Warning header and counted
	ModeOff    Mode = "off"    // not checked
)

// Modes are the modes that the operator sets, by rule id. Other rules keep theirs; nil sets none.
type Modes map[string]Mode

// Of returns the mode of the rule with this id, or own if none is set.
func (m Modes) Of(id string, own Mode) Mode {
	if set, ok := m[id]; ok {
		return set
	}
	return own
}

// Override returns m with the modes of over taking precedence. Neither is changed.
func (m Modes) Override(over Modes) Modes {
	if len(m) == 0 {
		return over
	}
	merged := maps.Clone(m)
	maps.Copy(merged, over)
	return merged
}

// rule is one row of the table: one sentence of interface.md.
type rule struct {
	ID    string // <kind>.<field>[.<aspect>], where text means text and chat, image all kinds of images
	When  when   // which requests it applies to
	Field string // path of the member it is about, or the header
	Check check  // what it demands
	From  string // the sentence it comes from
	Mode  Mode   // what happens to a request that breaks it, unless a setting says otherwise
}

// when selects the requests that a rule applies to.
type when struct {
	text  string // for the printed table
	holds func(*Request) bool
}

// check is the demand of a rule.
type check struct {
	allowed string                 // what is allowed, in words: "a number from -2 to 2"
	limit   string                 // the bound as one number, if there is just one
	find    func(*Request) offence // the first offender
	field   field                  // find finds nothing unless this member is set; fieldUnknown: no such member
	mark    mark                   // the same for a mark; markNone: no such mark
}

// offends is an offence without an index.
func offends(given string) offence { return offence{given: given, count: 1} }

// of checks one member's value. Absent and null pass.
func of(f field, allowed string, legal func(value) bool) check {
	return check{allowed: allowed, field: f, find: func(q *Request) offence {
		if v := q.facts.values[f]; !legal(v) {
			return offends(v.given())
		}
		return offence{}
	}}
}

// integer demands an integer from low to high.
func integer(f field, low, high int64) check {
	words := "an integer from " + strconv.FormatInt(low, 10) + " to " + strconv.FormatInt(high, 10)
	switch {
	case low == high:
		words = strconv.FormatInt(low, 10)
	case high == math.MaxInt64:
		words = "an integer of at least " + strconv.FormatInt(low, 10)
	}
	return of(f, words, func(v value) bool {
		n, ok := v.integer()
		return ok && n >= low && n <= high
	})
}

// number demands a number for which the function is true.
func number(f field, allowed string, in func(float64) bool) check {
	return of(f, allowed, func(v value) bool {
		n, ok := v.number()
		return ok && in(n)
	})
}

// boolean demands true or false.
func boolean(f field) check {
	return of(f, "true or false", func(v value) bool { return v.shape == strictjson.True || v.shape == strictjson.False })
}

// ofShape demands a value of one type.
func ofShape(f field, s strictjson.Shape) check {
	return of(f, s.String(), func(v value) bool { return v.shape == s })
}

// oneOf demands one of some words.
func oneOf(f field, words ...string) check {
	return of(f, strings.Join(words, " or "), func(v value) bool {
		for _, w := range words {
			if v.shape == strictjson.String && v.text == w {
				return true
			}
		}
		return false
	})
}

// noneOf demands that the member is absent where the row's condition holds.
func noneOf(f field, allowed string) check {
	return of(f, allowed, func(value) bool { return false })
}

// notTrue demands that a switch is not on.
func notTrue(f field, allowed string) check {
	return of(f, allowed, func(v value) bool { return v.shape != strictjson.True })
}

// notWord demands that the value is not the word.
func notWord(f field, word, allowed string) check {
	return of(f, allowed, func(v value) bool { return v.shape != strictjson.String || v.text != word })
}

// atMost demands that an integer is not larger. Another rule judges values that are not integers.
func atMost(f field, limit int64, allowed string) check {
	c := of(f, allowed, func(v value) bool {
		n, ok := v.integer()
		return !ok || n <= limit
	})
	c.limit = strconv.FormatInt(limit, 10)
	return c
}

// hasShape is a condition on a member other than the one that the rule is about.
func hasShape(f field, s strictjson.Shape) func(*Request) bool {
	return func(q *Request) bool { return q.facts.values[f].shape == s }
}

// sizeForm demands a size; with classes, 1K and 2K are sizes, too.
func sizeForm(classes bool) check {
	allowed := "width*height in digits"
	if classes {
		allowed = "1K, 2K or width*height in digits"
	}
	return of(fieldSize, allowed, func(v value) bool {
		s, ok := parseSize(v.text)
		return v.shape == strictjson.String && ok && (classes || !s.class())
	})
}

// sizeIn demands that the function is true for a size of the form width*height. Another rule judges other forms.
func sizeIn(allowed string, legal func(size) bool) check {
	return of(fieldSize, allowed, func(v value) bool {
		s, ok := parseSize(v.text)
		return v.shape != strictjson.String || !ok || s.class() || legal(s)
	})
}

// area demands minArea to most pixels.
func area(allowed string, most int64) check {
	return sizeIn(allowed, func(s size) bool { return s.area() >= minArea && s.area() <= most })
}

// asyncHeader judges the async header, which must be on where a task is created and off on every other path. Its value is
// enable or disable in any case, the same on every line of it: otherwise two parsers could see two requests.
func asyncHeader(q *Request) offence {
	found, on := headerSwitch(q.facts.call.Async)
	switch must := q.Kind == KindTask; {
	case found.count > 0 || on == must:
		return found
	case len(q.facts.call.Async) == 0:
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
