// Package policy reads requests and reports whether the service's own rules allow them.
//
// It reads a request body in one strict pass ([Read]) and judges it by the service's rules, which are a table ([Judge]).
// Comments cite interface.md, the service's description of its requests, which is kept outside the repository.
//
// It performs no I/O, reads no clock and no environment, logs nothing and knows no HTTP types. Package teams identifies a
// request's team and what it may do; package limit knows what a team may still spend.
//
// Equal input gives equal output, a returned value never changes, and everything wrong with an input is reported together.
package policy

import (
	"sync"

	"sluice/policy/picture"
	"sluice/policy/strictjson"
)

// Read reads one body in one strict pass and returns what it asks for. It keeps no tree of the body and copies no image. The
// error is a [*strictjson.Error]: the body is not one strict JSON document, so Sluice and upstream could read it differently.
// [Judge] decides whether the service's rules allow the request.
func Read(f *Families, call Call, body []byte) (Request, error) {
	r := readers.Get().(*reader)
	defer r.release()
	r.Reset(body)
	r.facts = factsPool.Get().(*facts)
	r.facts.call = call
	r.req.facts = r.facts
	for r.Document(placeTop); r.Member(); {
		switch r.Field {
		case fieldInput:
			r.input()
		case fieldParameters:
			r.parameters()
		default:
			r.facts.values[fieldModel] = r.identifier()
		}
	}
	if !r.End() {
		r.req.Release()
		return Request{}, r.Err()
	}
	r.req.finish(f, r.text)
	return r.req, nil
}

// reader is the strict pass over one body. It fills in the request and its facts.
type reader struct {
	strictjson.Reader
	req   Request
	facts *facts           // the request's
	text  strictjson.Count // characters of text for the model
}

// readers pools readers, whose checks keep their memory, so that a pass allocates next to nothing.
var readers = sync.Pool{New: func() any { return new(reader) }}

func (r *reader) release() {
	r.Reset(nil)
	*r = reader{Reader: r.Reader}
	readers.Put(r)
}

// value reads what rules look at in the next value.
func (r *reader) value() value {
	v := value{shape: r.Shape()}
	switch v.shape {
	case strictjson.Number:
		v.text = string(r.Number())
	case strictjson.String:
		return stringValue(r.Text())
	}
	return v
}

// identifier is value for a model, an id or a name, in which U+0000 is refused.
func (r *reader) identifier() value {
	if s := r.Shape(); s != strictjson.String {
		return value{shape: s}
	}
	return stringValue(r.Identifier())
}

// id steps over an id or a name that no rule looks at.
func (r *reader) id() {
	if r.Kind() == '"' {
		r.Identifier()
	}
}

// prompt reads what should be a string of the prompt. Its text is counted and not kept: a prompt never appears in a
// message.
func (r *reader) prompt() value {
	v := value{shape: r.Shape()}
	if v.shape == strictjson.String {
		t := r.Text()
		r.text.Add(t.Count)
		r.req.PromptLength += t.Points()
		v.count = int32(t.Points())
	}
	return v
}

// shapeOf notes the type of the next value as that of f, and returns f's value for the caller to complete.
func (r *reader) shapeOf(f field) *value {
	v := &r.facts.values[f]
	v.shape = r.Shape()
	return v
}

func (r *reader) input() {
	r.shapeOf(fieldInput)
	for r.Object(placeInput); r.Member(); {
		switch r.Field {
		case fieldMessages:
			list := r.shapeOf(fieldMessages)
			for r.Open('['); r.Element(); list.count++ {
				r.facts.at = [2]int32{list.count}
				r.message()
			}
			r.req.Messages = int(list.count)
		case fieldPrompt:
			r.facts.values[fieldPrompt] = r.prompt()
		default:
			r.SkipCounting(&r.text) // history
		}
	}
}

// message reads one message. Its members come in any order, so they are judged when it ends.
func (r *reader) message() {
	if s := r.Shape(); s != strictjson.Object {
		r.facts.mark(markMessage, value{shape: s})
		return
	}
	var role, content value
	for r.Object(placeMessage); r.Member(); {
		switch r.Field {
		case fieldRole:
			role = r.role()
		case fieldContent:
			if r.Kind() != '[' {
				content = r.prompt()
				continue
			}
			content = value{shape: strictjson.Array}
			for r.Open('['); r.Element(); r.facts.at[1]++ {
				r.item()
			}
			r.facts.at[1] = 0
		case fieldReasoningContent:
			r.SkipCounting(&r.text)
		case fieldToolCalls:
			for r.Open('['); r.Element(); {
				r.toolCall()
			}
		default:
			r.id()
		}
	}
	r.facts.judgeMessage(role, content)
}

// role reads the role. An unknown one is kept only for the first offender, so that a body of a million costs no
// more than a body of one.
func (r *reader) role() value {
	v := value{shape: r.Shape()}
	if v.shape == strictjson.String {
		t := r.Text()
		if v.text = common(t.Raw); v.text == "" && (t.Escaped || r.facts.marks[markRole].count == 0) {
			v.text = kept(t.Raw, t.Escaped)
		}
	}
	return v
}

// toolCall reads a tool call of an assistant's message.
func (r *reader) toolCall() {
	for r.Object(placeToolCall); r.Member(); {
		if r.Field != fieldFunction {
			r.id()
			continue
		}
		for r.Object(placeCallFunction); r.Member(); {
			if r.Field == fieldText {
				r.SkipCounting(&r.text)
			} else {
				r.id()
			}
		}
	}
}

// judgeMessage notes what rules may object to in a message.
func (f *facts) judgeMessage(role, content value) {
	switch {
	case role.shape != strictjson.String:
		f.mark(markRole, role)
	case role.text == "user", role.text == "assistant", role.text == "tool":
	case role.text == "system":
		f.mark(markSystem, role)
	default:
		f.mark(markRole, role)
	}
	if role.text != "user" {
		f.mark(markRoleUser, role)
	}
	switch content.shape {
	case strictjson.String:
		f.note(markContentText, content.shape.String())
	case strictjson.Array:
		f.mark(markContentList, content)
	case strictjson.Absent, strictjson.Null: // an assistant's content is empty beside its tool calls
		if role.text != "assistant" {
			f.mark(markContent, content)
		}
	default:
		f.mark(markContent, content)
	}
}

// item reads one item of a message's content.
func (r *reader) item() {
	if s := r.Shape(); s != strictjson.Object {
		r.facts.mark(markItem, value{shape: s})
		return
	}
	var text, image, media bool // which of its members are present
	for r.Object(placeItem); r.Member(); {
		switch {
		case r.Kind() == 'n': // null is absent
		case r.Field == fieldText:
			text = true
			r.facts.textItems++
			if v := r.prompt(); v.shape != strictjson.String {
				r.facts.mark(markText, v)
			}
		case r.Field == fieldImage:
			image = true
			r.image()
		default: // a video, one address or a list of frames, or an audio
			media = true
			if r.Kind() != '[' {
				r.media()
				continue
			}
			for r.Open('['); r.Element(); {
				r.media()
			}
		}
	}
	if !text && !image {
		if !media {
			r.facts.mark(markItemKind, value{shape: strictjson.Object})
		}
		r.facts.mark(markItemMedia, value{shape: strictjson.Object})
	}
}

func (r *reader) image() {
	r.req.InputImages++
	if s := r.Shape(); s != strictjson.String {
		r.facts.mark(markImage, value{shape: s})
		return
	}
	known := picture.Base64Ahead(r.Rest()[1:])
	t := r.TextAfter(known)
	r.facts.image(t.Raw, t.Escaped, known)
}

// media notes what rules may object to in a video or audio, if it is a string. Data URIs are not judged: interface.md does not
// mention them, and clients send several forms.
func (r *reader) media() {
	if r.Kind() != '"' {
		return
	}
	if t := r.Text(); !picture.IsDataURI(t.Raw, t.Escaped) {
		r.facts.address(markMedia, t.Raw, t.Escaped)
	}
}
