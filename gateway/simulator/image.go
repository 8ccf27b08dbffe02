package simulator

import (
	"hash/fnv"
	"io"
	"strconv"
)

// imageUsage is the usage of an asynchronous or interleaved image answer.
type imageUsage struct {
	Total  *int64 `json:"total_tokens,omitempty"`
	Input  *int64 `json:"input_tokens,omitempty"`
	Output *int64 `json:"output_tokens,omitempty"`
	Count  *int   `json:"image_count,omitempty"`
	Size   string `json:"size,omitempty"`
}

// syncUsage is the usage of a synchronous image answer.
type syncUsage struct {
	Width  int `json:"width"`
	Height int `json:"height"`
	Count  int `json:"image_count"`
}

// imageChoice wraps an image's parts as a choice.
func imageChoice(finish *string, parts ...part) choice {
	return choice{Message: message{Content: parts, Role: "assistant"}, Finish: finish}
}

var finishStop = "stop"

// defaultSize is the size of images of which nothing else says how large.
var defaultSize = size{1024, 1024}

// serveMultimodal answers the path that chat, synchronous images and
// interleaved streams share.
func (s *Simulator) serveMultimodal(c *call) (answer, error) {
	parameters := c.body.child("parameters")
	switch {
	case matches(s.cfg.SyncImageModels, c.model):
		return s.serveSyncImage(c)
	case matches(s.cfg.EditImageModels, c.model) &&
		(c.sse || parameters.flag("stream") || parameters.flag("enable_interleave")):
		return s.serveInterleaved(c)
	}
	if err := s.checkChat(c); err != nil {
		return answer{}, err
	}
	return s.chat(c, true), nil
}

// serveSyncImage answers with images in the same response.
func (s *Simulator) serveSyncImage(c *call) (answer, error) {
	if err := s.checkSyncImage(c); err != nil {
		return answer{}, err
	}
	parameters := c.body.child("parameters")
	ask, _ := readAsk(c.body.child("input")) // judged above
	sz, ok := parseSize(parameters.text("size"))
	if !ok {
		sz = defaultSize
	}
	easel := s.easel(c, ask.prompt, sz)
	n := parameters.integer("n", 1)
	var out messageOutput
	for i := range n {
		out.Choices = append(out.Choices, imageChoice(&finishStop, part{Image: easel.address(i, c.now)}))
	}
	usage := syncUsage{Width: sz.w, Height: sz.h, Count: n}
	return answer{
		doc:  &reply{Output: out, Usage: usage, RequestID: c.id},
		work: true, model: c.model, cost: cost{images: int64(n)},
	}, nil
}

// easel makes the addresses of the images of one request.
type easel struct {
	s         *Simulator
	base      string
	name      string
	seed      uint64
	size      size
	watermark bool
}

// easel prepares the images of a request. The same prompt and seed give the
// same images; the names differ.
func (s *Simulator) easel(c *call, prompt string, sz size) easel {
	parameters := c.body.child("parameters")
	h := fnv.New64a()
	io.WriteString(h, prompt)
	io.WriteString(h, strconv.Itoa(parameters.integer("seed", -1)))
	base := s.cfg.BaseURL
	if base == "" {
		scheme := "http"
		if c.r.TLS != nil {
			scheme = "https"
		}
		base = scheme + "://" + c.r.Host
	}
	return easel{s: s, base: base, name: c.id, seed: h.Sum64(), size: sz, watermark: parameters.flag("watermark")}
}

// editSize is the size of an edited or interleaved image: as asked for, or in
// the proportions of the last input image.
func editSize(text string, images []string, interleaved bool) size {
	if sz, ok := parseSize(text); ok {
		return sz.steps(16)
	}
	model := size{1280, 1280}
	if len(images) > 0 {
		model = dataSize(images[len(images)-1])
	}
	switch {
	case interleaved && model.pixels() <= mediumArea:
		return model
	case text == "2K":
		return model.area(largeArea, 16)
	}
	return model.area(mediumArea, 16)
}
