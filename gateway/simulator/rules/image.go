package rules

import (
	"slices"

	"sluice/gateway/simulator/answer"
	"sluice/gateway/simulator/picture"
	"sluice/gateway/simulator/request"
)

// Bounds of the images that a request makes.
const (
	maxTaskImages = 4
	maxSyncImages = 100 // interface.md leaves it open
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

// SyncImage judges a synchronous image request, and returns what to draw.
func (b *Book) SyncImage(q *request.Request) (Drawing, error) {
	if err := b.checkFrame(q, false); err != nil {
		return Drawing{}, err
	}
	d, err := readDrawing(q.Input())
	if err != nil {
		return Drawing{}, err
	}
	if d.texts == 0 || d.Prompt == "" {
		return Drawing{}, answer.Invalid("input.messages[0].content must hold a text item with the prompt")
	}
	return d, checkPlainImage(q.Parameters(), maxSyncImages)
}

// Synthesis judges a request to the older image paths, of which only the form is specified.
func (b *Book) Synthesis(q *request.Request) error {
	if err := b.checkFrame(q, true); err != nil {
		return err
	}
	if q.Input().Text("prompt") == "" {
		return answer.Invalid("input.prompt is required and must be a string")
	}
	return checkPlainImage(q.Parameters(), maxTaskImages)
}

// checkPlainImage judges the parameters of images that edit no other.
func checkPlainImage(parameters request.Object, images int) error {
	if err := checkAll(parameters, append([]rule{{"n", integers(1, float64(images))}}, imageRules...)); err != nil {
		return err
	}
	if text := parameters.Text("size"); text != "" {
		if _, ok := picture.ParseSize(text); !ok {
			return answer.Invalid("parameters.size must have the form width*height")
		}
	}
	return nil
}

// AsyncImage judges a request to the asynchronous image path, and returns what to draw.
func (b *Book) AsyncImage(q *request.Request) (Drawing, error) {
	if err := b.checkFrame(q, true); err != nil {
		return Drawing{}, err
	}
	if !Matches(b.EditModels, q.Model) {
		return readDrawing(q.Input())
	}
	interleaved := q.Parameters().Flag("enable_interleave")
	if interleaved {
		if err := b.checkStreams(q); err != nil {
			return Drawing{}, err
		}
	}
	return checkEdit(q, interleaved)
}

// Interleaved judges an interleaved request to the multimodal path, and returns what to draw.
func (b *Book) Interleaved(q *request.Request) (Drawing, error) {
	if err := b.checkFrame(q, false); err != nil {
		return Drawing{}, err
	}
	d, err := checkEdit(q, true)
	if err != nil {
		return Drawing{}, err
	}
	return d, b.checkStreams(q)
}

// checkStreams judges whether the request wants interleaved output as a stream. The header decides; a client that
// sends it may leave the parameter out, as the service's own libraries do.
func (b *Book) checkStreams(q *request.Request) error {
	switch {
	case b.LooseInterleave:
		return nil
	case !q.Parameters().FlagOr("stream", true):
		return answer.Invalid("parameters.stream must be true when enable_interleave is true")
	case !q.SSE:
		return answer.Invalid("header %sSse must be enable for interleaved output", b.HeaderPrefix)
	}
	return nil
}

// checkEdit judges a request to the image editing family, in editing or in interleaved mode, and returns what to
// draw.
func checkEdit(q *request.Request, interleaved bool) (Drawing, error) {
	d, err := readDrawing(q.Input())
	if err != nil {
		return Drawing{}, err
	}
	if d.texts != 1 || d.Prompt == "" {
		return Drawing{}, answer.Invalid("input.messages[0].content must hold exactly one text item")
	}
	parameters := q.Parameters()
	if err := checkAll(parameters, imageRules); err != nil {
		return Drawing{}, err
	}
	least, most, bounds := 1, 4, []rule{{"n", integers(1, maxTaskImages)}}
	if interleaved {
		least, most, bounds = 0, 1, []rule{{"n", integers(1, 1)}, {"max_images", integers(1, 5)}}
	}
	if n := len(d.Images); n < least || n > most {
		return Drawing{}, answer.Invalid("input.messages[0].content must hold %d to %d images", least, most)
	}
	if err := checkAll(parameters, bounds); err != nil {
		return Drawing{}, err
	}
	for i, image := range d.Images {
		if complaint := checkInputImage(image); complaint != "" {
			return Drawing{}, answer.Invalid("input image %d %s", i, complaint)
		}
	}
	return d, checkSize(parameters.Text("size"), interleaved)
}

// checkSize judges the size of an edited or interleaved image. Sides that are no multiples of 16 are rounded, not
// refused.
func checkSize(text string, interleaved bool) error {
	if text == "" || !interleaved && slices.Contains([]string{"1K", "2K"}, text) {
		return nil
	}
	most, side := picture.LargeArea, "2048*2048"
	if interleaved {
		most, side = picture.MediumArea, "1280*1280"
	}
	sz, ok := picture.ParseSize(text)
	switch {
	case !ok:
		return answer.Invalid("parameters.size %q is not one of the sizes this mode takes", text)
	case sz.Pixels() < picture.LeastArea, sz.Pixels() > most:
		return answer.Invalid("parameters.size must have total pixels within [768*768, %s]", side)
	case sz.W > 4*sz.H, sz.H > 4*sz.W:
		return answer.Invalid("parameters.size must have an aspect ratio within [1:4, 4:1]")
	}
	return nil
}
