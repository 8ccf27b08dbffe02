package openai

import (
	"sluice/gateway/conversation"
	"sluice/gateway/rawjson"
	"sluice/policy/strictjson"
)

// Bounds of the texts in a request for images. A text grows when it is written as JSON, up to six times, so it is bounded before
// that.
const (
	mostPrompt = 32_000  // characters of a prompt, as in OpenAI's interface
	mostText   = 4 << 10 // bytes of a text whose meaning only the service knows
	mostEscape = 6       // bytes that a byte of text takes in JSON at most
)

// refuseLong refuses a text that is longer than most, in characters or in bytes.
func refuseLong(name string, given, most int, characters bool) error {
	if characters {
		return conversation.RefuseLong(name, given, most, "characters")
	}
	return conversation.RefuseLong(name, given, most, "bytes")
}

// imageBound is how long a text of a request for images may be: in characters if it is a prompt, else in bytes.
func imageBound(name string) (most int, characters bool) {
	switch name {
	case "prompt", "negative_prompt":
		return mostPrompt, true
	case "model", "size", "user", "safety_identifier", "response_format", "quality", "style", "background", "moderation",
		"output_format", "output_compression", "input_fidelity", "partial_images", "stream":
		return conversation.MostWord, false
	}
	return mostText, false
}

// boundString refuses a string that is longer than most, in characters or in bytes.
func boundString(name string, value []byte, most int, characters bool) error {
	if !rawjson.IsString(value) || len(value)-2 <= most {
		return nil
	}
	given, points := strictjson.Size(rawjson.Inside(value))
	if characters {
		given = points
	}
	if given > most {
		return refuseLong(name, given, most, characters)
	}
	return nil
}

// refuseReserved refuses a member that would overrule the translation.
func refuseReserved(name string) error {
	return conversation.BadRequest(name, "%s is not allowed here; it belongs to the service's own interface.", name)
}
