package openai

import (
	"bytes"
	"errors"
	"unicode/utf8"

	"sluice/policy/strictjson"
)

// Bounds of the texts in a request. A text grows when it is written as JSON, up to six times, so it is bounded before that.
const (
	mostPrompt = 32_000  // characters of a prompt for images, as in OpenAI's interface
	mostWord   = 256     // bytes of a model's name, a size and other words
	mostText   = 4 << 10 // bytes of a text whose meaning only the service knows
	mostEscape = 6       // bytes that a byte of text takes in JSON at most
	fewMembers = 16      // parameters that need one allocation
)

// ErrNoRoom means that there is no memory for the service's request.
var ErrNoRoom = errors.New("there is no memory for the request")

// Models has what is known about models. A nil Resolve returns the name itself, a nil Room has memory, the other nil functions
// return false.
type Models struct {
	Resolve func(name string) string // translates a client's name to the service's
	Vision  func(model string) bool  // the model reads images: its chats take the multimodal path
	Sync    func(model string) bool  // the model makes images in its answer, without a task
	Room    func(bytes int64) bool   // takes memory for the service's request, or reports false
}

func (m *Models) resolve(name string) string {
	if m.Resolve == nil {
		return name
	}
	return m.Resolve(name)
}

func (m *Models) isVision(model string) bool { return m.Vision != nil && m.Vision(model) }
func (m *Models) isSync(model string) bool   { return m.Sync != nil && m.Sync(model) }

// room asks for memory for the service's request, before it is made.
func (m *Models) room(size int) error {
	if m.Room != nil && !m.Room(int64(size)) {
		return ErrNoRoom
	}
	return nil
}

// refusedName is the refusal of the member with this name, which ended its object; nil: none did.
func refusedName(seen *strictjson.Once, name []byte) error {
	switch seen.Fault {
	case strictjson.FaultLongName:
		return badRequest("", "The name of a member has more than %d bytes: %q…", strictjson.MaxName, brief(name))
	case strictjson.FaultDuplicate:
		return badRequest(string(brief(name)), "The member %q appears twice.", brief(name))
	case strictjson.FaultMembers:
		return badRequest("", "An object has more than %d members.", strictjson.MostOnce)
	}
	return nil
}

// brief cuts a client's text to the length that a message may repeat.
func brief[T ~string | ~[]byte](text T) T { return text[:min(len(text), 64)] }

// openRequest enters the object that the body of a request is. When it has been read, [endRequest] looks at the rest.
func openRequest(body []byte) (r strictjson.Reader, err error) {
	r = strictjson.NewReader(body)
	if r.Kind() == '{' {
		r.Open('{')
		return r, nil
	}
	r.Skip()
	switch {
	case r.End():
		return r, badRequest("", "The body must be a JSON object.")
	case len(bytes.TrimLeft(body, " \t\r\n")) == 0:
		return r, badRequest("", "The body is empty; a JSON object is needed.")
	}
	return r, endRequest(&r, nil)
}

// endRequest refuses a body that is not JSON, or returns the refusal of its members.
func endRequest(r *strictjson.Reader, refused error) error {
	switch {
	case r.Broken() || refused == nil && !r.End():
		return badRequest("", "The body is not a JSON document in UTF-8: it has a fault at byte %d.", r.Fault())
	case refused != nil:
		return refused
	}
	return nil
}

// parameters are the members that become parameters of the service, in the client's order, with raw values.
type parameters []parameter

type parameter struct{ name, value []byte }

func (p *parameters) add(name, value []byte) { *p = append(*p, parameter{name, value}) }

// appendTo appends them to an object.
func (p parameters) appendTo(dst []byte) []byte {
	for _, member := range p {
		dst = append(named(dst, member.name), member.value...)
	}
	return dst
}

// refuseReserved refuses a member that would overrule the translation.
func refuseReserved(name string) error {
	return badRequest(name, "%s is not allowed here; it belongs to the service's own interface.", name)
}

// refuseLong refuses a text that is longer than most, in characters or in bytes.
func refuseLong(name string, given, most int, characters bool) error {
	unit := "bytes"
	if characters {
		unit = "characters"
	}
	return badRequest(name, "%s: given %d %s, allowed at most %d; send a shorter text.", name, given, unit, most)
}

// imageBound is how long a text of a request for images may be: in characters if it is a prompt, else in bytes.
func imageBound(name string) (most int, characters bool) {
	switch name {
	case "prompt", "negative_prompt":
		return mostPrompt, true
	case "model", "size", "user", "safety_identifier", "response_format", "quality", "style", "background", "moderation",
		"output_format", "output_compression", "input_fidelity", "partial_images", "stream":
		return mostWord, false
	}
	return mostText, false
}

// boundPart refuses a field of a form that is too long.
func boundPart(p *Part) error {
	most, characters := imageBound(p.Name)
	given := len(p.Data)
	if characters && given > most {
		given = utf8.RuneCount(p.Data)
	}
	if given > most {
		return refuseLong(brief(p.Name), given, most, characters)
	}
	return nil
}

// boundString refuses a string that is longer than most, in characters or in bytes.
func boundString(name string, value []byte, most int, characters bool) error {
	if !isString(value) || len(value)-2 <= most {
		return nil
	}
	given, points := strictjson.Size(inside(value))
	if characters {
		given = points
	}
	if given > most {
		return refuseLong(name, given, most, characters)
	}
	return nil
}

func checkModel(value []byte) error {
	if !isString(value) || len(value) == 2 {
		return badRequest("model", "model: the name of a model is needed.")
	}
	return boundString("model", value, mostWord, false)
}
