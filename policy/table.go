package policy

import (
	"slices"
	"strings"

	"sluice/policy/strictjson"
)

// rules is interface.md in executable form: one row per sentence that a gateway can judge, to be compared line by line.
// The sentences that no gateway can judge are in unjudged.
//
// A request beyond a stated bound is refused. It passes with a warning if the document says that the service truncates or
// ignores the member, that it has no effect or belongs to the other mode, or if the document contradicts itself: no legal
// request is ever refused.
//
// Headers are named as in the document; findings have the service's own prefix, see [Call].
//
// A row is: id, when, field, check, the sentence it comes from, mode. Sentences are verbatim; the number before one is
// its endpoint, M the message resources and L the limits. Names that the document does not show are those of the
// service's clients.
var rules = slices.Concat(headerRules, textRules, toolRules, imageRules, inputRules)

var headerRules = []rule{
	{"header.async", whenAlways, "X-Service-Async",
		check{allowed: "enable where a task is created, elsewhere disable or no such header", find: asyncHeader},
		"3: X-Service-Async: enable (required, must be enable).", ModeRefuse},
	{"header.sse", whenAlways, "X-Service-SSE",
		check{allowed: "enable or disable", find: sseHeader},
		"1: For streaming, also X-Service-SSE: enable.", ModeRefuse},
}

// rulesOfText and rulesOfImages are the rules that a request of that sort can break.
var (
	rulesOfText   = rulesWhere(func(id string) bool { return !strings.HasPrefix(id, "image.") })
	rulesOfImages = rulesWhere(func(id string) bool { return !strings.HasPrefix(id, "text.") })
)

// candidate is a rule with what suffices to see that it finds nothing. Nearly all rules find nothing in a request, and a row of
// the table is larger than a cache line of the processor.
type candidate struct {
	field field // as in check
	mark  mark
	rule  *rule
}

func candidateOf(r *rule) candidate { return candidate{r.Check.field, r.Check.mark, r} }

// idle reports whether the rule has nothing to find.
func (c candidate) idle(f *facts) bool {
	return c.field != fieldUnknown && !f.values[c.field].set() || c.mark != markNone && f.marks[c.mark].count == 0
}

func rulesWhere(wanted func(id string) bool) (list []candidate) {
	for i := range rules {
		if r := &rules[i]; wanted(r.ID) {
			list = append(list, candidateOf(r))
		}
	}
	return list
}

// The requests that rules apply to. A model's families come from the settings: conditions on an empty list hold for no request.
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

// unjudged are the sentences of interface.md on requests that no gateway can judge, each with the reason.
var unjudged = [][2]string{
	{"1: Default is text for most models; models defaulting to message are one flagship family",
		"absent result_format with tools passes: the model's default is not known"},
	{"1: For the flagship, vision-language and third-generation models in thinking mode it can only be message.",
		"which models these are is known only from THINKING_MODELS"},
	{"1: Supported only by some snapshot models, vision flash/plus series and third-generation open-source models.",
		"logprobs: the models are not named"},
	{"1: Only for a few flagship models in thinking mode.",
		"code interpreter: the models are not named; switching thinking off beside it is judged"},
	{"1: only non-thinking third-generation text models;",
		"n: which models these are is not named; n over 1 with thinking on or of VISION_MODELS is judged"},
	{"1: Thinking mode switch | Boolean. Applies to hybrid thinking models.",
		"the models are not named"},
	{"1: the prompt must instruct the model to output JSON",
		"what a prompt instructs is for the model to say"},
	{"1: JSON matching a supplied schema",
		"whether a schema is one the model can follow is for the service to say"},
	{"1: Not supported by all models.",
		"stop: the models are not named"},
	{"1: a fixed pixel limit applies (see Limits).",
		"the sides of an image behind an address are not known, and the service scales it"},
	{"1: For one early-2025 vision-language plus model used for text extraction set 1.0.",
		"advice for one use of one model"},
	{"1: Boolean; applies to vision-language models; adds image_hw to the response.",
		"whether a model outside VISION_MODELS is one is not known"},
	{"M: A system message sets role, tone, task objective or constraints, and is usually first in the array.",
		"usage, not a bound"},
	{"M: Public HTTP/HTTPS URL",
		"whether an address is public, and what it holds, is known only to who fetches it; nothing is fetched"},
	{"2: model | string enum | yes | llm-image-2.0-pro, llm-image-2.0, llm-image-max, llm-image-plus, llm-image.",
		"dated snapshots exist: the names are patterns, SYNC_IMAGE_MODELS"},
	{"2: Other parameters, their bounds and defaults: not shown.",
		"n is judged as a count, the rest passes"},
	{"3: gen2.6-image for this endpoint.",
		"other image models are taken there: form rules only, EDIT_IMAGE_MODELS"},
	{"3: 1K (default) or 2K: total pixels near 1280*1280 or 2048*2048, aspect ratio of the last input image kept.",
		"what the service makes of a size class"},
	{"3: Actual count is decided by the model and may be lower.",
		"known when the task has ended"},
	{"3: Chinese and English.",
		"a prompt in another language is worse, not refused"},
	{"L: | Input image formats | JPEG, JPG, PNG (no alpha channel), BMP, WEBP. |",
		"of an image behind an address: nothing is fetched"},
}
