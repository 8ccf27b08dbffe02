// Package messages is the dialect of Anthropic's Messages. docs/messages.md lists the choices that it makes where Anthropic's
// interface and the service's differ.
package messages

import (
	"cmp"
	"fmt"
	"slices"
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
	found                   conversation.Found // in the messages
	most                    []byte             // max_tokens
	temperature, topP, topK []byte
	stop                    []byte // stop_sequences
	thinking                []byte
	format                  []byte // of the answer; two members may have it
	toolList, choice        []byte
	tools                   []conversation.Tool
	places                  []string // of the tools in the client's request
	left                    conversation.Left
	serial                  bool // no two tools may be called at once
	stream                  bool
	warnings                conversation.Warnings
}

func (q *request) read(body []byte) error {
	var stream, output []byte
	err := conversation.Members(body, conversation.Places{
		{"model", &q.model, 0},
		{"system", &q.system, 0},
		{"messages", &q.messages, '['},
		{"max_tokens", &q.most, 0},
		{"temperature", &q.temperature, 0},
		{"top_p", &q.topP, 0},
		{"top_k", &q.topK, 0},
		{"stop_sequences", &q.stop, 0},
		{"thinking", &q.thinking, 0},
		{"tools", &q.toolList, '['},
		{"tool_choice", &q.choice, 0},
		{"stream", &stream, 't'},
		{"output_config", &output, 0},
		{"output_format", &q.format, 0},
		{"metadata", nil, 0},
		{"service_tier", nil, 0},
		{"context_management", nil, 0},
		{"cache_control", nil, 0},
	}, conversation.Unsupported)
	if err != nil {
		return err
	}
	q.stream = string(stream) == "true"
	return cmp.Or(q.readFormat(rawjson.Find(output, "format")), q.check())
}

// readFormat checks the form of the answer. inner is output_config.format, the newer member.
func (q *request) readFormat(inner []byte) error {
	member := "output_format"
	if !rawjson.Absent(inner) {
		member, q.format = "output_config.format", inner
	}
	if q.format == nil || rawjson.IsWord(rawjson.Find(q.format, "type"), "json_schema") && rawjson.Kind(q.schema()) == '{' {
		return nil
	}
	return conversation.BadRequest(member, `%s: an object with the type "json_schema" and a schema is needed.`, member)
}

func (q *request) schema() []byte { return rawjson.Find(q.format, "schema") }

func (q *request) check() error {
	if err := conversation.CheckModel(q.model); err != nil {
		return err
	}
	if q.messages == nil {
		return conversation.BadRequest("messages", "messages: an array is needed.")
	}
	if q.found = conversation.Survey(q.messages, "image"); q.found.Turns+q.found.Parts > conversation.MostTurns {
		return conversation.BadRequest("messages", "messages: more than %d messages and blocks were given.", conversation.MostTurns)
	}
	switch kind := rawjson.Find(q.thinking, "type"); {
	case q.thinking == nil, rawjson.IsWord(kind, "enabled"), rawjson.IsWord(kind, "adaptive"), rawjson.IsWord(kind, "disabled"):
	default:
		return conversation.BadRequest("thinking.type", `thinking.type: "enabled", "adaptive" or "disabled" is allowed.`)
	}
	return q.readTools()
}

// thinks reports whether the model is asked to think.
func (q *request) thinks() bool {
	return q.thinking != nil && !rawjson.IsWord(rawjson.Find(q.thinking, "type"), "disabled")
}

// write writes the service's request. size is the length of the client's body.
func (q *request) write(size int, models *conversation.Models) (*conversation.Request, error) {
	r := &conversation.Request{Model: string(rawjson.Decoded(q.model)), Stream: q.stream, Dialect: new(Answer)}
	model := models.Service(r.Model)
	if err := q.choose(models.Thinking(model, q.thinking != nil, q.thinks())); err != nil {
		return nil, err
	}
	given, budget := q.most, []byte(nil)
	q.most = models.Lower(model, "max_tokens", given, &q.warnings)
	if q.thinks() {
		budget = conversation.LowerBudget("thinking.budget_tokens", rawjson.Find(q.thinking, "budget_tokens"), given, q.most, &q.warnings)
	}
	d, err := models.Draft(r, q.found.Images, size+512+128*(q.found.Turns+q.found.Parts+len(q.tools))+2*q.found.Inputs, 0)
	if err != nil {
		return nil, err
	}
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
	if q.format != nil {
		d.Made("response_format", func(dst []byte) []byte {
			return append(append(append(dst, `{"type":"json_schema","json_schema":{"name":"output","strict":true,"schema":`...), q.schema()...),
				"}}"...)
		})
	}
	if len(q.tools) > 0 {
		d.Tools(q.tools)
		d.Parameter("tool_choice", q.choice)
		if q.serial {
			d.Parameter("parallel_tool_calls", []byte("false"))
		}
	}
	d.Thinking(q.thinking != nil, q.thinks())
	d.Parameter("thinking_budget", budget)
	r.Body, r.Warnings, r.Tools = d.End(q.stream), q.warnings, q.places
	return r, nil
}

// readTools reads the tools. Tools that run on Anthropic's servers are left out.
func (q *request) readTools() error {
	if err := conversation.Each("tools", q.toolList, q.readTool); err != nil {
		return err
	}
	q.warnings.Add(q.left.Warning())
	return nil
}

func (q *request) readTool(r *strictjson.Reader) error {
	var kind []byte
	var it conversation.Tool
	err := conversation.ReadTool(r, len(q.tools)+q.left.Count, conversation.Places{
		{"type", &kind, 0}, {"name", &it.Name, 0}, {"description", &it.Description, 0}, {"input_schema", &it.Parameters, 0},
	})
	switch {
	case err != nil:
		return err
	case rawjson.IsString(kind) && !rawjson.IsWord(kind, "custom"):
		q.left.Add(kind)
		return nil
	case !rawjson.IsString(it.Name):
		return conversation.BadRequest("name", "A tool must have a name.")
	}
	q.places = append(q.places, fmt.Sprintf("tools[%d]", len(q.tools)+q.left.Count))
	q.tools = append(q.tools, it)
	return nil
}

// choose turns tool_choice into the service's. thinks: the model thinks first.
func (q *request) choose(thinks bool) (err error) {
	given := q.choice
	q.choice = nil
	kind := rawjson.Find(given, "type")
	q.serial = string(rawjson.Find(given, "disable_parallel_tool_use")) == "true"
	switch {
	case given == nil, rawjson.IsWord(kind, "auto"):
	case rawjson.IsWord(kind, "none"):
		q.choice = []byte(`"none"`)
	case rawjson.IsWord(kind, "any"):
		q.choice, err = conversation.Required(q.tools, thinks, &q.warnings)
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
	if rawjson.IsString(name) && slices.ContainsFunc(q.tools, func(t conversation.Tool) bool { return rawjson.IsWord(t.Name, word) }) {
		q.choice = conversation.ChosenFunction(name)
		return nil
	}
	return conversation.BadRequest("tool_choice.name", "tool_choice.name: none of the tools that are passed to the service has the name %q.",
		conversation.Brief(word))
}

var members = map[string]string{
	"model": "model", "input.messages": "messages", "parameters.result_format": "", "parameters.max_completion_tokens": "max_tokens",
	"parameters.incremental_output": "stream", "parameters.enable_thinking": "thinking.type",
	"parameters.thinking_budget": "thinking.budget_tokens",
	"parameters.stop":            "stop_sequences", "parameters.response_format": "output_config.format",
}

// schemas replaces the service's names inside a tool and inside the form of an answer by the client's.
var schemas = strings.NewReplacer(".function.parameters", ".input_schema", ".function.", ".", ".json_schema", "")

// Param returns the member of a request that was translated to a field of the service's request. It is empty if there is none.
func Param(field string) string {
	name, rest := conversation.Param(field, members)
	if name == "messages" { // its blocks are not numbered as the service's items are
		return name
	}
	return name + schemas.Replace(rest)
}
