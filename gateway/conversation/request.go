package conversation

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"sluice/gateway/rawjson"
	"sluice/policy/strictjson"
)

// Bounds of the words in a request.
const (
	// MostWord is how many bytes a model's name, a size and other words may have.
	MostWord = 256
	// MostTurns is how many turns a conversation may have. The gateway refuses requests of more than twice as many members, and each
	// turn has a role and a content.
	MostTurns = 50_000
	// Few is a number of members that nearly no request exceeds.
	Few = 16
)

// Places are where the values of members go, by their names. There are few, so that a search is faster than a map, which would be made for
// each object.
type Places []struct {
	Name  string
	Value *[]byte // nil: the member is accepted, and sent nowhere
	Kind  byte    // that the value must have, as of [rawjson.Kind], with 't' for false, too; 0: any
}

// kinds are the kinds of values in words.
var kinds = map[byte]string{'"': "a string", '[': "an array", '{': "an object", 't': "true or false"}

// take puts a value into its place. known is false if it has none.
func (p Places) take(name, value []byte) (known bool, err error) {
	for i := range p {
		if p[i].Name != string(name) {
			continue
		}
		kind := rawjson.Kind(value)
		if kind == 'f' {
			kind = 't'
		}
		switch place := &p[i]; {
		case place.Kind != 0 && place.Kind != kind:
			// not place.Name, which would move all places to the heap
			return true, BadRequest(string(name), "%s: %s is needed.", name, kinds[place.Kind])
		case place.Value != nil:
			*place.Value = value
		}
		return true, nil
	}
	return false, nil
}

// Members reads the object that the body of a request is: its members into their places, and others by take, until that refuses one.
func Members(body []byte, places Places, take func(name, value []byte) error) error {
	r, err := Open(body)
	if err != nil {
		return err
	}
	return End(&r, members(&r, places, take))
}

// Fields does the same with an object inside the body. A nil take skips other members. what is the object in a refusal, such as "A
// message".
func Fields(r *strictjson.Reader, what string, places Places, take func(name, value []byte) error) error {
	if r.Kind() != '{' {
		return BadRequest("", "%s must be an object.", what)
	}
	r.Open('{')
	return members(r, places, take)
}

func members(r *strictjson.Reader, places Places, take func(name, value []byte) error) (err error) {
	var seen strictjson.Once
	for err == nil && seen.Next(r) {
		name := r.Name
		value := r.Value()
		known, refused := places.take(name, value)
		if err = refused; !known && take != nil {
			err = take(name, value)
		}
	}
	return cmp.Or(err, RefusedName(&seen, r.Name))
}

// Group does the same with a member of the body that is an object. It does nothing without a value.
func Group(member string, value []byte, places Places, take func(name, value []byte) error) error {
	if value == nil {
		return nil
	}
	r := strictjson.NewCheckedReader(value)
	return Within(member, Fields(&r, member, places, take))
}

// Unsupported refuses a member that has no place. The client has chosen its name, so the message quotes it: the log leaves out what is
// quoted.
func Unsupported(name, _ []byte) error {
	return BadRequest(string(Brief(name)), "%q is not supported.", Brief(name))
}

// Reserved refuses a member that would overrule the translation.
func Reserved(name []byte) error {
	return BadRequest(string(name), "%s is not allowed here; it belongs to the service's own interface.", name)
}

// Found is what must be known of the turns of a request before they are written.
type Found struct {
	Turns, Parts int
	Images       bool // a part is a picture
	Inputs       int  // bytes of the inputs of tools, which grow as they become JSON inside of a string
}

// Survey looks at an array of turns. picture is the type of the parts that are pictures.
func Survey(turns []byte, picture string) (f Found) {
	for r := rawjson.Array(turns); r.Element(); f.Turns++ {
		f.look(&r, picture, false)
	}
	return f
}

// look looks at a turn or at a part, which may have parts.
func (f *Found) look(r *strictjson.Reader, picture string, part bool) {
	for r.Open('{'); r.Member(); {
		switch string(r.Name) {
		case "type":
			f.Images = rawjson.IsWord(r.Value(), picture) && part || f.Images
		case "input":
			f.Inputs += len(r.Value())
		case "content", "output":
			if r.Kind() == '[' {
				for r.Open('['); r.Element(); f.Parts++ {
					f.look(r, picture, true)
				}
			}
		}
	}
}

// Each calls take with each element of an array. A refusal names the element by its place in the member.
func Each(member string, list []byte, take func(r *strictjson.Reader) error) error {
	r := rawjson.Array(list) // one for all rounds, because take lets it escape
	for index := 0; r.Element(); index++ {
		if err := take(&r); err != nil {
			return Within(fmt.Sprintf("%s[%d]", member, index), err)
		}
	}
	return nil
}

// Open enters the object that the body of a request is. Once the object has been read, [End] checks the rest.
func Open(body []byte) (r strictjson.Reader, err error) {
	r = strictjson.NewReader(body)
	if r.Kind() == '{' {
		r.Open('{')
		return r, nil
	}
	r.Skip()
	switch {
	case r.End():
		return r, BadRequest("", "The body must be a JSON object.")
	case len(bytes.TrimLeft(body, " \t\r\n")) == 0:
		return r, BadRequest("", "The body is empty; a JSON object is needed.")
	}
	return r, End(&r, nil)
}

// End refuses a body that is not JSON, or returns the refusal of its members.
func End(r *strictjson.Reader, refused error) error {
	switch {
	case r.Broken() || refused == nil && !r.End():
		return BadRequest("", "The body is not a JSON document in UTF-8: it has a fault at byte %d.", r.Fault())
	case refused != nil:
		return refused
	}
	return nil
}

// RefusedName is the refusal of the member with this name, which ended its object; nil: none did.
func RefusedName(seen *strictjson.Once, name []byte) error {
	switch seen.Fault {
	case strictjson.FaultLongName:
		return BadRequest("", "The name of a member has more than %d bytes: %q…", strictjson.MaxName, Brief(name))
	case strictjson.FaultDuplicate:
		return BadRequest(string(Brief(name)), "The member %q appears twice.", Brief(name))
	case strictjson.FaultMembers:
		return BadRequest("", "An object has more than %d members.", strictjson.MostOnce)
	}
	return nil
}

// Brief cuts a client's text to the length that a message may repeat.
func Brief[T ~string | ~[]byte](text T) T { return text[:min(len(text), 64)] }

// Either reports whether a value spells the first of two words, which are all that is allowed.
func Either(name string, value []byte, first, second string) (bool, error) {
	if is := rawjson.IsWord(value, first); is || rawjson.IsWord(value, second) {
		return is, nil
	}
	return false, BadRequest(name, "%s: %q or %q is allowed.", name, first, second)
}

// Role is the service's word for the role of a turn, which must be one of allowed. The service's word for developer is system.
func Role(value []byte, allowed ...string) (string, error) {
	for _, role := range allowed {
		switch {
		case !rawjson.IsWord(value, role):
		case role == "developer":
			return "system", nil
		default:
			return role, nil
		}
	}
	return "", BadRequest("role", "A message's role must be one of %s.", strings.Join(allowed, ", "))
}

// CheckModel refuses a value that is no name of a model.
func CheckModel(value []byte) error {
	if !rawjson.IsString(value) || len(value) == 2 {
		return BadRequest("model", "model: the name of a model is needed.")
	}
	return Bound("model", value, MostWord, Bytes)
}

// The units in which texts are bounded.
const (
	Bytes      = "bytes"
	Characters = "characters"
)

// Bound refuses a string that is longer than most, in this unit. Other values pass.
func Bound(name string, value []byte, most int, unit string) error {
	if !rawjson.IsString(value) || len(value)-2 <= most {
		return nil
	}
	given, characters := strictjson.Size(rawjson.Inside(value))
	if unit == Characters {
		given = characters
	}
	if given <= most {
		return nil
	}
	return RefuseLong(name, given, most, unit)
}

// RefuseLong refuses a text that is longer than most, in this unit.
func RefuseLong(name string, given, most int, unit string) error {
	return BadRequest(name, "%s: given %d %s, allowed at most %d; send a shorter text.", name, given, unit, most)
}
