package chat

import (
	"hash/fnv"
	"io"
	"strings"

	"sluice/gateway/simulator/picture"
	"sluice/gateway/simulator/prose"
	"sluice/gateway/simulator/request"
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
	sizes                     []picture.Size // of the images, scaled
}

// input is the sum of the input tokens.
func (p *prompt) input() int {
	return p.text + p.image + p.video + p.audio
}

// readPrompt reads the messages, or the older prompt and history.
func readPrompt(body request.Object) *prompt {
	p := &prompt{}
	h := fnv.New64a()
	in, parameters := body.Child("input"), body.Child("parameters")
	io.WriteString(h, body.Text("model"))
	if seed := parameters.Integer("seed", -1); seed >= 0 {
		h.Write([]byte{byte(seed), byte(seed >> 8), byte(seed >> 16), byte(seed >> 24)})
	}
	say := func(role, text string) {
		io.WriteString(h, "\x00"+text)
		p.text += prose.Tokens(text)
		if role == "user" {
			p.question = text
		}
	}
	for _, m := range in.List("messages") {
		p.readMessage(request.AsObject(m), parameters, say)
	}
	if len(in.List("messages")) == 0 {
		for _, turn := range in.List("history") {
			say("user", request.AsObject(turn).Text("user"))
			say("assistant", request.AsObject(turn).Text("bot"))
			p.text += 2 * messageTokens
		}
		say("user", in.Text("prompt"))
		p.text += messageTokens
	}
	p.hash = h.Sum64()
	return p
}

func (p *prompt) readMessage(m, parameters request.Object, say func(role, text string)) {
	role := m.Text("role")
	p.text += messageTokens
	p.afterTool = role == "tool"
	say2 := func(text string) { say(role, text) }
	if text, ok := m["content"].(string); ok {
		say2(text)
		return
	}
	var words []string
	for _, v := range m.List("content") {
		item := request.AsObject(v)
		p.readMedia(item, parameters)
		if text := item.Text("text"); text != "" {
			words = append(words, text)
			if _, ok := item["cache_control"]; ok {
				p.marked = true
				p.cached += prose.Tokens(text)
			}
		}
	}
	say2(strings.Join(words, " "))
}

// readMedia counts what an item shows or plays.
func (p *prompt) readMedia(item, parameters request.Object) {
	if image := item.Text("image"); image != "" {
		sz := scaled(picture.DataSize(image), parameters, item)
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

// Bounds of an image's pixels as a chat model sees it: by default, and at high resolution.
const (
	minPixels  = 4 * patch * patch
	maxPixels  = 1280 * patch * patch
	highPixels = 16777216
)

// scaled returns the size at which a chat model sees an image.
func scaled(sz picture.Size, parameters, item request.Object) picture.Size {
	limit := parameters.Integer("max_pixels", maxPixels)
	limit = item.Integer("max_pixels", limit)
	if parameters.Flag("vl_high_resolution_images") {
		limit = highPixels
	}
	return sz.Fit(minPixels, max(limit, minPixels), patch)
}

// imageTokens counts an image: one token per patch.
func imageTokens(sz picture.Size) int {
	return max(1, (sz.W/patch)*(sz.H/patch))
}
