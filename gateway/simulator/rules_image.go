package simulator

import "slices"

// Bounds of the asynchronous image endpoint.
const (
	maxPrompt     = 2000 // characters; more is cut off, not refused
	maxImageBytes = 10 << 20
	minSide       = 240
	maxSide       = 8000
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

// maxTaskImages bounds the images of a task.
const maxTaskImages = 4

// checkSyncImage judges a synchronous image request, and returns what to draw.
func (b *book) checkSyncImage(q *request) (ask, error) {
	if q.async {
		return ask{}, errNoAsync
	}
	if err := b.checkModel(q); err != nil {
		return ask{}, err
	}
	a, err := readAsk(q.input())
	if err != nil {
		return ask{}, err
	}
	if a.texts == 0 || a.prompt == "" {
		return ask{}, invalid("input.messages[0].content must hold a text item with the prompt")
	}
	return a, checkPlainImage(q.parameters(), maxSyncImages)
}

// checkSynthesis judges a request to the older image paths, of which only the
// form is specified.
func (b *book) checkSynthesis(q *request) error {
	if !q.async {
		return errNeedAsync
	}
	if err := b.checkModel(q); err != nil {
		return err
	}
	if q.input().text("prompt") == "" {
		return invalid("input.prompt is required and must be a string")
	}
	return checkPlainImage(q.parameters(), maxTaskImages)
}

// checkPlainImage judges the parameters of images that edit no other.
func checkPlainImage(parameters object, images int) error {
	if err := checkAll(parameters, append([]rule{{"n", integers(1, float64(images))}}, imageRules...)); err != nil {
		return err
	}
	if text := parameters.text("size"); text != "" {
		if _, ok := parseSize(text); !ok {
			return invalid("parameters.size must have the form width*height")
		}
	}
	return nil
}

// checkImage judges a request to the asynchronous image path, and returns what
// to draw.
func (b *book) checkImage(q *request) (ask, error) {
	if !q.async {
		return ask{}, errNeedAsync
	}
	if err := b.checkModel(q); err != nil {
		return ask{}, err
	}
	if !matches(b.editModels, q.model) {
		return readAsk(q.input())
	}
	interleaved := q.parameters().flag("enable_interleave")
	if interleaved {
		if err := b.checkStreams(q); err != nil {
			return ask{}, err
		}
	}
	return checkEdit(q, interleaved)
}

// checkInterleaved judges an interleaved request to the multimodal path, and
// returns what to draw.
func (b *book) checkInterleaved(q *request) (ask, error) {
	if q.async {
		return ask{}, errNoAsync
	}
	if err := b.checkModel(q); err != nil {
		return ask{}, err
	}
	a, err := checkEdit(q, true)
	if err != nil {
		return ask{}, err
	}
	return a, b.checkStreams(q)
}

// checkStreams judges whether interleaved output is asked for as a stream. The
// header is what streams; a client that says so may leave the parameter out,
// as the service's own libraries do.
func (b *book) checkStreams(q *request) error {
	switch {
	case b.looseInterleave:
		return nil
	case !q.parameters().flagOr("stream", true):
		return invalid("parameters.stream must be true when enable_interleave is true")
	case !q.sse:
		return invalid("header %sSse must be enable for interleaved output", b.headerPrefix)
	}
	return nil
}

// checkEdit judges what the image editing family is asked for, in editing or
// in interleaved mode, and returns what to draw.
func checkEdit(q *request, interleaved bool) (ask, error) {
	a, err := readAsk(q.input())
	if err != nil {
		return ask{}, err
	}
	if a.texts != 1 || a.prompt == "" {
		return ask{}, invalid("input.messages[0].content must hold exactly one text item")
	}
	parameters := q.parameters()
	if err := checkAll(parameters, imageRules); err != nil {
		return ask{}, err
	}
	least, most, bounds := 1, 4, []rule{{"n", integers(1, maxTaskImages)}}
	if interleaved {
		least, most, bounds = 0, 1, []rule{{"n", integers(1, 1)}, {"max_images", integers(1, 5)}}
	}
	if n := len(a.images); n < least || n > most {
		return ask{}, invalid("input.messages[0].content must hold %d to %d images", least, most)
	}
	if err := checkAll(parameters, bounds); err != nil {
		return ask{}, err
	}
	for i, image := range a.images {
		if complaint := checkInputImage(image); complaint != "" {
			return ask{}, invalid("input image %d %s", i, complaint)
		}
	}
	return a, checkSize(parameters.text("size"), interleaved)
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
