package simulator

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// chatRules are the bounds of a chat's parameters.
var chatRules = []rule{
	{"result_format", words("text", "message")},
	{"temperature", number("[0, 2)")},
	{"top_p", number("(0, 1]")},
	{"top_k", integers("[0, +Inf]")},
	{"repetition_penalty", number("(0, +Inf]")},
	{"presence_penalty", number("[-2, 2]")},
	{"max_tokens", integers("[1, +Inf]")},
	{"max_completion_tokens", integers("[1, +Inf]")},
	{"thinking_budget", integers("[0, +Inf]")},
	{"seed", seed},
	{"n", integers("[1, 4]")},
	{"logprobs", boolean},
	{"top_logprobs", integers("[0, 5]")},
	{"max_pixels", integers("[1, +Inf]")},
	{"stream", boolean},
	{"incremental_output", boolean},
	{"enable_thinking", boolean},
	{"enable_code_interpreter", boolean},
	{"parallel_tool_calls", boolean},
	{"vl_high_resolution_images", boolean},
	{"vl_enable_image_hw_output", boolean},
	{"stop", checkStop},
	{"tools", checkTools},
	{"tool_choice", checkToolChoice},
	{"response_format", checkResponseFormat},
}

// checkText checks a request to the text path.
func checkText(c *call) error {
	var format, items error
	if len(get[[]any](c.param, "tools")) > 0 && resultFormat(c) == "text" {
		format = invalid("parameters.result_format must be message when tools is used")
	}
	for _, m := range get[[]any](c.input, "messages") {
		for _, item := range get[[]any](m, "content") {
			if _, ok := get[object](item)["text"]; !ok {
				items = invalid("input.messages.content of a text model holds text only")
			}
		}
	}
	return cmp.Or(checkChat(c), format, items)
}

// resultFormat is the format that a request gets on the text path. interface.md names no model that defaults to message.
func resultFormat(c *call) string { return cmp.Or(get[string](c.param, "result_format"), "text") }

// checkChat checks what both chat paths have in common.
func checkChat(c *call) error {
	return cmp.Or(checkFrame(c, false), checkConversation(c.input), checkAll(c.param, chatRules), checkTogether(c))
}

// checkTogether checks parameters that depend on each other.
func checkTogether(c *call) error {
	several, thinking := integer(c.param, "n", 1) > 1, get[bool](c.param, "enable_thinking")
	switch {
	case several && len(get[[]any](c.param, "tools")) > 0:
		return invalid("parameters.n must be 1 when tools is used")
	case several && thinking:
		return invalid("parameters.n must be 1 in thinking mode")
	case thinking && get[object](c.param, "tool_choice") != nil:
		return invalid("parameters.tool_choice cannot force a tool in thinking mode")
	case get[string](c.param, "response_format", "type") == "json_object" && !mentionsJSON(c.input):
		return invalid("input.messages must contain the word json to use response_format json_object")
	}
	return nil
}

// mentionsJSON reports whether any text of the conversation says json.
func mentionsJSON(in object) bool {
	texts := get[string](in, "prompt")
	for _, m := range get[[]any](in, "messages") {
		texts += "\n" + get[string](m, "content")
		for _, item := range get[[]any](m, "content") {
			texts += "\n" + get[string](item, "text")
		}
	}
	return strings.Contains(strings.ToLower(texts), "json")
}

// checkConversation checks input: messages, or the older prompt with history.
func checkConversation(in object) error {
	if in["messages"] != nil {
		list := get[[]any](in, "messages")
		if len(list) == 0 {
			return invalid("input.messages must be a non-empty array")
		}
		for i, m := range list {
			if err := checkMessage(i, get[object](m)); err != nil {
				return err
			}
		}
		return nil
	}
	history, ok := in["history"].([]any)
	switch {
	case get[string](in, "prompt") == "":
		return invalid("input must hold messages or prompt")
	case !ok && in["history"] != nil:
		return invalid("input.history must be an array")
	}
	for i, turn := range history {
		if t := get[object](turn); str(t["user"]) != "" || str(t["bot"]) != "" {
			return invalid("input.history[%d] must hold the strings user and bot", i)
		}
	}
	return nil
}

func checkMessage(i int, m object) error {
	role, calls := get[string](m, "role"), len(get[[]any](m, "tool_calls")) > 0
	if !slices.Contains([]string{"system", "user", "assistant", "tool"}, role) {
		return invalid("input.messages[%d].role must be one of system, user, assistant and tool", i)
	}
	switch content := m["content"].(type) {
	case string:
		return nil
	case []any:
		if len(content) == 0 && !calls {
			return invalid("input.messages[%d].content must not be empty", i)
		}
		for j, item := range content {
			if fault := checkItem(get[object](item)); fault != "" {
				return invalid("input.messages[%d].content[%d] %s", i, j, fault)
			}
		}
		return nil
	case nil:
		if role == "assistant" && calls {
			return nil
		}
	}
	return invalid("input.messages[%d].content must be a string or an array", i)
}

// checkItem checks one content item of a chat.
func checkItem(item object) string {
	found := false
	for _, kind := range []string{"text", "image", "video", "audio"} {
		v := item[kind]
		text, isText := v.(string)
		frames, _ := v.([]any)
		switch {
		case v == nil:
			continue
		case !isText && !(kind == "video" && len(frames) > 0):
			return kind + " must be a string"
		case kind == "image" && checkAddress(text) != "":
			return kind + " " + checkAddress(text)
		}
		found = true
	}
	if !found {
		return "must hold text, image, video or audio"
	}
	return ""
}

// checkStop checks stop sequences.
func checkStop(v any) string {
	if _, ok := v.(string); ok {
		return ""
	}
	list, ok := v.([]any)
	notID := func(id any) bool { return integers("[0, +Inf]")(id) != "" }
	kinds := map[string]bool{}
	for _, e := range list {
		ids, nested := e.([]any)
		switch _, isText := e.(string); {
		case isText:
			kinds["string"] = true
		case nested && !slices.ContainsFunc(ids, notID):
			kinds["token ids"] = true
		case !nested && !notID(e):
			kinds["token id"] = true
		default:
			ok = false
		}
	}
	switch {
	case !ok:
		return "must be a string, an array of strings or an array of token ids"
	case len(kinds) > 1:
		return "must not mix strings and token ids"
	}
	return ""
}

var toolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func checkTools(v any) string {
	list, ok := v.([]any)
	if !ok {
		return "must be an array"
	}
	for _, t := range list {
		f := get[object](t, "function")
		switch {
		case get[string](t, "type") != "function":
			return "must hold tools of type function"
		case f == nil:
			return "must hold a function object in each tool"
		case !toolName.MatchString(get[string](f, "name")):
			return "must name each function with 1 to 64 letters, digits, underscores or hyphens"
		case f["description"] != nil && str(f["description"]) != "":
			return "must describe each function with a string"
		case f["parameters"] != nil && get[object](f, "parameters") == nil:
			return "must give each function's parameters as a JSON Schema object"
		}
	}
	return ""
}

func checkToolChoice(v any) string {
	named := get[string](v, "type") == "function" && get[string](v, "function", "name") != ""
	if words("auto", "none")(v) == "" || named {
		return ""
	}
	return "must be auto, none or an object that names a function"
}

func checkResponseFormat(v any) string {
	o := get[object](v)
	if o == nil {
		return "must be an object"
	}
	if fault := words("text", "json_object", "json_schema")(o["type"]); fault != "" {
		return "type " + fault
	}
	if o["type"] == "json_schema" && get[object](o, "json_schema", "schema") == nil {
		return "must hold json_schema.schema when its type is json_schema"
	}
	return ""
}
