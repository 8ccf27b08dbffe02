package responses

import (
	"bytes"
	"fmt"
	"strings"

	"sluice/gateway/conversation"
	"sluice/gateway/rawjson"
	"sluice/policy/strictjson"
)

// tools are the tools of a request.
type tools struct {
	list   []tool
	left   []string // types of those that the service lacks
	forced []byte   // what tool_choice is said to be; nil: auto
}

// tool is a tool that the service has as a function. Values are raw; nil: absent.
type tool struct {
	name, namespace                 []byte // the client's; strings
	native                          []byte // the service's name, a string
	description, parameters, strict []byte
	custom                          bool // it takes one text
	grammar                         []byte
}

// read reads the list of tools. Those that the service lacks are left out; [request.choose] tells the client.
func (t *tools) read(list []byte) error {
	if list != nil && rawjson.Kind(list) != '[' {
		return conversation.BadRequest("tools", "tools: an array of tools is needed.")
	}
	index := 0
	for r := rawjson.Array(list); r.Element(); index++ {
		if err := t.readTool(r.Value(), nil); err != nil {
			return conversation.Within(fmt.Sprintf("tools[%d]", index), err)
		}
	}
	return nil
}

func (t *tools) readTool(value, namespace []byte) error {
	if rawjson.Kind(value) != '{' {
		return conversation.BadRequest("", "A tool must be an object.")
	}
	it := tool{namespace: namespace}
	var word, inner, format []byte
	var seen strictjson.Once
	r := rawjson.Object(value)
	for seen.Next(&r) {
		switch string(r.Name) {
		case "type":
			word = r.Value()
		case "name":
			it.name = r.Value()
		case "description":
			it.description = r.Value()
		case "parameters":
			it.parameters = r.Value()
		case "strict":
			it.strict = r.Value()
		case "format":
			format = r.Value()
		case "tools":
			inner = r.Value()
		}
	}
	kind := rawjson.Decoded(word)
	switch {
	case seen.Fault != "":
		return conversation.RefusedName(&seen, r.Name)
	case len(t.list)+len(t.left) == conversation.MostTools:
		return conversation.TooMany("")
	case len(kind) == 0:
		return conversation.BadRequest("type", "A tool must have a type.")
	case string(kind) != "function" && string(kind) != "custom" && string(kind) != "namespace":
		t.left = append(t.left, string(conversation.Brief(kind)))
		return nil
	case !rawjson.IsString(it.name):
		return conversation.BadRequest("name", "A tool of the type %s must have a name.", kind)
	case string(kind) == "namespace":
		return t.readNamespace(it.name, inner)
	}
	if it.custom = string(kind) == "custom"; it.custom && rawjson.IsWord(rawjson.Find(format, "type"), "grammar") {
		it.grammar = format
	}
	it.native = t.freeName(&it)
	t.list = append(t.list, it)
	return nil
}

func (t *tools) readNamespace(name, list []byte) error {
	index := 0
	for r := rawjson.Array(list); r.Element(); index++ {
		if err := t.readTool(r.Value(), name); err != nil {
			return conversation.Within(fmt.Sprintf("tools[%d]", index), err)
		}
	}
	return nil
}

// freeName is the service's name of a tool: its own. Of two with the same name, the one in a namespace has that before it.
func (t *tools) freeName(it *tool) []byte {
	for i := range t.list {
		switch before := &t.list[i]; {
		case !sameText(before.native, it.name):
		case it.namespace != nil:
			return it.qualified()
		case before.namespace != nil:
			before.native = before.qualified()
		}
	}
	return it.name
}

func (it *tool) qualified() []byte {
	return rawjson.Quote(nil, string(rawjson.Decoded(it.namespace))+"__"+string(rawjson.Decoded(it.name)))
}

// native is the service's name of a tool that was called. One that is no longer there keeps the client's.
func (t *tools) native(namespace, name []byte) []byte {
	for i := range t.list {
		if it := &t.list[i]; sameText(it.name, name) && sameText(it.namespace, namespace) {
			return it.native
		}
	}
	return name
}

// sameText compares raw strings; those that are absent are the same. Only escapes make different texts the same, and each at most six times as long.
func sameText(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if len(a) > 6*len(b) || len(b) > 6*len(a) || bytes.IndexByte(a, '\\') < 0 && bytes.IndexByte(b, '\\') < 0 {
		return false
	}
	return rawjson.IsString(a) && rawjson.IsString(b) && bytes.Equal(rawjson.Decoded(a), rawjson.Decoded(b))
}

// room is how many bytes the tools need beyond what the client's take.
func (t *tools) room() (size int) {
	for i := range t.list {
		size += 256 + 2*len(t.list[i].grammar)
	}
	return size
}

// appendTo appends the tools as the service has them.
func (t *tools) appendTo(dst []byte) []byte {
	dst = append(dst, '[')
	for i := range t.list {
		dst = t.list[i].appendTo(rawjson.Next(dst))
	}
	return append(dst, ']')
}

// textAlone is the schema of a custom tool, whose one argument is a text.
const textAlone = `{"type":"object","properties":{"input":{"type":"string"}},"required":["input"],"additionalProperties":false}`

func (it *tool) appendTo(dst []byte) []byte {
	dst = append(append(dst, `{"type":"function","function":{"name":`...), it.native...)
	description, parameters := it.description, it.parameters
	if it.custom {
		description, parameters = it.explained(), []byte(textAlone)
	}
	for _, member := range [...]conversation.Parameter{
		{Name: []byte("description"), Value: description}, {Name: []byte("parameters"), Value: parameters}, {Name: []byte("strict"), Value: it.strict},
	} {
		if member.Value != nil {
			dst = append(rawjson.Name(dst, member.Name), member.Value...)
		}
	}
	return append(dst, "}}"...)
}

// explained is the description of a custom tool with the grammar of its text, which the service has no other place for.
func (it *tool) explained() []byte {
	definition := rawjson.Find(it.grammar, "definition")
	if !rawjson.IsString(definition) {
		return it.description
	}
	text := rawjson.Text(it.description, "") + "\n\nThe input follows this grammar (" + rawjson.Text(rawjson.Find(it.grammar, "syntax"), "lark") + "):\n"
	return rawjson.Quote(nil, strings.TrimLeft(text, "\n")+string(rawjson.Decoded(definition)))
}

// renamed are the tools whose calls come back in another form than a function's. They hold no part of the body.
func (t *tools) renamed() (list []tool) {
	for i := range t.list {
		if it := &t.list[i]; it.custom || it.namespace != nil {
			list = append(list, tool{name: bytes.Clone(it.name), namespace: bytes.Clone(it.namespace), native: bytes.Clone(it.native), custom: it.custom})
		}
	}
	return list
}

// chosen is what the answer says of tool_choice.
func (t *tools) chosen() []byte {
	if t.forced == nil {
		return []byte(`"auto"`)
	}
	return t.forced
}
