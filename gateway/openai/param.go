package openai

import "strings"

// ChatParam is the member of a chat request that became the service's field, such as input.messages[2].content[0].image or
// parameters.top_p; empty: it came from no member, such as a header.
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

// ImageParam is the member of an image request that became the service's field; empty: it came from no member.
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
	case strings.Contains(field, ".image"), strings.HasSuffix(field, ".content"): // the content has one text, always
		return "image"
	}
	return "prompt"
}
