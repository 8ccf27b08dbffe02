package conversation

import (
	"fmt"

	"sluice/gateway/rawjson"
)

// Tools is what must be known of a request's tools before one is chosen.
type Tools struct {
	Count    int
	Name     []byte // of the last one, a raw string
	Thinking bool   // the model thinks first, and cannot be forced to call a function then
}

// MostTools is how many tools a request may have: each is compared with the others.
const MostTools = 1024

// TooMany refuses a tool beyond [MostTools], by the member that has it.
func TooMany(member string) error {
	return BadRequest(member, "A request may have at most %d tools.", MostTools)
}

// Required is the service's choice of a tool, a raw value, for a request that requires a call of any. The service can be forced to
// call one function alone. So with several it is asked to choose, and the warning says so.
func (t *Tools) Required() (choice []byte, warning string, err error) {
	switch {
	case t.Count == 0:
		return nil, "", BadRequest("tool_choice", "tool_choice: a call of a tool is required, but no tool is given that the service has; "+
			`give tools of functions, or choose "auto".`)
	case t.Count == 1 && !t.Thinking:
		return ChosenFunction(t.Name), "", nil
	}
	return []byte(`"auto"`), `tool_choice;given="required";sent="auto"`, nil
}

// ChosenFunction is the service's choice of one function, whose name is a raw string.
func ChosenFunction(name []byte) []byte {
	return append(append([]byte(`{"type":"function","function":{"name":`), name...), "}}"...)
}

// Dropped is the warning that a member was left out, because it only bends the style of an answer. value is raw.
func Dropped(member string, value []byte) string {
	if !rawjson.IsString(value) {
		return fmt.Sprintf("%s;given=%s;sent=none", member, Brief(value))
	}
	return fmt.Sprintf("%s;given=%q;sent=none", member, Brief(rawjson.Inside(value)))
}
