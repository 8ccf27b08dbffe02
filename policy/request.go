package policy

import "sync"

// Families are the model patterns by which rules and kinds tell models apart, from the settings of the same names. A
// nil list fits no model, so the rules that hang on it sleep.
type Families struct {
	SyncImage []Pattern // SYNC_IMAGE_MODELS: make images in the answer on the multimodal path
	EditImage []Pattern // EDIT_IMAGE_MODELS: edit images and interleave text and images; endpoint 3 and interleaved streams
	Thinking  []Pattern // THINKING_MODELS: think unless the request switches it off
	Vision    []Pattern // VISION_MODELS: vision-language models
	Reasoning []Pattern // REASONING_MODELS: reasoning models; one that is also a vision model is a visual reasoning model
}

// Call is what is known of a request before its body is read.
type Call struct {
	Endpoint Endpoint // which path it came by
	Older    bool     // by the path of one of the older image families (input.prompt form)
	Async    []string // values of the async header as they came, duplicates kept; nil = absent
	SSE      []string // values of the SSE header as they came, duplicates kept; nil = absent
	Accept   string   // the Accept header
	// Prefix is the word in front of the service's own headers, with its dashes, by which findings name them. Empty: that of
	// interface.md, X-Service-.
	Prefix string
	// Header is all of the client's header. A finding of a missing header looks whether it came with another word. May be nil.
	Header  map[string][]string
	Resolve bool // the OssResourceResolve header is present and on, so oss: addresses are legal
}

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

// factsPool keeps facts: they are the larger part of what a request would allocate here.
var factsPool = sync.Pool{New: func() any { return new(facts) }}

// maxModel is the longest model name in bytes. The service states no bound; no name of its is a tenth as long.
const maxModel = 256
