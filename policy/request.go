package policy

import (
	"strings"

	"sluice/policy/strictjson"
)

// Maybe is a value that may be absent. To the service null is absent, too; zero is not.
type Maybe[T any] struct {
	Value T
	Set   bool // Value was in the request
}

// Request holds the facts that [Read] found in a body: what it asks for, its possible cost, and the input of [Judge]. It holds no part of
// the body, so the body may be forwarded and forgotten.
//
// A number called effective has the service's default if it is absent. A value of the wrong type or form counts as
// absent here; Judge refuses it.
type Request struct {
	Kind       Kind
	Model      string // decoded; empty when absent
	Interleave bool   // parameters.enable_interleave is true and the model is one of EditImage
	Stream     bool   // upstream will stream: by the SSE header, or by Accept without it
	// Guessed: no pattern matches the model and its parameters are those of images, so Kind is KindImage. Only the answer shows
	// whether it was images or text. Without n, N is 1, as for text, and Images is 4.
	Guessed    bool
	JSON       bool // parameters.response_format asks for JSON
	Increments bool // parameters.incremental_output is true: frames carry deltas, not the whole text so far

	N           int    // answers or images asked for, at least 1; effective
	MaxImages   int    // images that an interleaved answer may hold; effective (5); 0 for other kinds
	Images      int    // images the request may cost; 0 for text and chat
	InputImages int    // images in the request
	Size        string // parameters.size as written; empty when absent

	Messages     int   // entries of input.messages
	PromptLength int   // code points of the prompt: input.prompt and the text items of the messages
	TextLength   int64 // estimate of the input's tokens: ASCII bytes ÷ 4 + other code points + 16 per message
	Tools        int   // entries of parameters.tools

	MaxTokens      Maybe[int64] // the larger of max_tokens and max_completion_tokens
	Thinking       bool         // enable_thinking, or without it whether the model is one of Thinking
	ThinkingBudget Maybe[int64]

	Temperature, TopP, PresencePenalty Maybe[float64]
	TopK, Seed                         Maybe[int64]
	Stop                               []string // stop sequences that are strings, the first 8, at most 64 bytes each

	facts *facts // what Judge looks at; does not change after Read
}

// finish derives from the facts what the request asks for.
func (q *Request) finish(f *Families, text strictjson.Count) {
	q.Model = q.facts.values[fieldModel].text
	q.facts.families = f.of(q.Model)
	q.Interleave = !q.facts.call.Older && q.facts.families.editImage && q.facts.values[fieldEnableInterleave].shape == strictjson.True
	q.Guessed = q.guessed()
	q.Kind = q.kind()
	q.TextLength = Tokens(text) + int64(q.Messages)*messageTokens
	q.countAnswers()
	q.readParameters()
	q.Stream = AcceptsStream(q.facts.call.Accept) || Enabled(q.facts.call.SSE)
}

// Tokens estimates the tokens of a text.
func Tokens(text strictjson.Count) int64 {
	return int64((text.ASCII+asciiPerToken-1)/asciiPerToken) + int64(text.Wide)
}

// Release gives back the memory that Judge needs. The fields stay valid, but the request must not be judged any more. A caller
// that does not release only costs an allocation.
func (q *Request) Release() {
	if q.facts == nil {
		return
	}
	*q.facts = facts{}
	factsPool.Put(q.facts)
	q.facts = nil
}

// kind distinguishes the kinds of the multimodal path by model and parameters. Every other path has one kind.
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

// guessed reports whether a request for an unknown model asks for images: by parameters that text models do not have, or by more
// answers than they give. A request that can only be a chat is never guessed, so that an image parameter switches off no rule for
// chats.
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

// AbsentImages is how many images the editing models make for a request without a number. It is also assumed for unknown image
// models.
const AbsentImages = 4

// The service's defaults for other absent numbers.
const (
	absentSyncImages  = 1 // n of the synchronous image models
	absentInterleaved = 1 // n of an interleaved answer
	absentMostImages  = 5 // max_images of an interleaved answer
	absentTextAnswers = 1 // n of text models
	absentOthers      = 1 // n on forwarded paths, whose models are unknown: most make one picture or film
)

// How text is estimated in tokens.
const (
	messageTokens = 16 // added for each message
	asciiPerToken = 4  // ASCII characters to a token; another code point is a token
)

// countAnswers fills in how many answers or images the request may cost, by kind and model.
func (q *Request) countAnswers() {
	v := &q.facts.values
	switch {
	case q.Kind == KindText || q.Kind == KindChat:
		q.N = v[fieldN].positive(absentTextAnswers)
	case q.Interleave:
		q.N = v[fieldN].positive(absentInterleaved)
		q.MaxImages = v[fieldMaxImages].positive(absentMostImages)
		q.Images = times(q.N, q.MaxImages)
	case q.isSync():
		q.N = v[fieldN].positive(absentSyncImages)
		q.Images = q.N
	case q.Guessed: // the answer may be a text, and by default there is one
		q.N = v[fieldN].positive(absentTextAnswers)
		q.Images = v[fieldN].positive(AbsentImages)
	case q.Kind == KindTask || q.Kind == KindImage:
		q.N = v[fieldN].positive(AbsentImages)
		q.Images = q.N
	case q.Kind == KindOther:
		q.N = v[fieldN].positive(absentOthers)
		if Enabled(q.facts.call.Async) || v[fieldSize].set() { // of the path nothing else is known
			q.Images = q.N
		}
	}
	q.Size = v[fieldSize].text
}

// maxCount bounds a number of answers or images, so that no sum of costs overflows even if the rules on them are off.
const maxCount = 1<<31 - 1

// positive is the value as a count, or absent if it is not one.
func (v value) positive(absent int) int {
	n, ok := v.integer()
	if !ok || n < 1 {
		return absent
	}
	return int(min(n, maxCount))
}

func times(a, b int) int { return int(min(int64(a)*int64(b), maxCount)) }

// readParameters fills in what spans report and token holds depend on.
func (q *Request) readParameters() {
	v := &q.facts.values
	q.MaxTokens = v[fieldMaxTokens].maybeInteger()
	if other := v[fieldMaxCompletionTokens].maybeInteger(); other.Set && other.Value >= q.MaxTokens.Value {
		q.MaxTokens = other
	}
	q.Thinking = v[fieldEnableThinking].shape == strictjson.True ||
		!v[fieldEnableThinking].set() && q.facts.families.thinking
	q.ThinkingBudget = v[fieldThinkingBudget].maybeInteger()
	q.Increments = v[fieldIncrementalOutput].shape == strictjson.True
	q.Temperature = v[fieldTemperature].maybeNumber()
	q.TopP = v[fieldTopP].maybeNumber()
	q.PresencePenalty = v[fieldPresencePenalty].maybeNumber()
	q.JSON = strings.HasPrefix(v[fieldResponseType].text, "json")
	q.TopK = v[fieldTopK].maybeInteger()
	q.Seed = v[fieldSeed].maybeInteger()
}

// maybeInteger is the value as a non-negative integer. A negative one would credit what it should cost.
func (v value) maybeInteger() Maybe[int64] {
	n, ok := v.integer()
	return Maybe[int64]{Value: max(n, 0), Set: ok && n >= 0}
}

func (v value) maybeNumber() Maybe[float64] {
	n, ok := v.number()
	return Maybe[float64]{Value: n, Set: ok}
}
