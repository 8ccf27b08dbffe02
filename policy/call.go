package policy

import (
	"cmp"
	"strings"
)

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

// families are the patterns of [Families] that the request's model fits.
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

// inPlaceOf says what a client sent in place of the service's header of that word, or none where it sent nothing like it.
func (c *Call) inPlaceOf(word, none string) string {
	if name := c.stray(word); name != "" {
		return name + " in its place"
	}
	return none
}

// stray is the name of a header that is the service's but for what stands before its word, such as X-Acme-Async; of
// several the first by name. Empty: there is none.
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

// neutralPrefix is the word that interface.md has in place of a service's own, and with it the table of rules.
const neutralPrefix = "X-Service-"

func (c *Call) prefix() string { return cmp.Or(c.Prefix, neutralPrefix) }

// spelled names the headers in a text of the table by the service's own word.
func (c *Call) spelled(text string) string {
	return strings.ReplaceAll(text, neutralPrefix, c.prefix())
}
