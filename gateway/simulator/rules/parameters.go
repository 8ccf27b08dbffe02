package rules

import (
	"regexp"

	"sluice/gateway/simulator/request"
)

// stop checks stop sequences.
func stop(v any) string {
	if _, ok := v.(string); ok {
		return ""
	}
	list, ok := v.([]any)
	kinds := map[string]bool{}
	for _, e := range list {
		kinds[stopKind(e)] = true
	}
	switch {
	case !ok || kinds[""]:
		return "must be a string, an array of strings or an array of token ids"
	case len(kinds) > 1:
		return "must not mix strings and token ids"
	}
	return ""
}

// stopKind names the kind of one stop sequence: a string, a token id or a list of token ids. Empty is invalid.
func stopKind(v any) string {
	switch e := v.(type) {
	case string:
		return "string"
	case float64:
		if atLeast(0)(e) == "" {
			return "id"
		}
	case []any:
		for _, id := range e {
			if atLeast(0)(id) != "" {
				return ""
			}
		}
		return "ids"
	}
	return ""
}

var toolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func tools(v any) string {
	list, ok := v.([]any)
	if !ok {
		return "must be an array"
	}
	for _, e := range list {
		t := request.AsObject(e)
		f := t.Child("function")
		switch {
		case t.Text("type") != "function":
			return "must hold tools of type function"
		case f == nil:
			return "must hold a function object in each tool"
		case !toolName.MatchString(f.Text("name")):
			return "must name each function with 1 to 64 letters, digits, underscores or hyphens"
		case f["description"] != nil && str(f["description"]) != "":
			return "must describe each function with a string"
		case f["parameters"] != nil && f.Child("parameters") == nil:
			return "must give each function's parameters as a JSON Schema object"
		}
	}
	return ""
}

func toolChoice(v any) string {
	o := request.AsObject(v)
	if words("auto", "none")(v) == "" || o.Text("type") == "function" && o.Child("function").Text("name") != "" {
		return ""
	}
	return "must be auto, none or an object that names a function"
}

func responseFormat(v any) string {
	o := request.AsObject(v)
	if o == nil {
		return "must be an object"
	}
	if complaint := words("text", "json_object", "json_schema")(o["type"]); complaint != "" {
		return "type " + complaint
	}
	if o.Text("type") == "json_schema" && o.Child("json_schema").Child("schema") == nil {
		return "must hold json_schema.schema when its type is json_schema"
	}
	return ""
}
