package simulator

import (
	"hash/fnv"
	"io"
	"strings"
)

// messageTokens is what every message costs beyond its text.
const messageTokens = 4

// Tokens of media whose size in pixels the service cannot see.
const (
	videoTokens = 512
	audioTokens = 64
)

// prompt is what a chat request asks, and what it takes to read it.
type prompt struct {
	question                  string // the last thing the user said
	afterTool                 bool   // the last message is a tool's result
	hash                      uint64 // of all the words and the seed
	text, image, video, audio int    // tokens
	media                     bool
	cached                    int // tokens marked for an explicit cache
	marked                    bool
	sizes                     []size // of the images, scaled
}

// input is the sum of the input tokens.
func (p *prompt) input() int {
	return p.text + p.image + p.video + p.audio
}

// readPrompt reads the messages, or the older prompt and history.
func readPrompt(body object) *prompt {
	p := &prompt{}
	h := fnv.New64a()
	in, parameters := body.child("input"), body.child("parameters")
	io.WriteString(h, body.text("model"))
	if seed := parameters.integer("seed", -1); seed >= 0 {
		h.Write([]byte{byte(seed), byte(seed >> 8), byte(seed >> 16), byte(seed >> 24)})
	}
	say := func(role, text string) {
		io.WriteString(h, "\x00"+text)
		p.text += tokens(text)
		if role == "user" {
			p.question = text
		}
	}
	for _, m := range in.list("messages") {
		p.readMessage(asObject(m), parameters, say)
	}
	if len(in.list("messages")) == 0 {
		for _, turn := range in.list("history") {
			say("user", asObject(turn).text("user"))
			say("assistant", asObject(turn).text("bot"))
			p.text += 2 * messageTokens
		}
		say("user", in.text("prompt"))
		p.text += messageTokens
	}
	p.hash = h.Sum64()
	return p
}

func (p *prompt) readMessage(m, parameters object, say func(role, text string)) {
	role := m.text("role")
	p.text += messageTokens
	p.afterTool = role == "tool"
	say2 := func(text string) { say(role, text) }
	if text, ok := m["content"].(string); ok {
		say2(text)
		return
	}
	var words []string
	for _, v := range m.list("content") {
		item := asObject(v)
		p.readMedia(item, parameters)
		if text := item.text("text"); text != "" {
			words = append(words, text)
			if _, ok := item["cache_control"]; ok {
				p.marked = true
				p.cached += tokens(text)
			}
		}
	}
	say2(strings.Join(words, " "))
}

// readMedia counts what an item shows or plays.
func (p *prompt) readMedia(item, parameters object) {
	if image := item.text("image"); image != "" {
		sz := scaled(dataSize(image), parameters, item)
		p.sizes = append(p.sizes, sz)
		p.image += imageTokens(sz)
		p.media = true
	}
	if _, ok := item["video"]; ok {
		p.video += videoTokens
		p.media = true
	}
	if _, ok := item["audio"]; ok {
		p.audio += audioTokens
		p.media = true
	}
}

// A token of an image is a square of this many pixels a side.
const patch = 28

// Bounds of an image's pixels as a chat model sees it: by default, and at
// high resolution.
const (
	minPixels  = 4 * patch * patch
	maxPixels  = 1280 * patch * patch
	highPixels = 16777216
)

// scaled returns the size at which a chat model sees an image.
func scaled(sz size, parameters, item object) size {
	limit := parameters.integer("max_pixels", maxPixels)
	limit = item.integer("max_pixels", limit)
	if parameters.flag("vl_high_resolution_images") {
		limit = highPixels
	}
	return sz.fit(minPixels, max(limit, minPixels), patch)
}

// imageTokens counts an image: one token per patch.
func imageTokens(sz size) int {
	return max(1, (sz.w/patch)*(sz.h/patch))
}
