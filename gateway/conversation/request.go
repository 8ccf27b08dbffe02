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

// Members reads the object that the body of a request is: its members into their places, and others by take, until that refuses one.
func Members(body []byte, places map[string]*[]byte, take func(name, value []byte) error) error {
	r, err := Open(body)
	if err != nil {
		return err
	}
	var seen strictjson.Once
	for err == nil && seen.Next(&r) {
		if place := places[string(r.Name)]; place != nil {
			*place = r.Value()
			continue
		}
		name := r.Name
		err = take(name, r.Value())
	}
	return End(&r, cmp.Or(err, RefusedName(&seen, r.Name)))
}

// Fields reads the members of an object into their places, and steps over others. what is the object in a refusal, such as "A message".
func Fields(r *strictjson.Reader, what string, places map[string]*[]byte) error {
	if r.Kind() != '{' {
		return BadRequest("", "%s must be an object.", what)
	}
	r.Open('{')
	var seen strictjson.Once
	for seen.Next(r) {
		if place := places[string(r.Name)]; place != nil {
			*place = r.Value()
		}
	}
	return RefusedName(&seen, r.Name)
}

// HasPart reports whether an array of parts has one of this type.
func HasPart(r *strictjson.Reader, kind string) (has bool) {
	for r.Open('['); r.Element(); {
		for r.Open('{'); r.Member(); {
			has = string(r.Name) == "type" && rawjson.IsWord(r.Value(), kind) || has
		}
	}
	return has
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
	if len(value)-2 > MostWord {
		if given, _ := strictjson.Size(rawjson.Inside(value)); given > MostWord {
			return RefuseLong("model", given, MostWord, "bytes")
		}
	}
	return nil
}

// RefuseLong refuses a text that is longer than most, in this unit.
func RefuseLong(name string, given, most int, unit string) error {
	return BadRequest(name, "%s: given %d %s, allowed at most %d; send a shorter text.", name, given, unit, most)
}
