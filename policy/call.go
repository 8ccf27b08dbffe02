package policy

import (
	"cmp"
	"slices"
	"strings"
)

// Endpoint is the name of a group of paths in the teams file and the log. A team may be limited to some of them.
type Endpoint string

// The endpoints, by path. The older families of image tasks are EndpointImage; extra forwarded paths are EndpointOther.
const (
	EndpointText       Endpoint = "text"       // services/aigc/text-generation/generation
	EndpointMultimodal Endpoint = "multimodal" // services/aigc/multimodal-generation/generation
	EndpointImage      Endpoint = "image"      // the paths that create asynchronous image tasks
	EndpointTasks      Endpoint = "tasks"      // tasks, tasks/{id} and tasks/{id}/cancel
	EndpointEmbeddings Endpoint = "embeddings" // SLUICE_EMBEDDINGS_PATH
	EndpointOther      Endpoint = "other"      // SLUICE_FORWARD_PATHS, only for teams that name it
)

// Endpoints lists every endpoint in the order in which reports name them.
var Endpoints = []Endpoint{EndpointText, EndpointMultimodal, EndpointImage, EndpointTasks, EndpointEmbeddings, EndpointOther}

// Kind is the kind of work that a request asks for. The multimodal path has three kinds, distinguished by model and parameters;
// every other path has one.
type Kind string

// The kinds of request.
const (
	KindText        Kind = "text"        // text generation
	KindChat        Kind = "chat"        // multimodal chat: the answer is text
	KindImage       Kind = "image"       // synchronous image: the picture's address is in the answer
	KindInterleaved Kind = "interleaved" // a stream of text and images from the multimodal path
	KindTask        Kind = "task"        // an asynchronous image task
	KindEmbeddings  Kind = "embeddings"  // vectors of texts; package forms reads it
	KindOther       Kind = "other"       // an extra forwarded path; package forms reads what must be read there
)

// IsInput reports whether all tokens of such a request are input: its answer is no text.
func (k Kind) IsInput() bool { return k == KindEmbeddings }

// Pattern matches model names. * matches any run of characters, also an empty one; other characters match themselves. Names are
// compared decoded and case-sensitively, as the service does.
type Pattern string

// Match reports whether the pattern matches name, in time of at most len(p)·len(name) and without allocating.
func (p Pattern) Match(name string) bool {
	pattern := string(p)
	star, retry := -1, 0
	i, j := 0, 0
	for j < len(name) {
		switch {
		case i < len(pattern) && pattern[i] == '*':
			star, retry = i, j
			i++
		case i < len(pattern) && pattern[i] == name[j]:
			i++
			j++
		case star >= 0:
			retry++
			i, j = star+1, retry
		default:
			return false
		}
	}
	return strings.Trim(pattern[i:], "*") == ""
}

// Meets reports whether some name matches both patterns.
func (p Pattern) Meets(other Pattern) bool {
	meets := make([]bool, len(other)+1) // meets[j]: some string matches both p[i:] and other[j:]
	for i := len(p); i >= 0; i-- {
		below := false // meets[j+1] of the row before: p[i+1:] and other[j+1:]
		for j := len(other); j >= 0; j-- {
			without := i < len(p) && meets[j]
			switch {
			case i == len(p) && j == len(other):
				meets[j] = true
			case i < len(p) && p[i] == '*':
				meets[j] = without || j < len(other) && meets[j+1]
			case j < len(other) && other[j] == '*':
				meets[j] = meets[j+1] || without
			default:
				meets[j] = i < len(p) && j < len(other) && p[i] == other[j] && below
			}
			below = without
		}
	}
	return meets[0]
}

// MatchAny reports whether one of the patterns matches name.
func MatchAny(patterns []Pattern, name string) bool {
	return slices.ContainsFunc(patterns, func(p Pattern) bool { return p.Match(name) })
}

// Families are the model patterns by which rules and kinds distinguish models, from the settings of the same names. A nil list
// matches no model, so the rules on that family never apply.
type Families struct {
	SyncImage []Pattern // SYNC_IMAGE_MODELS: make images in the answer on the multimodal path
	EditImage []Pattern // EDIT_IMAGE_MODELS: edit images and interleave text and images; endpoint 3 and interleaved streams
	Thinking  []Pattern // THINKING_MODELS: think unless the request switches that off
	Vision    []Pattern // VISION_MODELS: vision-language models
	Reasoning []Pattern // REASONING_MODELS: reasoning models; one that is also a vision model is a visual reasoning model
}

// Call holds the facts about a request that are known before its body is read.
type Call struct {
	Endpoint Endpoint // of its path
	Older    bool     // the path is of one of the older image families, which take input.prompt
	Async    []string // values of the async header, duplicates kept; nil: absent
	SSE      []string // values of the SSE header, duplicates kept; nil: absent
	Accept   string   // the Accept header
	// Prefix is the prefix of the service's own headers, with its dashes, as findings write it. Empty: X-Service-, that of
	// interface.md.
	Prefix string
	// Header is the client's whole header. A finding about a missing header looks there for one with another prefix. May
	// be nil.
	Header  map[string][]string
	Resolve bool // the OssResourceResolve header is on, so oss: addresses are legal
}

// families records which patterns of [Families] match the request's model.
type families struct {
	syncImage, editImage, thinking, vision, reasoning bool
}

func (f *Families) of(model string) families {
	return families{
		syncImage: MatchAny(f.SyncImage, model), editImage: MatchAny(f.EditImage, model),
		thinking: MatchAny(f.Thinking, model), vision: MatchAny(f.Vision, model),
		reasoning: MatchAny(f.Reasoning, model),
	}
}

// Enabled reads the values of a header that is a switch: it is on if any value is "enable", in any case. The rules
// refuse a header with both words or with any other word.
func Enabled(values []string) bool {
	return slices.ContainsFunc(values, func(v string) bool { return strings.EqualFold(strings.TrimSpace(v), "enable") })
}

// inPlaceOf describes the header that the client sent in place of the service's header with that word; without one it
// returns the text none.
func (c *Call) inPlaceOf(word, none string) string {
	if name := c.stray(word); name != "" {
		return name + " in its place"
	}
	return none
}

// stray is the name of a header that differs from the service's only in its prefix, such as X-Acme-Async; of several, the first
// by name. Empty: no such header.
func (c *Call) stray(word string) (stray string) {
	for name := range c.Header {
		head := len(name) - len(word) - 1
		if head < 1 || name[head] != '-' || !strings.EqualFold(name[head+1:], word) || strings.EqualFold(name, c.prefix()+word) {
			continue
		}
		if stray == "" || name < stray {
			stray = name
		}
	}
	if short := cut(stray); short != stray {
		return short + "..."
	}
	return stray
}

// neutralPrefix is the header prefix of interface.md and of the table of rules.
const neutralPrefix = "X-Service-"

func (c *Call) prefix() string { return cmp.Or(c.Prefix, neutralPrefix) }

// spelled writes a text of the table with the service's own header prefix.
func (c *Call) spelled(text string) string {
	return strings.ReplaceAll(text, neutralPrefix, c.prefix())
}
