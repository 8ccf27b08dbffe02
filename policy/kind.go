package policy

import (
	"slices"
	"strings"
)

// kind tells the kinds of the multimodal path apart by model and parameters. Every other path has one kind.
func (q *Request) kind() Kind {
	switch q.facts.call.Endpoint {
	case EndpointText:
		return KindText
	case EndpointImage:
		return KindTask
	case EndpointMultimodal:
		switch {
		case q.Interleave:
			return KindInterleaved
		case q.facts.families.editImage, q.facts.families.syncImage, q.Guessed:
			return KindImage
		}
		return KindChat
	}
	return KindOther
}

// mostTextAnswers is the largest n of text models.
const mostTextAnswers = 4

// guessed reports whether a request for an unknown model asks for images: by parameters that text models do not have,
// or by more answers than they give. A request that only a chat can be is never guessed, so that a parameter of images
// switches off no rule for chats.
func (q *Request) guessed() bool {
	f := q.facts
	if f.call.Endpoint != EndpointMultimodal || f.families != (families{}) {
		return false
	}
	if q.Messages > 1 || f.marks[markRoleUser].count > 0 || f.anySet(fieldTools, fieldToolChoice, fieldTemperature, fieldTopP, fieldTopK) {
		return false // a chat
	}
	n, ok := f.values[fieldN].integer()
	return ok && n > mostTextAnswers || f.anySet(fieldSize, fieldWatermark, fieldPromptExtend, fieldNegativePrompt)
}

// headerOn reports whether a switch header is on: enable in any case, anywhere among its values.
func headerOn(values []string) bool {
	return slices.ContainsFunc(values, func(v string) bool { return strings.EqualFold(v, "enable") })
}

// AcceptsStream reports whether an Accept header names text/event-stream, which is enough for the service to stream.
func AcceptsStream(accept string) bool {
	for part := range strings.SplitSeq(accept, ",") {
		name, _, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(name), "text/event-stream") {
			return true
		}
	}
	return false
}

func (q *Request) isText() bool { return q.Kind == KindText || q.Kind == KindChat }

// isEdit reports whether the image rules of endpoint 3 are for this request's model.
func (q *Request) isEdit() bool {
	return !q.isText() && q.facts.families.editImage && !q.facts.call.Older
}

// isSync reports whether the rules of endpoint 2 are for this request.
func (q *Request) isSync() bool { return q.Kind == KindImage && !q.isEdit() && !q.Guessed }
