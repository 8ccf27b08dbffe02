// Package rules judges requests by the service's rules.
//
// It is written from the interface's specification alone and shares no code with the gateway's rules, so that each can
// be tested by the other.
package rules

import (
	"fmt"
	"math"
	"net/http"
	"path"
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
		v, ok := parameters[r.name]
		if !ok || v == nil {
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
	errNeedAsync = &answer.Refusal{Status: http.StatusForbidden, Code: "AccessDenied", Message: "current user api does not support synchronous calls."}
	errNoAsync   = &answer.Refusal{Status: http.StatusForbidden, Code: "AccessDenied", Message: "current user api does not support asynchronous calls."}
)

// Book is the settings of the rules. The zero value knows every model and no family of models.
type Book struct {
	HeaderPrefix    string // of the service's own headers, for messages
	LooseInterleave bool   // interleaved output needs no stream
	// Patterns of models, see Config.
	Models, EditModels, MessageModels, ThinkingModels, VisionModels []string
}

// checkModel requires a model the service has.
func (b *Book) checkModel(q *request.Request) error {
	if q.Model == "" {
		return answer.Invalid("model is required and must be a string")
	}
	if b.Models != nil && !Matches(b.Models, q.Model) {
		return &answer.Refusal{Status: 404, Code: "ModelNotFound", Message: "Model can not be found."}
	}
	if v, ok := q.Body["parameters"]; ok && v != nil && request.AsObject(v) == nil {
		return answer.Invalid("parameters must be an object")
	}
	return nil
}

// Matches reports whether one of the patterns stands for the model.
func Matches(patterns []string, model string) bool {
	for _, p := range patterns {
		// path.Match stops * at a slash, which model names do not hold by custom; replacing it keeps one that does from
		// slipping through.
		ok, err := path.Match(strings.ReplaceAll(p, "/", "|"), strings.ReplaceAll(model, "/", "|"))
		if err == nil && ok {
			return true
		}
	}
	return false
}
