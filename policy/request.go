package policy

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
	Stream     bool   // upstream will stream: by the SSE header, or by Accept alone
	// Guessed: no pattern matches the model and its parameters are those of images, so Kind is KindImage. The answer tells
	// whether it was images or text. Without n, N is 1, as of a text, and Images is 4.
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

// Release gives back the memory that Judge needs. The fields stay; the request must not be judged any more. A caller that
// does not release only costs an allocation.
func (q *Request) Release() {
	if q.facts == nil {
		return
	}
	*q.facts = facts{}
	factsPool.Put(q.facts)
	q.facts = nil
}
