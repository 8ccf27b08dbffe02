package policy

import (
	"math"
	"strconv"
	"strings"

	"sluice/policy/strictjson"
)

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

// noneOf demands that the member is absent.
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

// atMost demands that an integer is not larger. Another rule judges what is not an integer.
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
