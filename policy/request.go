package policy

// Maybe is a value that a request may leave out. Absent and null are the same to the service; zero is not.
type Maybe[T any] struct {
	Value T
	Set   bool // Value was in the request
}

// Request is what one strict pass over a body found out: what it asks for, what it may cost, and what [Judge] needs.
// It holds no part of the body, so the body may be forwarded and forgotten.
//
// Numbers that the service fills in when they are absent are effective: what the service will make of the request. A
// value of the wrong type or form counts as absent here; Judge refuses it.
type Request struct {
	Kind       Kind
	Model      string // decoded; empty when absent
	Interleave bool   // parameters.enable_interleave is true and the model is of EditImage
	Stream     bool   // upstream will stream: by the SSE header, or by Accept alone
	// Guessed: the model is in no pattern and its parameters say image, so Kind is KindImage. Its answer tells whether it
	// made images or text. Absent n, N is 1, as of a text, and Images is 4.
	Guessed    bool
	JSON       bool // parameters.response_format asks for JSON
	Increments bool // parameters.incremental_output is true: frames carry deltas, not the whole text so far

	N           int    // answers or images asked for, at least 1; effective
	MaxImages   int    // images an interleaved answer may hold, absent 5; effective; 0 elsewhere
	Images      int    // images the request may cost; 0 for text and chat
	InputImages int    // images the request brings
	Size        string // parameters.size as written; empty when absent

	Messages     int   // entries of input.messages
	PromptLength int   // code points of the prompt: input.prompt and the text items of the messages
	TextLength   int64 // estimate of the input's tokens: ASCII bytes ÷ 4 + other code points + 16 per message
	Tools        int   // entries of parameters.tools

	MaxTokens      Maybe[int64] // the larger of max_tokens and max_completion_tokens
	Thinking       bool         // thinking is on: enable_thinking, or absent and a model of Thinking
	ThinkingBudget Maybe[int64]

	Temperature, TopP, PresencePenalty Maybe[float64]
	TopK, Seed                         Maybe[int64]
	Stop                               []string // stop sequences that are strings, the first 8, at most 64 bytes each

	facts *facts // what Judge looks at; never changes once Read has returned it
}

// Release gives back the room that Judge and the estimates need. What the fields say stays; nothing may be asked of the
// request that looks beyond them. To leave it out costs memory, nothing else.
func (q *Request) Release() {
	if q.facts == nil {
		return
	}
	*q.facts = facts{}
	factsPool.Put(q.facts)
	q.facts = nil
}
