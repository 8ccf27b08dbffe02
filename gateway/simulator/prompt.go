package simulator

import (
	"hash/fnv"
	"io"
	"strings"

	"sluice/gateway/simulator/picture"
)

// Tokens that a message costs beyond its text, and tokens of media whose length is unknown.
const (
	messageTokens = 4
	videoTokens   = 512
	audioTokens   = 64
)

// prompt is the question of a chat request, and what reading it costs.
type prompt struct {
	question  string // the user's last message
	afterTool bool   // the last message is a tool's result
	called    int    // messages of the assistant that called tools
	hash      uint64 // of model, texts and seed
	text      int    // tokens
	media     media
	hits      int            // tokens read from a cache
	created   int            // tokens written to an explicit cache
	explicit  bool           // texts are marked for an explicit cache
	sizes     []picture.Size // of the images, scaled
}

// media is the tokens of all input but text.
type media struct {
	Image int `json:"image_tokens,omitempty"`
	Video int `json:"video_tokens,omitempty"`
	Audio int `json:"audio_tokens,omitempty"`
}

func (m media) sum() int { return m.Image + m.Video + m.Audio }

// inputTokens is the sum of the input tokens.
func (p *prompt) inputTokens() int { return p.text + p.media.sum() }

// readPrompt reads a chat request.
func readPrompt(c *call) *prompt {
	p := &prompt{}
	h := fnv.New64a()
	io.WriteString(h, c.model)
	if seed := integer(c.param, "seed", -1); seed >= 0 {
		h.Write([]byte{byte(seed), byte(seed >> 8), byte(seed >> 16), byte(seed >> 24)})
	}
	sent, marked := 0, 0 // tokens of earlier requests, and the marked ones of these
	for i, m := range conversation(c.input) {
		text, role := p.readContent(m, c.param), get[string](m, "role")
		io.WriteString(h, "\x00"+text)
		p.text += tokens(text) + messageTokens
		p.afterTool = role == "tool"
		if len(get[[]any](m, "tool_calls")) > 0 {
			p.called++
		}
		switch {
		case role == "user":
			p.question = text
		case role == "assistant", role == "system" && i == 0:
			sent, marked = p.inputTokens(), p.created
		}
	}
	p.hash = h.Sum64()
	p.readCache(sent, marked)
	return p
}

// leastHit is the shortest prefix of a request that hits the implicit cache, in tokens; cacheBlock is the granularity of hits.
const (
	leastHit   = 256
	cacheBlock = 64
)

// readCache decides what hits a cache. The simulator stores nothing: it assumes that a request's messages up to the last answer, and its
// system message, were sent before. So equal requests are billed equally. If texts are marked, only they are cached.
func (p *prompt) readCache(sent, marked int) {
	switch {
	case p.explicit:
		p.hits, p.created = marked, p.created-marked
	case sent >= leastHit:
		p.hits = sent / cacheBlock * cacheBlock
	}
}

// conversation returns the messages, or the older prompt and history as messages.
func conversation(in object) []any {
	if list := get[[]any](in, "messages"); len(list) > 0 {
		return list
	}
	var out []any
	say := func(role, words string) { out = append(out, object{"role": role, "content": words}) }
	for _, turn := range get[[]any](in, "history") {
		say("user", get[string](turn, "user"))
		say("assistant", get[string](turn, "bot"))
	}
	say("user", get[string](in, "prompt"))
	return out
}

// readContent counts the media of a message, and returns its text.
func (p *prompt) readContent(m any, parameters object) string {
	if text := get[string](m, "content"); text != "" {
		return text
	}
	var texts []string
	for _, v := range get[[]any](m, "content") {
		item := get[object](v)
		if image := get[string](item, "image"); image != "" {
			limit := integer(item, "max_pixels", integer(parameters, "max_pixels", maxPixels))
			if get[bool](parameters, "vl_high_resolution_images") {
				limit = highPixels
			}
			size := picture.SizeOfData(image).Fit(minPixels, max(limit, minPixels), patch) // as a chat model sees it
			p.sizes = append(p.sizes, size)
			p.media.Image += max(1, (size.W/patch)*(size.H/patch))
		}
		if _, ok := item["video"]; ok {
			p.media.Video += videoTokens
		}
		if _, ok := item["audio"]; ok {
			p.media.Audio += audioTokens
		}
		text := get[string](item, "text")
		if text == "" {
			continue
		}
		texts = append(texts, text)
		if _, ok := item["cache_control"]; ok {
			p.created += tokens(text)
			p.explicit = true
		}
	}
	return strings.Join(texts, " ")
}

// patch is the side of the square of an image that is one token, in pixels.
const patch = 28

// Bounds of an image's pixels as a chat model sees it: by default, and at high resolution.
const (
	minPixels  = 4 * patch * patch
	maxPixels  = 1280 * patch * patch
	highPixels = 16777216
)

// textUsage is the usage of a chat answer.
type textUsage struct {
	Total  int `json:"total_tokens,omitempty"` // of plain text only
	Input  int `json:"input_tokens"`
	Output int `json:"output_tokens"`
	media
	*cacheDetails                // in the flat form
	Prompt        *cacheDetails  `json:"prompt_tokens_details,omitempty"`
	Inputs        *inputDetails  `json:"input_tokens_details,omitempty"`
	Outputs       *outputDetails `json:"output_tokens_details,omitempty"`
}

type cacheDetails struct {
	Cached   int    `json:"cached_tokens"`
	Creation int    `json:"cache_creation_input_tokens,omitempty"`
	Type     string `json:"cache_type,omitempty"`
}

type inputDetails struct {
	Text int `json:"text_tokens"`
	media
	*cacheDetails
}

type outputDetails struct {
	Reasoning int `json:"reasoning_tokens"`
	Text      int `json:"text_tokens"`
}

// usage returns the usage of an answer with this many tokens, thought of which are the chain of thought.
func (p *prompt) usage(output, thought int, thinking bool) textUsage {
	u := textUsage{Input: p.inputTokens(), Output: output, media: p.media, Prompt: &cacheDetails{Cached: p.hits, Creation: p.created}}
	if p.explicit {
		u.Prompt.Type = "ephemeral"
	}
	if p.media.sum() == 0 {
		u.Total = u.Input + u.Output
	} else {
		u.Inputs = &inputDetails{Text: p.text, media: p.media}
	}
	if thinking {
		u.Outputs = &outputDetails{Reasoning: thought, Text: output - thought}
	}
	return u
}

// as returns the usage with the cached tokens in another place, see [Fault.Usage].
func (u textUsage) as(form string) textUsage {
	switch form {
	case "flat":
		u.cacheDetails, u.Prompt = u.Prompt, nil
	case "input":
		inputs := inputDetails{Text: u.Input - u.media.sum(), media: u.media, cacheDetails: u.Prompt}
		u.Inputs, u.Prompt = &inputs, nil
	}
	return u
}
