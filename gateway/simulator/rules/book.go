// Package rules judges requests by the service's rules.
//
// It is written from the interface's specification alone and shares no code with the gateway's rules, so that each can
// be tested by the other.
package rules

import (
	"net/http"
	"path"
	"strings"

	"sluice/gateway/simulator/answer"
	"sluice/gateway/simulator/request"
)

// Book is the settings of the rules. The zero value knows every model and no family of models.
type Book struct {
	HeaderPrefix    string // of the service's own headers, for messages
	LooseInterleave bool   // interleaved output needs no stream
	// Patterns of models, see Matches. Models nil is every model.
	Models, EditModels, MessageModels, ThinkingModels, VisionModels []string
}

// Refusals of requests whose header asks for the wrong kind of answer.
var (
	errNeedAsync = &answer.Refusal{Status: http.StatusForbidden, Code: "AccessDenied", Message: "current user api does not support synchronous calls."}
	errNoAsync   = &answer.Refusal{Status: http.StatusForbidden, Code: "AccessDenied", Message: "current user api does not support asynchronous calls."}
)

// checkFrame judges what all requests have in common: whether they want a task, a known model, and the form of the
// parameters.
func (b *Book) checkFrame(q *request.Request, async bool) error {
	switch {
	case q.Async && !async:
		return errNoAsync
	case !q.Async && async:
		return errNeedAsync
	case q.Model == "":
		return answer.Invalid("model is required and must be a string")
	case b.Models != nil && !Matches(b.Models, q.Model):
		return &answer.Refusal{Status: http.StatusNotFound, Code: "ModelNotFound", Message: "Model can not be found."}
	case q.Body["parameters"] != nil && q.Parameters() == nil:
		return answer.Invalid("parameters must be an object")
	}
	return nil
}

// Matches reports whether one of the patterns stands for the model. A * stands for any run of characters.
func Matches(patterns []string, model string) bool {
	for _, p := range patterns {
		// path.Match stops * at a slash, which a model's name may hold.
		ok, err := path.Match(strings.ReplaceAll(p, "/", "|"), strings.ReplaceAll(model, "/", "|"))
		if err == nil && ok {
			return true
		}
	}
	return false
}
