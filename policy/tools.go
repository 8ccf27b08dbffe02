package policy

import "sluice/policy/strictjson"

// tools reads the tools of a text request. Their text, schemas and all, is part of the model's input.
func (r *reader) tools() error {
	list := &r.facts.values[fieldTools]
	list.shape = r.Shape()
	if list.shape != strictjson.Array {
		return r.Skip()
	}
	before := r.Source()
	err := r.Array(func() error {
		r.facts.at = [2]int32{list.count}
		list.count++
		return r.tool()
	})
	r.req.Tools = int(list.count)
	if err == nil && list.count > 0 {
		after := r.Source()
		r.text.Add(strictjson.Count{ASCII: after.ASCII - before.ASCII, Wide: after.Wide - before.Wide})
	}
	return err
}

func (r *reader) tool() error {
	if s := r.Shape(); s != strictjson.Object {
		r.facts.mark(markTool, value{shape: s})
		return r.Skip()
	}
	t := toolReader{reader: r}
	err := r.Object(placeTool, t.member)
	if t.kind.shape != strictjson.String || t.kind.text != "function" {
		r.facts.mark(markToolType, t.kind)
	}
	if t.function.shape != strictjson.Object {
		r.facts.mark(markToolFunction, t.function)
	}
	return err
}

// toolReader reads one tool.
type toolReader struct {
	*reader
	kind, function, name value
}

func (t *toolReader) member(f field) (err error) {
	if f == fieldType {
		t.kind, err = t.value()
		return err
	}
	t.function.shape = t.Shape()
	if t.function.shape != strictjson.Object {
		return t.Skip()
	}
	err = t.Object(placeToolFunction, t.functionMember)
	if t.name.shape != strictjson.String || !isToolName(t.name.text) {
		t.facts.mark(markToolName, t.name)
	}
	return err
}

func (t *toolReader) functionMember(f field) (err error) {
	switch s := t.Shape(); f {
	case fieldName:
		t.name, err = t.identifier()
		return err
	case fieldDescription:
		if s != strictjson.String && s != strictjson.Null {
			t.facts.mark(markToolDescription, value{shape: s})
		}
	case fieldParameters:
		if s != strictjson.Object && s != strictjson.Null {
			t.facts.mark(markToolParameters, value{shape: s})
		}
	}
	return t.Skip()
}

// maxToolName is the length in bytes of the longest name of a function.
const maxToolName = 64

// isToolName reports whether a function may have the name: letters, digits, underscore and hyphen.
func isToolName(name string) bool {
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return name != "" && len(name) <= maxToolName
}
