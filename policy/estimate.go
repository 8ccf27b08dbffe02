package policy

import (
	"strings"

	"sluice/policy/strictjson"
)

// AbsentImages is how many images a request of the editing models makes when it does not say how many. It is also
// assumed for unknown image models.
const AbsentImages = 4

// What the service makes of other numbers that are absent.
const (
	absentSyncImages  = 1 // n of the synchronous image models
	absentInterleaved = 1 // n of an interleaved answer
	absentMostImages  = 5 // max_images of an interleaved answer
	absentTextAnswers = 1 // n of text models
)

// How text is estimated in tokens.
const (
	messageTokens = 16 // added for each message
	asciiPerToken = 4  // ASCII characters to a token; another code point is a token
)

// textLength estimates the input's tokens: ASCII bytes ÷ 4 + other code points, + 16 per message.
func textLength(text strictjson.Count, messages int) int64 {
	return int64((text.ASCII+asciiPerToken-1)/asciiPerToken) + int64(text.Wide) + int64(messages)*messageTokens
}

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
	case q.Guessed: // the answer may be a text, of which there is one by default
		q.N = v[fieldN].positive(absentTextAnswers)
		q.Images = v[fieldN].positive(AbsentImages)
	case q.Kind == KindTask || q.Kind == KindImage:
		q.N = v[fieldN].positive(AbsentImages)
		q.Images = q.N
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

// readParameters fills in what spans tell and what token holds depend on.
func (q *Request) readParameters() {
	v := &q.facts.values
	q.MaxTokens = larger(v[fieldMaxTokens].maybeInteger(), v[fieldMaxCompletionTokens].maybeInteger())
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

func larger(a, b Maybe[int64]) Maybe[int64] {
	if !a.Set || b.Set && b.Value > a.Value {
		return b
	}
	return a
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
