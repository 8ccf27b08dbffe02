package openai

import "bytes"

// unsupportedInChats reports whether the service has no counterpart of a member of chat requests. If idle, the value asks for
// nothing, and the member is dropped instead of refused.
func unsupportedInChats(name string, value []byte) (unsupported, idle bool) {
	switch name {
	case "frequency_penalty":
		return true, isZero(value)
	case "logit_bias", "functions":
		return true, isEmpty(value)
	case "modalities":
		return true, isTextAlone(value)
	case "function_call":
		return true, isWord(value, "none")
	case "audio", "prediction", "moderation", "web_search_options": // an empty web_search_options asks for a search
		return true, false
	}
	return false, false
}

// checkToolChoice refuses all values but those that the service knows: auto, none, or one function.
func checkToolChoice(value []byte) error {
	if isWord(value, "auto") || isWord(value, "none") {
		return nil
	}
	if isString(value) {
		return badRequest("tool_choice", `tool_choice: "auto", "none" or a function is allowed; the service cannot be forced to call any tool.`)
	}
	for w := walkObject(value); w.member(); {
		if string(w.name) == "type" && isWord(w.value, "function") {
			return nil
		}
	}
	return badRequest("tool_choice", `tool_choice: "auto", "none" or an object with the type "function" is allowed.`)
}

// isWord reports whether a value is a string that spells the word.
func isWord(value []byte, word string) bool {
	return isString(value) && len(value) <= mostEscape*len(word)+2 && string(decoded(value)) == word
}

// isZero reports whether a value is a number equal to zero, in any spelling.
func isZero(value []byte) bool {
	if len(value) > mostWord {
		return false
	}
	digits, _, _ := bytes.Cut(bytes.ToLower(value), []byte("e"))
	return len(digits) > 0 && len(bytes.Trim(digits, "-.0")) == 0
}

// isEmpty reports whether a value is an empty object or array.
func isEmpty(value []byte) bool {
	switch kind(value) {
	case '{', '[':
		return len(trimmed(value[1:])) == 1
	}
	return false
}

// isTextAlone reports whether a value is a list with no other element than "text".
func isTextAlone(value []byte) bool {
	count := 0
	for list := walkArray(value); list.element(); count++ {
		if !isWord(list.value, "text") {
			return false
		}
	}
	return count > 0
}

// refuseReserved refuses a member that would overrule the translation.
func refuseReserved(name string) error {
	return badRequest(name, "%s is not allowed here; it belongs to the service's own interface.", name)
}

// boolean reads true or false.
func boolean(name string, value []byte) (bool, error) {
	if k := kind(value); k != 't' && k != 'f' {
		return false, badRequest(name, "%s: true or false is needed.", name)
	}
	return kind(value) == 't', nil
}
