package policy

// The requests that rules are about. A model's families come from the settings: while a list is empty, the conditions
// that name it hold for no request.
var (
	always = when{"every request", func(*Request) bool { return true }}

	text_      = when{"text and chat", (*Request).isText}
	onTextPath = when{"text", func(q *Request) bool { return q.Kind == KindText }}
	onChatPath = when{"chat", func(q *Request) bool { return q.Kind == KindChat }}
	thinking   = text_.and("thinking on", func(q *Request) bool { return q.Thinking })
	answers    = text_.and("n over 1", func(q *Request) bool { return q.N > 1 })
	tooled     = text_.and("tools given", func(q *Request) bool { return q.Tools > 0 })
	forced     = thinking.and("a tool forced", func(q *Request) bool { return q.facts.forced })

	thinkers = thinking.and("a model of THINKING_MODELS", func(q *Request) bool { return q.facts.families.thinking })
	vision   = text_.and("a model of VISION_MODELS", func(q *Request) bool { return q.facts.families.vision })
	reasoner = text_.and("a model of REASONING_MODELS only", func(q *Request) bool {
		return q.facts.families.reasoning && !q.facts.families.vision
	})
	visual = text_.and("a model of REASONING_MODELS and VISION_MODELS", func(q *Request) bool {
		return q.facts.families.reasoning && q.facts.families.vision
	})

	image      = when{"images", func(q *Request) bool { return !q.isText() && q.Kind != KindOther }}
	edit       = when{"EDIT_IMAGE_MODELS", (*Request).isEdit}
	editing    = edit.and("editing", func(q *Request) bool { return !q.Interleave })
	interleave = edit.and("interleaved", func(q *Request) bool { return q.Interleave })
	task       = edit.and("tasks", func(q *Request) bool { return q.Kind == KindTask })
	synchron   = when{"SYNC_IMAGE_MODELS", (*Request).isSync}
	judged     = when{"EDIT_IMAGE_MODELS, SYNC_IMAGE_MODELS", func(q *Request) bool { return q.isEdit() || q.isSync() }}
	formOnly   = image.and("other models and older families", func(q *Request) bool { return !q.isEdit() && !q.isSync() })
	counted    = image.and("not editing, not interleaved", func(q *Request) bool { return !q.isEdit() })
)

// and narrows a condition.
func (w when) and(text string, holds func(*Request) bool) when {
	return when{w.text + ", " + text, func(q *Request) bool { return w.holds(q) && holds(q) }}
}

func (q *Request) isText() bool { return q.Kind == KindText || q.Kind == KindChat }

// isEdit reports whether the image rules of endpoint 3 are for this request's model.
func (q *Request) isEdit() bool {
	return !q.isText() && q.facts.families.editImage && !q.facts.call.Older
}

// isSync reports whether the rules of endpoint 2 are for this request.
func (q *Request) isSync() bool { return q.Kind == KindImage && !q.isEdit() }
