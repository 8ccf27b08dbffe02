package responses

import (
	"bytes"

	"sluice/gateway/conversation"
	"sluice/gateway/rawjson"
	"sluice/policy/strictjson"
)

// turns writes items as turns. Calls of tools, and the messages before, between and behind them, are one turn of the assistant, because the
// results must follow the turn with their calls. A stream may have said something after a call.
type turns struct {
	draft  *conversation.Draft
	tools  *tools
	role   string // of the open turn; empty: none is
	said   bool   // it has a content
	called bool   // it has a call, which no result has answered yet
}

func (t *turns) open(role string) {
	t.close()
	t.draft.Open()
	t.draft.Role(role)
	t.role = role
}

func (t *turns) close() {
	if t.role != "" {
		t.draft.Close()
	}
	t.role, t.said, t.called = "", false, false
}

func (t *turns) write(items []byte) error {
	return conversation.Each("input", items, func(r *strictjson.Reader) error {
		var it inputItem
		if err := it.read(r); err != nil {
			return err
		}
		return t.writeItem(&it)
	})
}

// inputItem is an item of the input, with raw values.
type inputItem struct {
	word, role, content            []byte
	own                            []byte // the id of the item itself
	id, name, namespace            []byte // of a call
	arguments, customInput, output []byte
}

func (it *inputItem) read(r *strictjson.Reader) error {
	return conversation.Fields(r, "An item", conversation.Places{
		{"type", &it.word, 0},
		{"id", &it.own, 0},
		{"role", &it.role, 0},
		{"content", &it.content, 0},
		{"call_id", &it.id, 0},
		{"name", &it.name, 0},
		{"namespace", &it.namespace, 0},
		{"arguments", &it.arguments, 0},
		{"input", &it.customInput, 0},
		{"output", &it.output, 0},
	}, nil)
}

func (t *turns) writeItem(it *inputItem) error {
	switch word := rawjson.Decoded(it.word); string(word) {
	case "", "message":
		return t.message(it)
	case "function_call":
		return t.call(it, it.arguments, "arguments")
	case "custom_tool_call":
		return t.call(it, it.customInput, "input")
	case "function_call_output", "custom_tool_call_output":
		return t.result(it)
	case "reasoning":
		return nil
	case "item_reference":
		if bytes.HasPrefix(rawjson.Inside(it.own), []byte(words[reasoning].prefix)) { // the item itself would be left out, too
			return nil
		}
		return conversation.BadRequest("type", "Items of the type item_reference are not supported: nothing is kept here; send the item itself. "+
			"The AI SDK does so with store: false in providerOptions.openai.")
	default:
		return conversation.BadRequest("type", "Items of the type %q are not supported; message, function_call, function_call_output, "+
			"custom_tool_call, "+
			"custom_tool_call_output and reasoning are.", conversation.Brief(word))
	}
}

func (t *turns) message(it *inputItem) error {
	role, err := conversation.Role(it.role, "user", "assistant", "system", "developer")
	if err != nil {
		return err
	}
	if role != "assistant" || t.role != role || t.said && !t.called {
		t.open(role)
	}
	t.said = true
	return t.draft.Content("content", it.content, t.part)
}

// call adds a call to the assistant's turn. value is what the tool was called with, a raw string.
func (t *turns) call(it *inputItem, value []byte, member string) error {
	switch {
	case !rawjson.IsString(it.id):
		return conversation.BadRequest("call_id", "A call must have a call_id.")
	case !rawjson.IsString(it.name):
		return conversation.BadRequest("name", "A call must have a name.")
	case !rawjson.IsString(value):
		return conversation.BadRequest(member, "A call's %s must be a string.", member)
	}
	if member == "input" {
		value = rawjson.Quote(nil, append(append([]byte(`{"input":`), value...), '}'))
	}
	if t.role != "assistant" {
		t.open("assistant")
	}
	t.called = true
	t.draft.Call(conversation.Call{
		ID: rawjson.Inside(it.id), Name: rawjson.Inside(t.tools.native(it.namespace, it.name)), Arguments: rawjson.Inside(value),
	})
	return nil
}

func (t *turns) result(it *inputItem) error {
	if !rawjson.IsString(it.id) {
		return conversation.BadRequest("call_id", "A call's output must have a call_id.")
	}
	t.open("tool")
	t.draft.Member([]byte("tool_call_id"), it.id)
	return t.draft.Content("output", it.output, t.part)
}

// part writes a part: a text or a picture.
func (t *turns) part(r *strictjson.Reader) error {
	var word, text, url, file []byte
	places := conversation.Places{{"type", &word, 0}, {"text", &text, 0}, {"image_url", &url, 0}, {"file_id", &file, 0}}
	err := conversation.Fields(r, "A part of a content", places, nil)
	switch kind, picture := rawjson.Decoded(word), rawjson.IsWord(word, "input_image"); {
	case err != nil:
		return err
	case picture && file != nil:
		return conversation.BadRequest("file_id", "file_id: no files are kept here; send the picture's address or its data in image_url.")
	case picture && !rawjson.IsString(url):
		return conversation.BadRequest("image_url", "image_url: the picture's address or its data as a data URI is needed.")
	case picture:
		t.draft.Picture(nil, rawjson.Inside(url))
	case string(kind) != "input_text" && string(kind) != "output_text":
		return conversation.BadRequest("type", "Parts of the type %q are not supported; input_text, input_image and output_text are.",
			conversation.Brief(kind))
	case !rawjson.IsString(text):
		return conversation.BadRequest("text", "A part of the type %s must have a text.", kind)
	default:
		t.draft.Text(text, nil)
	}
	return nil
}
