package openai

import "sluice/gateway/conversation"

// Bounds of the texts in a request for images. A text grows when it is written as JSON, up to six times, so it is bounded before
// that.
const (
	mostPrompt = 32_000  // characters of a prompt, as in OpenAI's interface
	mostText   = 4 << 10 // bytes of a text whose meaning only the service knows
	mostEscape = 6       // bytes that a byte of text takes in JSON at most
)

// imageBound is how long a text of a request for images may be, and in which unit.
func imageBound(name string) (most int, unit string) {
	switch name {
	case "prompt", "negative_prompt":
		return mostPrompt, conversation.Characters
	case "model", "size", "user", "safety_identifier", "response_format", "quality", "style", "background", "moderation",
		"output_format", "output_compression", "input_fidelity", "partial_images", "stream":
		return conversation.MostWord, conversation.Bytes
	}
	return mostText, conversation.Bytes
}
