package rules

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"sluice/gateway/simulator/answer"
	"sluice/gateway/simulator/request"
)

// check judges one value and returns what is wrong with it, or nothing. The text follows the parameter's name.
type check func(v any) string

// rule is one parameter's check. An absent or null parameter passes.
type rule struct {
	name  string
	check check
}

// checkAll applies rules to the parameters and returns the first violation.
func checkAll(parameters request.Object, rules []rule) error {
	for _, r := range rules {
		v := parameters[r.name]
		if v == nil {
			continue
		}
		if complaint := r.check(v); complaint != "" {
			return answer.Invalid("parameters.%s %s", r.name, complaint)
		}
	}
	return nil
}

// span is a range of numbers.
type span struct {
	from, to         float64
	openFrom, openTo bool // the end itself is outside
	whole            bool // integers only
}

func (s span) check(v any) string {
	f, ok := v.(float64)
	switch {
	case !ok:
		return "must be a number"
	case s.whole && f != math.Trunc(f):
		return "must be an integer"
	case f < s.from, f > s.to, s.openFrom && f == s.from, s.openTo && f == s.to:
		return fmt.Sprintf("must be in %s", s)
	}
	return ""
}

// String writes the range as mathematicians do.
func (s span) String() string {
	left, right := "[", "]"
	if s.openFrom {
		left = "("
	}
	if s.openTo {
		right = ")"
	}
	return fmt.Sprintf("%s%g, %g%s", left, s.from, s.to, right)
}

// integers is a closed range of whole numbers.
func integers(from, to float64) check {
	return span{from: from, to: to, whole: true}.check
}

// atLeast is every whole number from n up.
func atLeast(n float64) check { return integers(n, math.Inf(1)) }

// seed is the range of random seeds on every endpoint.
var seed = integers(0, math.MaxInt32)

func boolean(v any) string {
	if _, ok := v.(bool); !ok {
		return "must be a boolean"
	}
	return ""
}

func str(v any) string {
	if _, ok := v.(string); !ok {
		return "must be a string"
	}
	return ""
}

// words allows only the strings listed.
func words(list ...string) check {
	return func(v any) string {
		if s, ok := v.(string); !ok || !slices.Contains(list, s) {
			return "must be one of " + strings.Join(list, ", ")
		}
		return ""
	}
}
