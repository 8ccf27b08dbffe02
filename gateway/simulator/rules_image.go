package simulator

import "slices"

// Bounds of the asynchronous image endpoint.
const (
	maxPrompt     = 2000 // characters; more is cut off, not refused
	maxImageBytes = 10 << 20
	minSide       = 240
	maxSide       = 8000
	leastArea     = 768 * 768
	mediumArea    = 1280 * 1280
	largeArea     = 2048 * 2048
)

// imageRules are the bounds of image parameters in every mode.
var imageRules = []rule{
	{"negative_prompt", str},
	{"prompt_extend", boolean},
	{"watermark", boolean},
	{"stream", boolean},
	{"enable_interleave", boolean},
	{"seed", seed},
	{"size", str},
}

// maxSyncImages is where this service draws the line that interface.md leaves
// open.
const maxSyncImages = 100

// checkSyncImage judges a synchronous image request.
func (s *Simulator) checkSyncImage(c *call) error {
	if c.async {
		return errNoAsync
	}
	if err := s.checkModel(c); err != nil {
		return err
	}
	ask, err := readAsk(c.body.child("input"))
	if err != nil {
		return err
	}
	if ask.texts == 0 || ask.prompt == "" {
		return invalid("input.messages[0].content must hold a text item with the prompt")
	}
	parameters := c.body.child("parameters")
	if err := checkAll(parameters, append([]rule{{"n", integers(1, maxSyncImages)}}, imageRules...)); err != nil {
		return err
	}
	if text := parameters.text("size"); text != "" {
		if _, ok := parseSize(text); !ok {
			return invalid("parameters.size must have the form width*height")
		}
	}
	return nil
}

// checkImage judges a request to the asynchronous image path.
func (s *Simulator) checkImage(c *call) error {
	if !c.async {
		return errNeedAsync
	}
	if err := s.checkModel(c); err != nil {
		return err
	}
	if !matches(s.cfg.EditImageModels, c.model) {
		_, err := readAsk(c.body.child("input"))
		return err
	}
	parameters := c.body.child("parameters")
	interleaved := parameters.flag("enable_interleave")
	if interleaved {
		if err := s.checkStreams(c, parameters); err != nil {
			return err
		}
	}
	return checkEdit(c.body.child("input"), parameters, interleaved)
}

// checkStreams judges whether interleaved output is asked for as a stream. The
// header is what streams; a client that says so may leave the parameter out,
// as the service's own libraries do.
func (s *Simulator) checkStreams(c *call, parameters object) error {
	switch {
	case s.cfg.LooseInterleave:
		return nil
	case !parameters.flagOr("stream", true):
		return invalid("parameters.stream must be true when enable_interleave is true")
	case !c.sse:
		return invalid("header %sSse must be enable for interleaved output", s.cfg.HeaderPrefix)
	}
	return nil
}

// checkEdit judges what the image editing family is asked for, in editing or
// in interleaved mode.
func checkEdit(in, parameters object, interleaved bool) error {
	ask, err := readAsk(in)
	if err != nil {
		return err
	}
	if ask.texts != 1 || ask.prompt == "" {
		return invalid("input.messages[0].content must hold exactly one text item")
	}
	if err := checkAll(parameters, imageRules); err != nil {
		return err
	}
	least, most, bounds := 1, 4, []rule{{"n", integers(1, 4)}}
	if interleaved {
		least, most, bounds = 0, 1, []rule{{"n", integers(1, 1)}, {"max_images", integers(1, 5)}}
	}
	if n := len(ask.images); n < least || n > most {
		return invalid("input.messages[0].content must hold %d to %d images", least, most)
	}
	if err := checkAll(parameters, bounds); err != nil {
		return err
	}
	for i, image := range ask.images {
		if complaint := checkInputImage(image); complaint != "" {
			return invalid("input image %d %s", i, complaint)
		}
	}
	return checkSize(parameters.text("size"), interleaved)
}

// checkSize judges the size of an edited or interleaved image. Sides that are
// no multiples of 16 are rounded, not refused.
func checkSize(text string, interleaved bool) error {
	if text == "" || !interleaved && slices.Contains([]string{"1K", "2K"}, text) {
		return nil
	}
	most, side := largeArea, "2048*2048"
	if interleaved {
		most, side = mediumArea, "1280*1280"
	}
	sz, ok := parseSize(text)
	switch {
	case !ok:
		return invalid("parameters.size %q is not one of the sizes this mode takes", text)
	case sz.pixels() < leastArea, sz.pixels() > most:
		return invalid("parameters.size must have total pixels within [768*768, %s]", side)
	case sz.w > 4*sz.h, sz.h > 4*sz.w:
		return invalid("parameters.size must have an aspect ratio within [1:4, 4:1]")
	}
	return nil
}

// checkInputImage judges an image to edit. One behind a URL is not fetched.
func checkInputImage(address string) string {
	if complaint := checkAddress(address); complaint != "" {
		return complaint
	}
	if len(address) < 5 || address[:5] != "data:" {
		return ""
	}
	p, err := readData(address)
	switch {
	case err != nil:
		return err.Error()
	case p.bytes > maxImageBytes:
		return "is larger than 10 MB"
	case min(p.size.w, p.size.h) < minSide, max(p.size.w, p.size.h) > maxSide:
		return "must have a width and a height of 240 to 8000 pixels"
	case p.alpha:
		return "must have no alpha channel"
	}
	return ""
}

// ask is what an image request wants drawn.
type ask struct {
	prompt string
	texts  int // text items
	images []string
}

// readAsk reads and judges the form of the single message of an image
// request.
func readAsk(in object) (ask, error) {
	var a ask
	messages := in.list("messages")
	if len(messages) != 1 {
		return a, invalid("input.messages must hold exactly one message")
	}
	m := asObject(messages[0])
	content, ok := m["content"].([]any)
	switch {
	case m.text("role") != "user":
		return a, invalid("input.messages[0].role must be user")
	case !ok || len(content) == 0:
		return a, invalid("input.messages[0].content must be a non-empty array")
	}
	for i, v := range content {
		item := asObject(v)
		_, hasText := item["text"].(string)
		_, hasImage := item["image"].(string)
		if hasText == hasImage {
			return a, invalid("input.messages[0].content[%d] must be a text or an image item", i)
		}
		if hasText {
			a.texts++
			a.prompt = cutRunes(item.text("text"), maxPrompt)
		} else {
			a.images = append(a.images, item.text("image"))
		}
	}
	return a, nil
}

// checkSynthesis judges a request to the older image paths, of which only the
// form is specified.
func (s *Simulator) checkSynthesis(c *call) error {
	if !c.async {
		return errNeedAsync
	}
	if err := s.checkModel(c); err != nil {
		return err
	}
	if c.body.child("input").text("prompt") == "" {
		return invalid("input.prompt is required and must be a string")
	}
	parameters := c.body.child("parameters")
	if err := checkAll(parameters, append([]rule{{"n", integers(1, 4)}}, imageRules...)); err != nil {
		return err
	}
	if text := parameters.text("size"); text != "" {
		if _, ok := parseSize(text); !ok {
			return invalid("parameters.size must have the form width*height")
		}
	}
	return nil
}
