package policy

import "strings"

// kind tells the kinds of the multimodal path apart by model and parameters; every other path serves one.
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

// sayImage reports whether the parameters are of a request for images: those that text has not, or more answers than a
// text has.
func (f *facts) sayImage() bool {
	for _, of := range [...]field{fieldSize, fieldWatermark, fieldPromptExtend, fieldNegativePrompt} {
		if f.values[of].set() {
			return true
		}
	}
	n, ok := f.values[fieldN].integer()
	return ok && n > mostTextAnswers
}

// saysChat reports whether a request is of a form that requests for images never have: tools, several messages, a message of
// another role than user, or how a text is sampled. A word about images then switches no rule of a chat off.
func (q *Request) saysChat() bool {
	for _, of := range [...]field{fieldTools, fieldToolChoice, fieldTemperature, fieldTopP, fieldTopK} {
		if q.facts.values[of].set() {
			return true
		}
	}
	return q.Messages > 1 || q.facts.marks[markRoleUser].count > 0
}

// headerOn reports whether a switch header is on: enable in any case, anywhere among its values. "disable" is legal
// and means absent.
func headerOn(values []string) bool {
	for _, v := range values {
		if strings.EqualFold(v, "enable") {
			return true
		}
	}
	return false
}

// AcceptsStream reports whether an Accept header names the media type of streams, text/event-stream: the service streams
// by it alone.
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
