package policy

import "sluice/policy/strictjson"

func (r *reader) parameters() {
	r.shapeOf(fieldParameters)
	for r.Object(placeParameters); r.Member(); {
		switch f := r.Field; f {
		case fieldTools:
			r.tools()
		case fieldToolChoice:
			r.toolChoice()
		case fieldStop:
			r.stop()
		case fieldResponseFormat:
			r.responseFormat()
		case fieldNegativePrompt: // its text stays out of messages
			v := r.value()
			if v.shape == strictjson.String {
				v.text = ""
			}
			r.facts.values[f] = v
		default:
			r.facts.values[f] = r.value()
		}
	}
}

func (r *reader) responseFormat() {
	r.shapeOf(fieldResponseFormat)
	for r.Object(placeResponseFormat); r.Member(); {
		if r.Field == fieldResponseType {
			r.facts.values[fieldResponseType] = r.value()
			continue
		}
		r.shapeOf(fieldJSONSchema)
		for r.Object(placeSchema); r.Member(); {
			if r.Field == fieldSchema {
				r.shapeOf(fieldSchema)
			} else {
				r.id()
			}
		}
	}
}

// toolChoice reads tool_choice: a word, or an object that names the function to call.
func (r *reader) toolChoice() {
	if r.Kind() != '{' {
		r.facts.values[fieldToolChoice] = r.value()
		return
	}
	r.shapeOf(fieldToolChoice)
	function, named := false, false
	for r.Object(placeToolChoice); r.Member(); {
		if r.Field == fieldType {
			v := r.value()
			function = v.shape == strictjson.String && v.text == "function"
			continue
		}
		for r.Object(placeChosenFunction); r.Member(); {
			named = r.Kind() == '"'
			r.id()
		}
	}
	r.facts.forced = function && named
}

// The kinds of the elements of stop.
const (
	stopWords   = 1 << iota // strings
	stopTokens              // token ids
	stopLists               // lists of token ids
	stopUnknown             // anything else
)

// maxStop is how many stop sequences are kept for the spans.
const maxStop = 8

// stop reads the stop sequences: a string, or an array of strings, token ids or lists of token ids.
func (r *reader) stop() {
	if r.Kind() != '[' {
		v := r.value()
		r.facts.values[fieldStop] = v
		if v.shape == strictjson.String {
			r.req.Stop = append(r.req.Stop, cut(v.text))
		}
		return
	}
	r.shapeOf(fieldStop)
	for r.Open('['); r.Element(); {
		kind := uint(stopUnknown)
		switch r.Shape() {
		case strictjson.Array:
			kind = stopLists
			for r.Open('['); r.Element(); {
				if r.Shape() != strictjson.Number || !isInteger(r.Number()) {
					kind |= stopUnknown
				}
			}
		case strictjson.Number:
			if isInteger(r.Number()) {
				kind = stopTokens
			}
		case strictjson.String:
			kind = stopWords
			if len(r.req.Stop) < maxStop {
				r.req.Stop = append(r.req.Stop, cut(r.value().text))
			}
		}
		r.facts.stopKinds |= kind
	}
}

// tools reads the tools of a text request. Their text, schemas and all, is part of the model's input.
func (r *reader) tools() {
	list := r.shapeOf(fieldTools)
	before := r.Source()
	for r.Open('['); r.Element(); list.count++ {
		r.facts.at = [2]int32{list.count}
		r.tool()
	}
	r.req.Tools = int(list.count)
	if list.count > 0 {
		after := r.Source()
		r.text.Add(strictjson.Count{ASCII: after.ASCII - before.ASCII, Wide: after.Wide - before.Wide})
	}
}

func (r *reader) tool() {
	if s := r.Shape(); s != strictjson.Object {
		r.facts.mark(markTool, value{shape: s})
		return
	}
	var kind, function value
	for r.Object(placeTool); r.Member(); {
		if r.Field == fieldType {
			kind = r.value()
			continue
		}
		if function.shape = r.Shape(); function.shape == strictjson.Object {
			r.function()
		}
	}
	if kind.shape != strictjson.String || kind.text != "function" {
		r.facts.mark(markToolType, kind)
	}
	if function.shape != strictjson.Object {
		r.facts.mark(markToolFunction, function)
	}
}

// function reads the function of a tool.
func (r *reader) function() {
	var name value
	for r.Object(placeToolFunction); r.Member(); {
		switch s := r.Shape(); {
		case r.Field == fieldName:
			name = r.identifier()
		case s == strictjson.Null:
		case r.Field == fieldDescription && s != strictjson.String:
			r.facts.mark(markToolDescription, value{shape: s})
		case r.Field == fieldParameters && s != strictjson.Object:
			r.facts.mark(markToolParameters, value{shape: s})
		}
	}
	if name.shape != strictjson.String || !isToolName(name.text) {
		r.facts.mark(markToolName, name)
	}
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
