package rules

import (
	"strings"

	"sluice/gateway/simulator/answer"
	"sluice/gateway/simulator/picture"
	"sluice/gateway/simulator/prose"
	"sluice/gateway/simulator/request"
)

// MaxPrompt is how many characters of an image's prompt count; more is cut off, not refused.
const MaxPrompt = 2000

// Bounds of the images to edit.
const (
	maxImageBytes = 10 << 20
	minSide       = 240
	maxSide       = 8000
)

// Drawing tells what an image request wants drawn.
type Drawing struct {
	Prompt string   // cut to MaxPrompt
	Images []string // URLs or data URIs
	texts  int      // text items
}

// readDrawing reads and judges the form of the single message of an image request.
func readDrawing(in request.Object) (Drawing, error) {
	var d Drawing
	messages := in.List("messages")
	if len(messages) != 1 {
		return d, answer.Invalid("input.messages must hold exactly one message")
	}
	m := request.AsObject(messages[0])
	content, ok := m["content"].([]any)
	switch {
	case m.Text("role") != "user":
		return d, answer.Invalid("input.messages[0].role must be user")
	case !ok || len(content) == 0:
		return d, answer.Invalid("input.messages[0].content must be a non-empty array")
	}
	for i, v := range content {
		item := request.AsObject(v)
		_, hasText := item["text"].(string)
		_, hasImage := item["image"].(string)
		if hasText == hasImage {
			return d, answer.Invalid("input.messages[0].content[%d] must be a text or an image item", i)
		}
		if hasText {
			d.texts++
			d.Prompt = prose.CutRunes(item.Text("text"), MaxPrompt)
		} else {
			d.Images = append(d.Images, item.Text("image"))
		}
	}
	return d, nil
}

// checkInputImage judges an image to edit. One behind a URL is not fetched.
func checkInputImage(address string) string {
	if complaint := checkAddress(address); complaint != "" {
		return complaint
	}
	if !strings.HasPrefix(address, "data:") {
		return ""
	}
	p, err := picture.ReadData(address)
	switch {
	case err != nil:
		return err.Error()
	case p.Bytes > maxImageBytes:
		return "is larger than 10 MB"
	case min(p.Size.W, p.Size.H) < minSide, max(p.Size.W, p.Size.H) > maxSide:
		return "must have a width and a height of 240 to 8000 pixels"
	case p.Alpha:
		return "must have no alpha channel"
	}
	return ""
}
