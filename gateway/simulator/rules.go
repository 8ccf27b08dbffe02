package simulator

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// check judges one value and returns what is wrong with it, or nothing. The
// text follows the parameter's name.
type check func(v any) string

// rule is one parameter's check. An absent or null parameter passes.
type rule struct {
	name  string
	check check
}

// checkAll applies rules to the parameters and returns the first violation.
func checkAll(parameters object, rules []rule) error {
	for _, r := range rules {
		v, ok := parameters[r.name]
		if !ok || v == nil {
			continue
		}
		if complaint := r.check(v); complaint != "" {
			return invalid("parameters.%s %s", r.name, complaint)
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

// integers is the closed range of whole numbers.
func integers(from, to float64) check {
	return span{from: from, to: to, whole: true}.check
}

// atLeast is every whole number from n up.
func atLeast(n float64) check {
	return integers(n, math.Inf(1))
}

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

// seed is the range of random seeds on every endpoint.
var seed = integers(0, math.MaxInt32)

// checkModel requires a model the service has.
func (s *Simulator) checkModel(c *call) error {
	if c.model == "" {
		return invalid("model is required and must be a string")
	}
	if s.cfg.Models != nil && !matches(s.cfg.Models, c.model) {
		return &refusal{status: 404, code: "ModelNotFound", message: "Model can not be found."}
	}
	if v, ok := c.body["parameters"]; ok && v != nil && asObject(v) == nil {
		return invalid("parameters must be an object")
	}
	return nil
}
