package policy

// tools reads the tools of a text request. Their text, schemas and all, is part of the model's input.
func (r *reader) tools() error {
	list := &r.req.facts.values[fieldTools]
	list.shape = r.shape()
	if list.shape != shapeArray {
		return r.skip()
	}
	start, before := r.pos, r.raw
	err := r.array(func(r *reader) error {
		r.at2 = [2]int32{list.count}
		list.count++
		return r.tool()
	})
	r.req.Tools = int(list.count)
	if err == nil && list.count > 0 {
		r.wide += r.raw.wide - before.wide
		r.ascii += r.pos - start - (r.raw.bytes - before.bytes)
	}
	return err
}

// tool reads one tool.
func (r *reader) tool() error {
	if s := r.shape(); s != shapeObject {
		r.mark(markTool, value{shape: s})
		return r.skip()
	}
	var kind, function value
	err := r.object(placeTool, func(r *reader, f field) (err error) {
		if f == fieldType {
			kind, err = r.value()
			return err
		}
		function.shape = r.shape()
		return r.toolFunction()
	})
	if kind.shape != shapeString || kind.text != "function" {
		r.mark(markToolType, kind)
	}
	if function.shape != shapeObject {
		r.mark(markToolFunction, function)
	}
	return err
}

// toolFunction reads the function of a tool.
func (r *reader) toolFunction() error {
	if r.shape() != shapeObject {
		return r.skip()
	}
	var name value
	err := r.object(placeToolFunction, func(r *reader, f field) (err error) {
		switch s := r.shape(); f {
		case fieldName:
			name, err = r.identifier()
			return err
		case fieldDescription:
			if s != shapeString && s != shapeNull {
				r.mark(markToolDescription, value{shape: s})
			}
		case fieldParameters:
			if s != shapeObject && s != shapeNull {
				r.mark(markToolParameters, value{shape: s})
			}
		}
		return r.skip()
	})
	if name.shape != shapeString || !isToolName(name.text) {
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
