package responses

import (
	"sluice/gateway/conversation"
	"sluice/gateway/rawjson"
)

// choose turns tool_choice into the service's, and warns of tools that were left out.
func (q *request) choose() (err error) {
	given := q.choice
	q.warnings.Add(q.tools.left.Warning())
	q.tools.forced = given
	switch kind := rawjson.Text(rawjson.Find(given, "type"), ""); {
	case given == nil, rawjson.IsWord(given, "auto"), rawjson.IsWord(given, "none"):
		return nil
	case rawjson.IsWord(given, "required"):
		q.choice, err = conversation.Required(q.tools.natives(), q.effort != nil && !rawjson.IsWord(q.effort, "none"), &q.warnings)
		return err
	case kind == "function" || kind == "custom":
		name, space := rawjson.Find(given, "name"), rawjson.Find(given, "namespace")
		for i := range q.tools.list {
			it := &q.tools.list[i]
			if sameText(it.name, name) && (space == nil || sameText(it.namespace, space)) {
				q.choice = conversation.ChosenFunction(it.native.Name)
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
