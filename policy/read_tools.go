package policy

import "sluice/policy/strictjson"

// tools reads the tools of a text request. Their text, schemas and all, is part of the model's input.
func (r *reader) tools() error {
	list := &r.req.facts.values[fieldTools]
	list.shape = r.Shape()
	if list.shape != strictjson.Array {
		return r.Skip()
	}
	before := r.Source()
	err := r.Array(func() error {
		r.at2 = [2]int32{list.count}
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

// tool reads one tool.
func (r *reader) tool() error {
	if s := r.Shape(); s != strictjson.Object {
		r.mark(markTool, value{shape: s})
		return r.Skip()
	}
	var kind, function value
	err := r.Object(placeTool, func(f field) (err error) {
		if f == fieldType {
			kind, err = r.value()
			return err
		}
		function.shape = r.Shape()
		return r.toolFunction()
	})
	if kind.shape != strictjson.String || kind.text != "function" {
		r.mark(markToolType, kind)
	}
	if function.shape != strictjson.Object {
		r.mark(markToolFunction, function)
	}
	return err
}

// toolFunction reads the function of a tool.
func (r *reader) toolFunction() error {
	if r.Shape() != strictjson.Object {
		return r.Skip()
	}
	var name value
	err := r.Object(placeToolFunction, func(f field) (err error) {
		switch s := r.Shape(); f {
		case fieldName:
			name, err = r.identifier()
			return err
		case fieldDescription:
			if s != strictjson.String && s != strictjson.Null {
				r.mark(markToolDescription, value{shape: s})
			}
		case fieldParameters:
			if s != strictjson.Object && s != strictjson.Null {
				r.mark(markToolParameters, value{shape: s})
			}
		}
		return r.Skip()
	})
	if name.shape != strictjson.String || !isToolName(name.text) {
		r.mark(markToolName, name)
	}
	return err
}

// maxToolName is the longest name of a function.
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
