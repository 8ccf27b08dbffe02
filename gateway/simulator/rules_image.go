package simulator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sluice/gateway/simulator/picture"
)

// maxPrompt bounds an image's prompt in characters; a longer one is cut, not refused.
const maxPrompt = 2000

// maxImages is the largest number of images where interface.md leaves it open.
const maxImages = 100

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

// imageInput is the input of an image request.
type imageInput struct {
	prompt string   // the last text item, cut to maxPrompt
	images []string // to edit: URLs or data URIs
	texts  int      // text items
}

// firstContent returns the content of the first message.
func firstContent(in object) []any {
	if messages := get[[]any](in, "messages"); len(messages) > 0 {
		return get[[]any](messages[0], "content")
	}
	return nil
}

// readImageInput reads the single message of an image request.
func readImageInput(in object) imageInput {
	var out imageInput
	for _, item := range firstContent(in) {
		if image, ok := get[object](item)["image"].(string); ok {
			out.images = append(out.images, image)
			continue
		}
		out.texts++
		out.prompt = firstRunes(get[string](item, "text"), maxPrompt)
	}
	return out
}

// checkForm checks the form of the message that readImageInput reads.
func checkForm(in object) error {
	messages := get[[]any](in, "messages")
	if len(messages) != 1 {
		return invalid("input.messages must hold exactly one message")
	}
	content := firstContent(in)
	switch {
	case get[string](messages[0], "role") != "user":
		return invalid("input.messages[0].role must be user")
	case len(content) == 0:
		return invalid("input.messages[0].content must be a non-empty array")
	}
	for i, item := range content {
		if (str(get[object](item)["text"]) == "") == (str(get[object](item)["image"]) == "") {
			return invalid("input.messages[0].content[%d] must be a text or an image item", i)
		}
	}
	return nil
}

// checkSyncImage checks a synchronous image request.
func checkSyncImage(c *call) error {
	var prompt error
	if readImageInput(c.input).prompt == "" {
		prompt = invalid("input.messages[0].content must hold a text item with the prompt")
	}
	return cmp.Or(checkFrame(c, false), checkForm(c.input), prompt, checkPlain(c.param, maxImages))
}

// checkOlder checks a request to the older image paths, for which only the form is specified.
func checkOlder(c *call) error {
	var prompt error
	if get[string](c.input, "prompt") == "" {
		prompt = invalid("input.prompt is required and must be a string")
	}
	return cmp.Or(checkFrame(c, true), prompt, checkPlain(c.param, 4))
}

// checkPlain checks the parameters of images that are not edits.
func checkPlain(parameters object, most int) error {
	rules := append([]rule{{"n", integers(fmt.Sprintf("[1, %d]", most))}}, imageRules...)
	text, size := get[string](parameters, "size"), error(nil)
	if _, ok := picture.ParseSize(text); text != "" && !ok {
		size = invalid("parameters.size must have the form width*height")
	}
	return cmp.Or(checkAll(parameters, rules), size)
}

// checkTask checks a request to the asynchronous image path.
func checkTask(c *call, interleaved bool) error {
	switch {
	case !edits(c.model):
		return cmp.Or(checkFrame(c, true), checkForm(c.input))
	case interleaved:
		return checkInterleaved(c, true)
	}
	return cmp.Or(checkFrame(c, true), checkEdit(c, false))
}

// checkInterleaved checks an interleaved request, which must be a stream. The header requests it; then the parameter may be absent, as in
// the service's own libraries.
func checkInterleaved(c *call, async bool) error {
	var streams error
	switch {
	case c.param["stream"] == false:
		streams = invalid("parameters.stream must be true when enable_interleave is true")
	case !c.sse:
		streams = invalid("header %sSse must be enable for interleaved output", c.cfg.HeaderPrefix)
	}
	return cmp.Or(checkFrame(c, async), checkEdit(c, true), streams)
}

// checkEdit checks a request to the image editing family, in editing or in interleaved mode.
func checkEdit(c *call, interleaved bool) error {
	least, most, bounds := 1, 4, []rule{{"n", integers("[1, 4]")}}
	if interleaved {
		least, most, bounds = 0, 1, []rule{{"n", integers("[1, 1]")}, {"max_images", integers("[1, 5]")}}
	}
	var texts, images error
	in := readImageInput(c.input)
	if in.texts != 1 || in.prompt == "" {
		texts = invalid("input.messages[0].content must hold exactly one text item")
	}
	if n := len(in.images); n < least || n > most {
		images = invalid("input.messages[0].content must hold %d to %d images", least, most)
	}
	return cmp.Or(checkForm(c.input), texts, checkAll(c.param, imageRules), images, checkAll(c.param, bounds),
		checkInputImages(in.images), checkEditSize(get[string](c.param, "size"), interleaved))
}

// checkInputImages checks the images to edit. It does not fetch URLs.
func checkInputImages(addresses []string) error {
	for i, address := range addresses {
		fault := checkAddress(address)
		if fault == "" && strings.HasPrefix(address, "data:") {
			p, err := picture.ReadData(address)
			switch {
			case err != nil:
				fault = err.Error()
			case p.Bytes > 10<<20:
				fault = "is larger than 10 MB"
			case min(p.Size.W, p.Size.H) < 240, max(p.Size.W, p.Size.H) > 8000:
				fault = "must have a width and a height of 240 to 8000 pixels"
			case p.Alpha:
				fault = "must have no alpha channel"
			}
		}
		if fault != "" {
			return invalid("input image %d %s", i, fault)
		}
	}
	return nil
}

// checkEditSize checks the size of an edited or interleaved image. Sides that are not multiples of 16 are rounded, not refused.
func checkEditSize(text string, interleaved bool) error {
	if text == "" || !interleaved && slices.Contains([]string{"1K", "2K"}, text) {
		return nil
	}
	most, side := picture.LargeArea, "2048*2048"
	if interleaved {
		most, side = picture.MediumArea, "1280*1280"
	}
	size, ok := picture.ParseSize(text)
	switch {
	case !ok:
		return invalid("parameters.size %q is not one of the sizes this mode takes", text)
	case size.Pixels() < picture.LeastArea, size.Pixels() > most:
		return invalid("parameters.size must have total pixels within [768*768, %s]", side)
	case size.W > 4*size.H, size.H > 4*size.W:
		return invalid("parameters.size must have an aspect ratio within [1:4, 4:1]")
	}
	return nil
}

// drawsAtOnce reports whether the model answers on the multimodal path with an image. Models are recognized by a prefix of their names,
// because there are dated snapshots.
func drawsAtOnce(model string) bool {
	return strings.HasPrefix(model, "llm-image") || strings.HasPrefix(model, "gen2.6-t2i")
}

// edits reports whether the rules of asynchronous image editing apply to the model.
func edits(model string) bool { return strings.HasPrefix(model, "gen2.6-image") }
