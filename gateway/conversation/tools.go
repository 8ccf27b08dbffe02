package conversation

import (
	"fmt"
	"slices"
	"strings"

	"sluice/gateway/rawjson"
	"sluice/policy/strictjson"
)

// Tool is a tool that the service has as a function. Its members are raw values; nil: absent.
type Tool struct{ Name, Description, Parameters, Strict []byte }

// AppendTo appends the tool as the service has it.
func (t *Tool) AppendTo(dst []byte) []byte {
	dst = append(append(rawjson.Next(dst), `{"type":"function","function":{"name":`...), t.Name...)
	for i, value := range [...][]byte{t.Description, t.Parameters, t.Strict} {
		if !rawjson.Absent(value) {
			dst = rawjson.AppendValue(dst, [...]string{"description", "parameters", "strict"}[i], value)
		}
	}
	return append(dst, "}}"...)
}

// Left has the types of the tools that the service lacks, which are left out.
type Left struct {
	Count int
	kinds []string // the first ones that differ
}

// mostKinds is how many types a warning names.
const mostKinds = 8

// Add leaves out a tool of a type, a raw string.
func (l *Left) Add(kind []byte) {
	l.Count++
	if name := string(Brief(rawjson.Decoded(kind))); len(l.kinds) <= mostKinds && !slices.Contains(l.kinds, name) {
		l.kinds = append(l.kinds, name)
	}
}

// Warning says which tools were left out; empty: none were.
func (l *Left) Warning() string {
	switch {
	case l.Count == 0:
		return ""
	case len(l.kinds) > mostKinds:
		return fmt.Sprintf("tools;left_out=%q;count=%d", strings.Join(l.kinds[:mostKinds], " "), l.Count)
	}
	return fmt.Sprintf("tools;left_out=%q", strings.Join(l.kinds, " "))
}

// mostTools is how many tools a request may have: each is compared with the others.
const mostTools = 1024

// ReadTool reads a tool into its places. before is how many tools precede it.
func ReadTool(r *strictjson.Reader, before int, places Places) error {
	if err := Fields(r, "A tool", places, nil); err != nil || before < mostTools {
		return err
	}
	return BadRequest("", "A request may have at most %d tools.", mostTools)
}

// Required is the service's choice of a tool, a raw value, for a request that requires a call of any tool. The service can be forced
// to call one certain function, with a model that does not think first. Otherwise the model may choose, and the client is warned.
func Required(tools []Tool, thinks bool, w *Warnings) (choice []byte, err error) {
	switch {
	case len(tools) == 0:
		return nil, BadRequest("tool_choice", "tool_choice: a call of a tool is required, but no tool is given that the service has; "+
			`give tools of functions, or choose "auto".`)
	case len(tools) == 1 && !thinks:
		return ChosenFunction(tools[0].Name), nil
	}
	w.Add(`tool_choice;given="required";sent="auto"`)
	return []byte(`"auto"`), nil
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
