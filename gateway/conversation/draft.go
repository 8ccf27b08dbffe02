package conversation

import (
	"strconv"

	"sluice/gateway/rawjson"
	"sluice/policy/strictjson"
)

// Draft writes a request of the service: its turns one after another, and then its parameters. [Models.Draft] begins it.
type Draft struct {
	Multimodal bool // contents are lists of items; else they are strings

	body   []byte
	said   bool   // the open turn has a content
	saying bool   // its content is not ended
	calls  []Call // of the open turn
}

// Call is a call of a tool. Its members are raw texts; nil: absent.
type Call struct{ ID, Name, Arguments []byte }

// Open begins a turn.
func (d *Draft) Open() {
	d.said, d.saying, d.calls = false, false, d.calls[:0]
	d.body = append(rawjson.Next(d.body), '{')
}

// Role writes the role of the open turn: system, user, assistant or tool.
func (d *Draft) Role(role string) {
	d.endContent()
	d.body = rawjson.AppendText(d.body, "role", role)
}

// Member writes one more member of the open turn, with a raw value.
func (d *Draft) Member(name, value []byte) {
	d.endContent()
	d.body = append(rawjson.Name(d.body, name), value...)
}

// say begins the content of the open turn, unless it has begun.
func (d *Draft) say() {
	if d.saying {
		return
	}
	d.said, d.saying = true, true
	d.body = d.name("content")
	if d.Multimodal {
		d.body = append(d.body, '[')
	} else {
		d.body = append(d.body, '"')
	}
}

// Text adds a raw string to the content of the open turn. Texts of a content that is a string are joined; others are the item's
// further members, for which a string has no place.
func (d *Draft) Text(value []byte, others Parameters) {
	d.say()
	if !d.Multimodal {
		d.body = append(d.body, rawjson.Inside(value)...)
		return
	}
	d.body = append(append(rawjson.Next(d.body), `{"text":`...), value...)
	d.body = append(others.AppendTo(d.body), '}')
}

// Content adds the content of the open turn: a string, or an array, for each element of which it calls part. Refusals name it member.
func (d *Draft) Content(member string, value []byte, part func(r *strictjson.Reader) error) error {
	switch rawjson.Kind(value) {
	case '"':
		d.Text(value, nil)
		return nil
	case '[':
		return Each(member, value, part)
	}
	return BadRequest(member, "%s must be a string or an array.", member)
}

// Picture adds a picture to the content of the open turn: the item's further members, and its address, in raw texts that follow each
// other. The request MUST be multimodal.
func (d *Draft) Picture(others Parameters, address ...[]byte) {
	d.say()
	d.body = append(rawjson.Next(d.body), `{"image":"`...)
	for _, text := range address {
		d.body = append(d.body, text...)
	}
	d.body = append(others.AppendTo(append(d.body, '"')), '}')
}

// Call adds a call of a tool to the open turn.
func (d *Draft) Call(call Call) { d.calls = append(d.calls, call) }

// Close ends the open turn. One that says nothing has an empty content.
func (d *Draft) Close() {
	if !d.said {
		d.say()
	}
	d.endContent()
	if len(d.calls) > 0 {
		d.body = append(d.body, `,"tool_calls":[`...)
		for i := range d.calls {
			d.body = d.calls[i].AppendTo(rawjson.Next(d.body))
		}
		d.body = append(d.body, ']')
	}
	d.body = append(d.body, '}')
}

// Parameters ends the turns, and begins the parameters.
func (d *Draft) Parameters() {
	d.body = append(d.body, `]},"parameters":{"result_format":"message"`...)
}

// Parameter writes a parameter with a raw value. Without one, or with null, it writes nothing.
func (d *Draft) Parameter(name string, value []byte) {
	if !rawjson.Absent(value) {
		d.body = rawjson.AppendValue(d.body, name, value)
	}
}

// Made writes a parameter whose raw value write appends.
func (d *Draft) Made(name string, write func(dst []byte) []byte) { d.body = write(d.name(name)) }

// Tools writes the tools.
func (d *Draft) Tools(tools []Tool) {
	d.body = append(d.name("tools"), '[')
	for i := range tools {
		d.body = tools[i].AppendTo(d.body)
	}
	d.body = append(d.body, ']')
}

// All writes parameters as they are.
func (d *Draft) All(parameters Parameters) { d.body = parameters.AppendTo(d.body) }

// Thinking writes whether the model thinks first, if the client said so. Otherwise the model decides.
func (d *Draft) Thinking(said, thinks bool) {
	if said {
		d.body = strconv.AppendBool(d.name("enable_thinking"), thinks)
	}
}

// Thinks reports whether an effort, a raw string, asks the model to think. The service has no degrees of effort.
func Thinks(effort []byte) bool { return effort != nil && !rawjson.IsWord(effort, "none") }

// End returns the whole request. The frames of a stream will be increments.
func (d *Draft) End(stream bool) []byte {
	if stream {
		d.Parameter("incremental_output", []byte("true"))
	}
	return append(d.body, "}}"...)
}

func (d *Draft) name(name string) []byte { return rawjson.Name(d.body, name) }

// endContent ends the content of the open turn, if it has begun.
func (d *Draft) endContent() {
	switch {
	case !d.saying:
		return
	case d.Multimodal:
		d.body = append(d.body, ']')
	default:
		d.body = append(d.body, '"')
	}
	d.saying = false
}

// AppendTo appends the call as an object, as the service and OpenAI's chats have it.
func (c *Call) AppendTo(dst []byte) []byte {
	dst = append(append(dst, `{"id":"`...), c.ID...)
	dst = append(append(dst, `","type":"function","function":{"name":"`...), c.Name...)
	dst = append(append(dst, `","arguments":"`...), c.Arguments...)
	return append(dst, `"}}`...)
}

// Parameters are members in the client's order, with raw values.
type Parameters []Parameter

// Parameter is one of them.
type Parameter struct{ Name, Value []byte }

// Add adds a member.
func (p *Parameters) Add(name, value []byte) { *p = append(*p, Parameter{name, value}) }

// AppendTo appends them to an object.
func (p Parameters) AppendTo(dst []byte) []byte {
	for _, member := range p {
		dst = append(rawjson.Name(dst, member.Name), member.Value...)
	}
	return dst
}
