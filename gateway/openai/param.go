package openai

import "strings"

// ChatParam returns the member of a chat request that was translated to a field of the service's request, such as
// input.messages[2].content[0].image or parameters.top_p. It is empty if there is none, as for a header.
func ChatParam(field string) string {
	switch {
	case field == "parameters.incremental_output", field == "parameters.stream":
		return "stream"
	case field == "model":
		return field
	}
	if name, ok := strings.CutPrefix(field, "parameters."); ok {
		return name
	}
	name, ok := strings.CutPrefix(field, "input.")
	if !ok || !strings.HasPrefix(name, "messages") {
		return ""
	}
	if place, ok := strings.CutSuffix(name, ".image"); ok {
		return place + ".image_url"
	}
	return name
}

// ImageParam is [ChatParam] for image requests.
func ImageParam(field string) string {
	if field == "model" {
		return field
	}
	if name, ok := strings.CutPrefix(field, "parameters."); ok {
		return name
	}
	switch {
	case !strings.HasPrefix(field, "input."):
		return ""
	case strings.Contains(field, ".image"), strings.HasSuffix(field, ".content"): // of the items of the content, only the images vary
		return "image"
	}
	return "prompt"
}
