package responses

import (
	"fmt"
	"strings"

	"sluice/gateway/conversation"
	"sluice/gateway/rawjson"
)

// choose turns tool_choice into the service's, and warns of tools that were left out.
func (q *request) choose() error {
	given := q.choice
	if len(q.tools.left) > 0 {
		q.warnings = append(q.warnings, fmt.Sprintf("tools;left_out=%q", strings.Join(q.tools.left, " ")))
	}
	q.tools.forced = given
	switch kind := rawjson.Text(rawjson.Find(given, "type"), ""); {
	case given == nil, rawjson.IsWord(given, "auto"), rawjson.IsWord(given, "none"):
		return nil
	case rawjson.IsWord(given, "required"):
		return q.require()
	case kind == "function" || kind == "custom":
		name, space := rawjson.Find(given, "name"), rawjson.Find(given, "namespace")
		for i := range q.tools.list {
			it := &q.tools.list[i]
			if sameText(it.name, name) && (space == nil || sameText(it.namespace, space)) {
				q.choice = conversation.ChosenFunction(it.native)
				return nil
			}
		}
		return conversation.BadRequest("tool_choice", "tool_choice: no tool has the name %s.", conversation.Brief(name))
	case rawjson.Kind(given) == '{' && kind != "":
		return conversation.BadRequest("tool_choice", `tool_choice: the type %q cannot be forced; "auto", "none", "required", a function or a custom tool can.`,
			conversation.Brief(kind))
	}
	return conversation.BadRequest("tool_choice", `tool_choice: "auto", "none", "required", or an object with the type "function" or "custom" is allowed.`)
}

func (q *request) require() (err error) {
	known := conversation.Tools{Count: len(q.tools.list), Thinking: q.effort != nil && !rawjson.IsWord(q.effort, "none")}
	if known.Count > 0 {
		known.Name = q.tools.list[known.Count-1].native
	}
	choice, warning, err := known.Required()
	if warning != "" {
		q.warnings = append(q.warnings, warning)
	}
	q.choice = choice
	return err
}
