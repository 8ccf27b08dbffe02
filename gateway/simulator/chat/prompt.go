package chat

import (
	"hash/fnv"
	"io"
	"strings"

	"sluice/gateway/simulator/picture"
	"sluice/gateway/simulator/prose"
	"sluice/gateway/simulator/request"
)

// Tokens that a message costs beyond its text, and those of media whose length the service cannot see.
const (
	messageTokens = 4
	videoTokens   = 512
	audioTokens   = 64
)

// prompt is the question of a chat request, and what reading it costs.
type prompt struct {
	question  string // the user's last message
	afterTool bool   // the last message is a tool's result
	hash      uint64 // of model, texts and seed
	text      int    // tokens
	cached    int    // tokens of text marked for an explicit cache
	media     media
	sizes     []picture.Size // of the images, scaled
}

// input is the sum of the input tokens.
func (p *prompt) input() int { return p.text + p.media.sum() }

// media is the tokens of all input but text.
type media struct {
	Image int `json:"image_tokens,omitempty"`
	Video int `json:"video_tokens,omitempty"`
	Audio int `json:"audio_tokens,omitempty"`
}

func (m media) sum() int { return m.Image + m.Video + m.Audio }

// readPrompt reads a chat request's body.
func readPrompt(body request.Object) *prompt {
	p := &prompt{}
	h := fnv.New64a()
	parameters := body.Child("parameters")
	io.WriteString(h, body.Text("model"))
	if seed := parameters.Integer("seed", -1); seed >= 0 {
		h.Write([]byte{byte(seed), byte(seed >> 8), byte(seed >> 16), byte(seed >> 24)})
	}
	for _, m := range conversation(body.Child("input")) {
		text := p.readContent(m, parameters)
		io.WriteString(h, "\x00"+text)
		p.text += prose.Tokens(text) + messageTokens
		p.afterTool = m.Text("role") == "tool"
		if m.Text("role") == "user" {
			p.question = text
		}
	}
	p.hash = h.Sum64()
	return p
}

// conversation returns the messages, or what the older prompt and history would be as messages.
func conversation(in request.Object) []request.Object {
	var out []request.Object
	for _, m := range in.List("messages") {
		out = append(out, request.AsObject(m))
	}
	if len(out) > 0 {
		return out
	}
	for _, v := range in.List("history") {
		turn := request.AsObject(v)
		out = append(out, message("user", turn.Text("user")), message("assistant", turn.Text("bot")))
	}
	return append(out, message("user", in.Text("prompt")))
}

func message(role, content string) request.Object {
	return request.Object{"role": role, "content": content}
}

// readContent counts the media of a message, and returns its text.
func (p *prompt) readContent(m, parameters request.Object) string {
	if text, ok := m["content"].(string); ok {
		return text
	}
	var texts []string
	for _, v := range m.List("content") {
		item := request.AsObject(v)
		p.readMedia(item, parameters)
		if text := item.Text("text"); text != "" {
			texts = append(texts, text)
			if _, ok := item["cache_control"]; ok {
				p.cached += prose.Tokens(text)
			}
		}
	}
	return strings.Join(texts, " ")
}

func (p *prompt) readMedia(item, parameters request.Object) {
	if image := item.Text("image"); image != "" {
		size := scaled(picture.SizeOfData(image), parameters, item)
		p.sizes = append(p.sizes, size)
		p.media.Image += imageTokens(size)
	}
	if _, ok := item["video"]; ok {
		p.media.Video += videoTokens
	}
	if _, ok := item["audio"]; ok {
		p.media.Audio += audioTokens
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
func scaled(size picture.Size, parameters, item request.Object) picture.Size {
	limit := item.Integer("max_pixels", parameters.Integer("max_pixels", maxPixels))
	if parameters.Flag("vl_high_resolution_images") {
		limit = highPixels
	}
	return size.Fit(minPixels, max(limit, minPixels), patch)
}

// imageTokens counts an image: one token per patch.
func imageTokens(size picture.Size) int {
	return max(1, (size.W/patch)*(size.H/patch))
}
