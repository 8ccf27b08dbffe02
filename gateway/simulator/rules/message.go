package rules

import (
	"net/url"
	"slices"
	"strings"

	"sluice/gateway/simulator/answer"
	"sluice/gateway/simulator/picture"
	"sluice/gateway/simulator/request"
)

// roles of a conversation.
var roles = []string{"system", "user", "assistant", "tool"}

// checkConversation judges input: messages, or the older prompt with history.
func checkConversation(in request.Object) error {
	if in["messages"] != nil {
		list := in.List("messages")
		if len(list) == 0 {
			return answer.Invalid("input.messages must be a non-empty array")
		}
		for i, m := range list {
			if err := checkMessage(i, request.AsObject(m)); err != nil {
				return err
			}
		}
		return nil
	}
	if in.Text("prompt") == "" {
		return answer.Invalid("input must hold messages or prompt")
	}
	return checkHistory(in["history"])
}

func checkHistory(v any) error {
	if v == nil {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		return answer.Invalid("input.history must be an array")
	}
	for i, turn := range list {
		if str(request.AsObject(turn)["user"]) != "" || str(request.AsObject(turn)["bot"]) != "" {
			return answer.Invalid("input.history[%d] must hold the strings user and bot", i)
		}
	}
	return nil
}

func checkMessage(i int, m request.Object) error {
	role := m.Text("role")
	if !slices.Contains(roles, role) {
		return answer.Invalid("input.messages[%d].role must be one of system, user, assistant and tool", i)
	}
	switch content := m["content"].(type) {
	case string:
		return nil
	case []any:
		if len(content) == 0 && len(m.List("tool_calls")) == 0 {
			return answer.Invalid("input.messages[%d].content must not be empty", i)
		}
		for j, v := range content {
			if err := checkItem(request.AsObject(v)); err != "" {
				return answer.Invalid("input.messages[%d].content[%d] %s", i, j, err)
			}
		}
		return nil
	case nil:
		if role == "assistant" && len(m.List("tool_calls")) > 0 {
			return nil
		}
	}
	return answer.Invalid("input.messages[%d].content must be a string or an array", i)
}

// checkItem judges one content item of a chat.
func checkItem(item request.Object) string {
	found := false
	for _, kind := range []string{"text", "image", "video", "audio"} {
		v := item[kind]
		if v == nil {
			continue
		}
		found = true
		if frames, _ := v.([]any); kind == "video" && len(frames) > 0 {
			continue
		}
		complaint := str(v)
		if complaint == "" && kind == "image" {
			complaint = checkAddress(item.Text(kind))
		}
		if complaint != "" {
			return kind + " " + complaint
		}
	}
	if !found {
		return "must hold text, image, video or audio"
	}
	return ""
}

// checkAddress judges the form of an image's address.
func checkAddress(address string) string {
	if strings.HasPrefix(address, "data:") {
		if _, err := picture.ReadData(address); err == picture.ErrURI {
			return err.Error()
		}
		return ""
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || !slices.Contains([]string{"http", "https", "oss"}, u.Scheme) {
		return "must be a public HTTP or HTTPS URL or a Base64 data URI"
	}
	return ""
}
