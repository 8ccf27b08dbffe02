package responses

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"sluice/gateway/conversation"
	"sluice/gateway/rawjson"
	"sluice/policy/strictjson"
)

// tools are the tools of a request.
type tools struct {
	list   []tool
	left   conversation.Left
	forced []byte // tool_choice; nil: auto
}

// tool is a tool that the service has as a function. Values are raw; nil: absent.
type tool struct {
	name, namespace []byte            // the client's; strings
	native          conversation.Tool // the service's
	custom          bool              // it takes one text
	place           string            // in the client's request, such as tools[2].tools[0]
}

// read reads the tools in a namespace, or in none. Tools that the service lacks are left out; [request.choose] warns the client. within is
// the namespace's place.
func (t *tools) read(list, namespace []byte, within string) error {
	index := -1
	return conversation.Each("tools", list, func(r *strictjson.Reader) error {
		index++
		return t.readTool(r, tool{namespace: namespace, place: within + "tools[" + strconv.Itoa(index) + "]"})
	})
}

// readTool reads a tool whose place is known.
func (t *tools) readTool(r *strictjson.Reader, it tool) error {
	var word, inner, format []byte
	err := conversation.ReadTool(r, len(t.list)+t.left.Count, conversation.Places{
		{"type", &word, 0},
		{"name", &it.name, 0},
		{"description", &it.native.Description, 0},
		{"parameters", &it.native.Parameters, 0},
		{"strict", &it.native.Strict, 0},
		{"format", &format, 0},
		{"tools", &inner, 0},
	})
	kind := rawjson.Decoded(word)
	switch {
	case err != nil:
		return err
	case len(kind) == 0:
		return conversation.BadRequest("type", "A tool must have a type.")
	case string(kind) != "function" && string(kind) != "custom" && string(kind) != "namespace":
		t.left.Add(word)
		return nil
	case !rawjson.IsString(it.name):
		return conversation.BadRequest("name", "A tool of the type %s must have a name.", kind)
	}
	if err := conversation.Bound("name", it.name, conversation.MostWord, conversation.Bytes); err != nil {
		return err
	}
	switch {
	case string(kind) != "namespace":
	case it.namespace != nil:
		return conversation.BadRequest("type", "A namespace must not be in another one.")
	default:
		return t.read(inner, it.name, it.place+".")
	}
	if it.custom = string(kind) == "custom"; it.custom {
		it.native.Description, it.native.Parameters = explained(it.native.Description, format), []byte(textSchema)
	}
	if slices.ContainsFunc(t.list, it.isConfusedWith) {
		return conversation.BadRequest("name", "name: a function and a custom tool have the same name.")
	}
	t.list = append(t.list, it)
	return nil
}

// isConfusedWith reports whether a call of the tool could not be told from a call of another one, which comes back in another form.
func (it *tool) isConfusedWith(other tool) bool {
	return it.custom != other.custom && sameText(it.namespace, other.namespace) && sameText(it.name, other.name)
}

// choose turns tool_choice into the service's, and warns of tools that were left out. thinks: the model thinks first.
func (q *request) choose(thinks bool) (err error) {
	given := q.choice
	q.warnings.Add(q.tools.left.Warning())
	q.tools.forced = given
	switch kind := rawjson.Text(rawjson.Find(given, "type"), ""); {
	case given == nil, rawjson.IsWord(given, "auto"), rawjson.IsWord(given, "none"):
		return nil
	case rawjson.IsWord(given, "required"):
		q.choice, err = conversation.Required(q.tools.natives(), thinks, &q.warnings)
		return err
	case kind == "function" || kind == "custom":
		name, space := rawjson.Find(given, "name"), rawjson.Find(given, "namespace")
		for i := range q.tools.list {
			it := &q.tools.list[i]
			if sameText(it.name, name) && (rawjson.Absent(space) || sameText(it.namespace, space)) {
				q.choice = conversation.ChosenFunction(it.native.Name)
				return nil
			}
		}
		return conversation.BadRequest("tool_choice", "tool_choice: no tool has the name %q.", conversation.Brief(rawjson.Text(name, "")))
	case rawjson.Kind(given) == '{' && kind != "":
		return conversation.BadRequest("tool_choice", `tool_choice: the type %q cannot be forced; "auto", "none", "required",`+
			` a function or a custom tool can.`,
			conversation.Brief(kind))
	}
	return conversation.BadRequest("tool_choice", `tool_choice: "auto", "none", "required",`+
		` or an object with the type "function" or "custom" is allowed.`)
}

// appendForced appends tool_choice as the answer repeats it: of an object, the members that were read, which are strings.
func (t *tools) appendForced(dst []byte) []byte {
	if rawjson.Kind(t.forced) != '{' {
		return rawjson.AppendOr(dst, t.forced, `"auto"`)
	}
	dst = append(dst, '{')
	for _, name := range [...]string{"type", "name", "namespace"} {
		if value := rawjson.Find(t.forced, name); !rawjson.Absent(value) {
			dst = rawjson.AppendValue(dst, name, value)
		}
	}
	return append(dst, '}')
}

// native is the service's name of a tool that was called. A tool that the request no longer has keeps the client's name.
func (t *tools) native(namespace, name []byte) []byte {
	for i := range t.list {
		if it := &t.list[i]; sameText(it.name, name) && sameText(it.namespace, namespace) {
			return it.native.Name
		}
	}
	return name
}

// sameText compares raw strings; two that are absent are equal. Only escapes let strings of different bytes be equal, and an escape is at
// most six times as long as its character.
func sameText(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if len(a) > 6*len(b) || len(b) > 6*len(a) || bytes.IndexByte(a, '\\') < 0 && bytes.IndexByte(b, '\\') < 0 {
		return false
	}
	return rawjson.IsString(a) && rawjson.IsString(b) && bytes.Equal(rawjson.Decoded(a), rawjson.Decoded(b))
}

// room is how many bytes more the service's tools need than the client's.
func (t *tools) room() (size int) {
	for i := range t.list {
		size += 256
		if it := &t.list[i]; it.custom {
			size += len(it.native.Description)
		}
	}
	return size
}

// natives are the tools as the service has them.
func (t *tools) natives() []conversation.Tool {
	list := make([]conversation.Tool, len(t.list))
	for i := range t.list {
		list[i] = t.list[i].native
	}
	return list
}

// places are where the client's request has them.
func (t *tools) places() []string {
	list := make([]string, len(t.list))
	for i := range t.list {
		list[i] = t.list[i].place
	}
	return list
}

// textSchema is the schema of a custom tool, whose only argument is a text.
const textSchema = `{"type":"object","properties":{"input":{"type":"string"}},"required":["input"],"additionalProperties":false}`

// explained is the description of a custom tool with the grammar of its text, if that has one: the service has no other place for it.
func explained(description, format []byte) []byte {
	definition := rawjson.Find(format, "definition")
	if !rawjson.IsWord(rawjson.Find(format, "type"), "grammar") || !rawjson.IsString(definition) {
		return description
	}
	text := rawjson.Text(description, "") + "\n\nThe input follows this grammar (" +
		rawjson.Text(rawjson.Find(format, "syntax"), "lark") + "):\n"
	return rawjson.Quote(nil, strings.TrimLeft(text, "\n")+string(rawjson.Decoded(definition)))
}

// renamed returns the tools whose calls come back in another form than a function's. They hold no part of the body.
func (t *tools) renamed() (list []tool) {
	for i := range t.list {
		if it := &t.list[i]; it.custom || it.namespace != nil {
			name := conversation.Tool{Name: bytes.Clone(it.native.Name)}
			list = append(list, tool{name: bytes.Clone(it.name), namespace: bytes.Clone(it.namespace), native: name, custom: it.custom})
		}
	}
	return list
}
