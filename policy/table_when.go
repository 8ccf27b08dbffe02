package policy

import "sluice/policy/strictjson"

// The requests that rules are about. A model's families come from the settings: conditions on an empty list hold for no
// request.
var (
	whenAlways = when{"every request", func(*Request) bool { return true }}

	whenText     = when{"text and chat", (*Request).isText}
	whenTextPath = when{"text", func(q *Request) bool { return q.Kind == KindText }}
	whenChatPath = when{"chat", func(q *Request) bool { return q.Kind == KindChat }}
	whenThinking = whenText.and("thinking on", func(q *Request) bool { return q.Thinking })
	whenAnswers  = whenText.and("n over 1", func(q *Request) bool { return q.N > 1 })
	whenTooled   = whenText.and("tools given", func(q *Request) bool { return q.Tools > 0 })
	whenForced   = whenThinking.and("a tool forced", func(q *Request) bool { return q.facts.forced })
	whenUnlogged = whenText.and("logprobs not true", func(q *Request) bool { return q.facts.values[fieldLogprobs].shape != strictjson.True })

	whenThinkers = whenThinking.and("a model of THINKING_MODELS", func(q *Request) bool { return q.facts.families.thinking })
	whenVision   = whenText.and("a model of VISION_MODELS", func(q *Request) bool { return q.facts.families.vision })
	whenReasoner = whenText.and("a model of REASONING_MODELS only", func(q *Request) bool {
		return q.facts.families.reasoning && !q.facts.families.vision
	})
	whenVisual = whenText.and("a model of REASONING_MODELS and VISION_MODELS", func(q *Request) bool {
		return q.facts.families.reasoning && q.facts.families.vision
	})

	whenImage       = when{"images", func(q *Request) bool { return !q.isText() && q.Kind != KindOther }}
	whenEditModel   = when{"EDIT_IMAGE_MODELS", (*Request).isEdit}
	whenEditingMode = whenEditModel.and("editing", func(q *Request) bool { return !q.Interleave })
	whenInterleave  = whenEditModel.and("interleaved", func(q *Request) bool { return q.Interleave })
	whenTask        = whenEditModel.and("tasks", func(q *Request) bool { return q.Kind == KindTask })
	whenSync        = when{"SYNC_IMAGE_MODELS", (*Request).isSync}
	whenJudged      = when{"EDIT_IMAGE_MODELS, SYNC_IMAGE_MODELS", func(q *Request) bool { return q.isEdit() || q.isSync() }}
	whenFormOnly    = whenImage.and("other models and older families", func(q *Request) bool { return !q.isEdit() && !q.isSync() })
	whenCounted     = whenImage.and("not editing, not interleaved", func(q *Request) bool { return !q.isEdit() })
)

// and narrows a condition.
func (w when) and(text string, holds func(*Request) bool) when {
	return when{w.text + ", " + text, func(q *Request) bool { return w.holds(q) && holds(q) }}
}
