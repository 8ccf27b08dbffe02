package policy

import (
	"cmp"
	"strings"
)

// Families are the model patterns by which rules and kinds tell models apart, from the settings of the same names. A
// nil list matches no model, so the rules on that family judge nothing.
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

// families tells which patterns of [Families] match the request's model.
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

// inPlaceOf names the header that the client sent in place of the service's header with that word; none if there is none.
func (c *Call) inPlaceOf(word, none string) string {
	if name := c.stray(word); name != "" {
		return name + " in its place"
	}
	return none
}

// stray is the name of a header that differs from the service's only by its prefix, such as X-Acme-Async; of several the
// first by name. Empty: there is none.
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
