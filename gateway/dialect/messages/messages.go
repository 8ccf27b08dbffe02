// Package messages is the dialect of Anthropic's Messages. docs/messages.md lists the choices that it makes where Anthropic's
// interface and the service's differ.
package messages

import (
	"cmp"
	"fmt"
	"strings"

	"sluice/gateway/conversation"
	"sluice/gateway/rawjson"
	"sluice/policy/strictjson"
)

// Read translates the body of POST /v1/messages. Its errors are of type [*conversation.Refusal]. The result holds no part of the
// body.
func Read(body []byte, models *conversation.Models) (*conversation.Request, error) {
	return read(body, models, true)
}

// ReadCount is [Read] for POST /v1/messages/count_tokens, which needs no max_tokens.
func ReadCount(body []byte, models *conversation.Models) (*conversation.Request, error) {
	return read(body, models, false)
}

func read(body []byte, models *conversation.Models, bounded bool) (*conversation.Request, error) {
	var q request
	if err := q.read(body); err != nil {
		return nil, err
	}
	if bounded && q.most == nil {
		return nil, conversation.BadRequest("max_tokens", "max_tokens: a number of tokens is needed.")
	}
	return q.write(len(body), models)
}

// request is a request in Anthropic's terms. Values are raw; nil: absent.
type request struct {
	model, system, messages []byte
	found                   survey // in the messages
	most                    []byte // max_tokens
	temperature, topP, topK []byte
	stop                    []byte // stop_sequences
	thinking                []byte
	toolList, choice        []byte
	tools                   conversation.Tools
	left                    []string // types of tools that the service lacks
	alone                   bool     // no two tools may be called at once
	stream                  bool
	warnings                []string
}

func (q *request) read(body []byte) error {
	r, err := conversation.Open(body)
	if err != nil {
		return err
	}
	var seen strictjson.Once
	for err == nil && seen.Next(&r) {
		name := r.Name
		err = q.member(name, r.Value())
	}
	if err := conversation.End(&r, cmp.Or(err, conversation.RefusedName(&seen, r.Name))); err != nil {
		return err
	}
	return q.check()
}

func (q *request) member(name, value []byte) (err error) {
	switch string(name) {
	case "model":
		q.model = value
	case "system":
		q.system = value
	case "messages":
		q.messages = value
	case "max_tokens":
		q.most = value
	case "temperature":
		q.temperature = value
	case "top_p":
		q.topP = value
	case "top_k":
		q.topK = value
	case "stop_sequences":
		q.stop = value
	case "thinking":
		q.thinking = value
	case "tools":
		q.toolList = value
	case "tool_choice":
		q.choice = value
	case "stream":
		q.stream, err = conversation.Boolean("stream", value)
	case "metadata", "service_tier", "context_management", "output_config", "cache_control":
		// accepted, but not sent to the service
	default:
		return conversation.BadRequest(string(conversation.Brief(name)), "%s is not supported.", conversation.Brief(name))
	}
	return err
}

func (q *request) check() error {
	if err := conversation.CheckModel(q.model); err != nil {
		return err
	}
	if rawjson.Kind(q.messages) != '[' {
		return conversation.BadRequest("messages", "messages: an array of messages is needed.")
	}
	if q.found = surveyMessages(q.messages); q.found.blocks > conversation.MostTurns {
		return conversation.BadRequest("messages", "messages: more than %d messages and blocks were given.", conversation.MostTurns)
	}
	switch kind := rawjson.Find(q.thinking, "type"); {
	case q.thinking == nil, rawjson.IsWord(kind, "enabled"), rawjson.IsWord(kind, "adaptive"), rawjson.IsWord(kind, "disabled"):
	default:
		return conversation.BadRequest("thinking.type", `thinking.type: "enabled", "adaptive" or "disabled" is allowed.`)
	}
	if err := q.readTools(); err != nil {
		return err
	}
	return q.choose()
}

// thinks reports whether the model is told to think.
func (q *request) thinks() bool {
	return q.thinking != nil && !rawjson.IsWord(rawjson.Find(q.thinking, "type"), "disabled")
}

// write writes the service's request. size is the length of the client's body.
func (q *request) write(size int, models *conversation.Models) (*conversation.Request, error) {
	r := &conversation.Request{Path: conversation.TextPath, Model: string(rawjson.Decoded(q.model)), Stream: q.stream, Dialect: new(Answer)}
	model := models.Service(r.Model)
	lowered, warning := models.Lower(model, "max_tokens", q.most)
	if q.most = lowered; warning != "" {
		q.warnings = append(q.warnings, warning)
	}
	if q.found.images || models.Sees(model) {
		r.Path = conversation.MultimodalPath
	}
	size += len(model) + 512 + 128*(q.found.blocks+q.tools.Count) + 2*q.found.inputs
	if err := models.Ask(size); err != nil {
		return nil, err
	}
	d := conversation.NewDraft(model, r.Path == conversation.MultimodalPath, size)
	if err := q.writeTurns(&d); err != nil {
		return nil, err
	}
	d.Parameters()
	d.Parameter("temperature", q.temperature)
	d.Parameter("top_p", q.topP)
	d.Parameter("top_k", q.topK)
	d.Parameter("max_completion_tokens", q.most) // which counts the thinking, as the client's does
	if !rawjson.IsEmpty(q.stop) {
		d.Parameter("stop", q.stop)
	}
	if q.tools.Count > 0 {
		d.Made("tools", q.appendTools)
		d.Parameter("tool_choice", q.choice)
		if q.alone {
			d.Parameter("parallel_tool_calls", []byte("false"))
		}
	}
	switch {
	case q.thinks():
		d.Parameter("enable_thinking", []byte("true"))
		d.Parameter("thinking_budget", rawjson.Find(q.thinking, "budget_tokens"))
	case q.thinking != nil:
		d.Parameter("enable_thinking", []byte("false"))
	}
	r.Body, r.Warnings = d.End(q.stream), q.warnings
	return r, nil
}

// readTools counts the tools. Those of Anthropic's servers are left out.
func (q *request) readTools() error {
	if q.toolList != nil && rawjson.Kind(q.toolList) != '[' {
		return conversation.BadRequest("tools", "tools: an array of tools is needed.")
	}
	index := 0
	for r := rawjson.Array(q.toolList); r.Element(); index++ {
		tool := r.Value()
		switch kind := rawjson.Find(tool, "type"); {
		case index == conversation.MostTools:
			return conversation.TooMany(fmt.Sprintf("tools[%d]", index))
		case !isOurs(tool):
			q.left = append(q.left, string(conversation.Brief(rawjson.Decoded(kind))))
		case !rawjson.IsString(rawjson.Find(tool, "name")):
			return conversation.BadRequest(fmt.Sprintf("tools[%d].name", index), "A tool must have a name.")
		default:
			q.tools.Count, q.tools.Name = q.tools.Count+1, rawjson.Find(tool, "name")
		}
	}
	if len(q.left) > 0 {
		q.warnings = append(q.warnings, fmt.Sprintf("tools;left_out=%q", strings.Join(q.left, " ")))
	}
	return nil
}

// isOurs reports whether the client runs a tool itself, so that the service can have it as a function.
func isOurs(tool []byte) bool {
	kind := rawjson.Find(tool, "type")
	return rawjson.Absent(kind) || !rawjson.IsString(kind) || rawjson.IsWord(kind, "custom")
}

// appendTools appends the tools as functions. Members that the service does not know are left out.
func (q *request) appendTools(dst []byte) []byte {
	dst = append(dst, '[')
	for r := rawjson.Array(q.toolList); r.Element(); {
		tool := r.Value()
		if !isOurs(tool) {
			continue
		}
		dst = append(append(rawjson.Next(dst), `{"type":"function","function":{"name":`...), rawjson.Find(tool, "name")...)
		if description := rawjson.Find(tool, "description"); !rawjson.Absent(description) {
			dst = append(append(dst, `,"description":`...), description...)
		}
		if schema := rawjson.Find(tool, "input_schema"); !rawjson.Absent(schema) {
			dst = append(append(dst, `,"parameters":`...), schema...)
		}
		dst = append(dst, "}}"...)
	}
	return append(dst, ']')
}

// choose turns tool_choice into the service's.
func (q *request) choose() error {
	given := q.choice
	q.choice = nil
	kind := rawjson.Find(given, "type")
	q.alone = string(rawjson.Find(given, "disable_parallel_tool_use")) == "true"
	switch {
	case given == nil, rawjson.IsWord(kind, "auto"):
	case rawjson.IsWord(kind, "none"):
		q.choice = []byte(`"none"`)
	case rawjson.IsWord(kind, "any"):
		q.tools.Thinking = q.thinks()
		choice, warning, err := q.tools.Required()
		if q.choice = choice; warning != "" {
			q.warnings = append(q.warnings, warning)
		}
		return err
	case rawjson.IsWord(kind, "tool"):
		return q.force(rawjson.Find(given, "name"))
	default:
		return conversation.BadRequest("tool_choice.type", `tool_choice.type: "auto", "any", "tool" or "none" is allowed.`)
	}
	return nil
}

// force chooses one tool.
func (q *request) force(name []byte) error {
	word := string(rawjson.Decoded(name))
	for r := rawjson.Array(q.toolList); r.Element() && rawjson.IsString(name); {
		tool := r.Value()
		if rawjson.IsWord(rawjson.Find(tool, "name"), word) && isOurs(tool) {
			q.choice = conversation.ChosenFunction(name)
			return nil
		}
	}
	return conversation.BadRequest("tool_choice.name", "tool_choice.name: none of the tools that the service can have is called %s.", conversation.Brief(name))
}

// Param returns the member of a request that was translated to a field of the service's request. It is empty if there is none.
func Param(field string) string {
	name, ok := strings.CutPrefix(field, "parameters.")
	switch {
	case field == "model":
		return field
	case !ok && strings.HasPrefix(field, "input.messages"):
		return "messages"
	case !ok, name == "result_format":
		return ""
	case name == "max_completion_tokens":
		return "max_tokens"
	case name == "incremental_output":
		return "stream"
	case name == "enable_thinking":
		return "thinking.type"
	case name == "thinking_budget":
		return "thinking.budget_tokens"
	}
	if rest, ok := strings.CutPrefix(name, "stop"); ok {
		return "stop_sequences" + rest
	}
	return strings.Replace(strings.Replace(name, ".function.parameters", ".input_schema", 1), ".function.", ".", 1)
}
