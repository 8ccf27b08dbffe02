package conversation

import (
	"bytes"
	"cmp"
	"fmt"

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

// Places are where the values of members go, by their names.
type Places = []struct {
	Name  string
	Value *[]byte
}

// placeOf returns the place of a member; nil: it has none. There are few, so that this is faster than a map, which would be made for each object.
func placeOf(places Places, name []byte) *[]byte {
	for i := range places {
		if places[i].Name == string(name) {
			return places[i].Value
		}
	}
	return nil
}

// Members reads the object that the body of a request is: its members into their places, and others by take, until that refuses one.
func Members(body []byte, places Places, take func(name, value []byte) error) error {
	r, err := Open(body)
	if err != nil {
		return err
	}
	return End(&r, members(&r, places, take))
}

// Fields does so with an object inside the body. A nil take steps over others. what is the object in a refusal, such as "A message".
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
		name, place := r.Name, placeOf(places, r.Name)
		switch value := r.Value(); {
		case place != nil:
			*place = value
		case take != nil:
			err = take(name, value)
		}
	}
	return cmp.Or(err, RefusedName(&seen, r.Name))
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

// Each hands over the elements of an array. A refusal is of the element, by its place in the member.
func Each(member string, list []byte, take func(r *strictjson.Reader) error) error {
	index := 0
	for r := rawjson.Array(list); r.Element(); index++ {
		if err := take(&r); err != nil {
			return Within(fmt.Sprintf("%s[%d]", member, index), err)
		}
	}
	return nil
}

// Open enters the object that the body of a request is. When it has been read, [End] looks at the rest.
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

// Boolean reads true or false, which it is without a value.
func Boolean(name string, value []byte) (bool, error) {
	if k := rawjson.Kind(value); value != nil && k != 't' && k != 'f' {
		return false, BadRequest(name, "%s: true or false is needed.", name)
	}
	return rawjson.Kind(value) == 't', nil
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
