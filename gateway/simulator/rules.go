package simulator

import (
	"fmt"
	"math"
	"net/http"
	"path"
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

// Refusals of requests whose header asks for the wrong kind of answer.
var (
	errNeedAsync = &refusal{status: http.StatusForbidden, code: "AccessDenied", message: "current user api does not support synchronous calls."}
	errNoAsync   = &refusal{status: http.StatusForbidden, code: "AccessDenied", message: "current user api does not support asynchronous calls."}
)

// book is the settings of the rules. The zero value knows every model and no
// family of models.
type book struct {
	headerPrefix    string // of the service's own headers, for messages
	looseInterleave bool   // interleaved output needs no stream
	// Patterns of models, see Config.
	models, editModels, messageModels, thinkingModels, visionModels []string
}

// checkModel requires a model the service has.
func (b *book) checkModel(q *request) error {
	if q.model == "" {
		return invalid("model is required and must be a string")
	}
	if b.models != nil && !matches(b.models, q.model) {
		return &refusal{status: 404, code: "ModelNotFound", message: "Model can not be found."}
	}
	if v, ok := q.body["parameters"]; ok && v != nil && asObject(v) == nil {
		return invalid("parameters must be an object")
	}
	return nil
}

// matches reports whether one of the patterns stands for the model.
func matches(patterns []string, model string) bool {
	for _, p := range patterns {
		// path.Match stops * at a slash, which model names do not hold by
		// custom; replacing it keeps one that does from slipping through.
		ok, err := path.Match(strings.ReplaceAll(p, "/", "|"), strings.ReplaceAll(model, "/", "|"))
		if err == nil && ok {
			return true
		}
	}
	return false
}
