// Package responses is the dialect of OpenAI's Responses, without their memory: nothing is kept, so every request has all its turns.
// docs/responses.md lists the choices that it makes where OpenAI's interface and the service's differ.
package responses

import (
	"cmp"
	"strings"

	"sluice/gateway/conversation"
	"sluice/gateway/rawjson"
)

// Read translates the body of POST /v1/responses. Its errors are of type [*conversation.Refusal]. The result holds no part of the
// body.
func Read(body []byte, models *conversation.Models) (*conversation.Request, error) {
	var q request
	if err := q.read(body); err != nil {
		return nil, err
	}
	return q.write(len(body), models)
}

// request is a request in OpenAI's terms. Values are raw; nil: absent.
type request struct {
	model, instructions, input []byte
	found                      conversation.Found // in the input
	toolList                   []byte
	tools                      tools
	choice                     []byte // as the service has it
	format, effort             []byte // of text, and of reasoning
	most                       []byte // max_output_tokens
	temperature, topP          []byte
	parallel                   []byte
	stream                     bool
	warnings                   conversation.Warnings
}

// read reads a request. It refuses members that it does not know, because they would not reach the service.
func (q *request) read(body []byte) error {
	var stream, text, reasoning []byte
	err := conversation.Members(body, conversation.Places{
		{"model", &q.model, 0},
		{"instructions", &q.instructions, '"'},
		{"input", &q.input, 0},
		{"stream", &stream, 't'},
		{"tools", &q.toolList, '['},
		{"tool_choice", &q.choice, 0},
		{"max_output_tokens", &q.most, 0},
		{"temperature", &q.temperature, 0},
		{"top_p", &q.topP, 0},
		{"parallel_tool_calls", &q.parallel, 't'},
		{"text", &text, 0},
		{"reasoning", &reasoning, 0},
	}, unsent)
	if err != nil {
		return err
	}
	q.stream = string(stream) == "true"
	formats := conversation.Places{{"format", &q.format, '{'}, {"verbosity", nil, 0}}
	efforts := conversation.Places{{"effort", &q.effort, '"'}, {"summary", nil, 0}, {"generate_summary", nil, 0}}
	return cmp.Or(conversation.Group("text", text, formats, conversation.Unsupported),
		conversation.Group("reasoning", reasoning, efforts, conversation.Unsupported),
		conversation.Bound("reasoning.effort", q.effort, conversation.MostWord, conversation.Bytes), q.check())
}

// unsent accepts a member that is not sent to the service, or refuses it.
func unsent(name, value []byte) error {
	switch string(name) {
	case "store", "metadata", "client_metadata", "user", "include", "service_tier", "prompt_cache_key", "prompt_cache_options",
		"prompt_cache_retention",
		"safety_identifier", "stream_options":
		return nil
	case "truncation":
		_, err := conversation.Either("truncation", value, "auto", "disabled")
		return err
	case "background":
		if string(value) == "false" {
			return nil
		}
		return conversation.BadRequest("background", "background: nothing is kept here, so no response can be read later; leave it out and "+
			"read the answer or its stream.")
	case "previous_response_id", "conversation", "prompt":
		return conversation.BadRequest(string(name), "%s: nothing is kept here; send all turns in input.", name)
	}
	return conversation.Unsupported(name, value)
}

func (q *request) check() error {
	if err := conversation.CheckModel(q.model); err != nil {
		return err
	}
	if kind := rawjson.Kind(q.input); kind != '"' && kind != '[' {
		return conversation.BadRequest("input", "input: a text or an array of items is needed.")
	}
	if q.found = conversation.Survey(q.input, "input_image"); q.found.Turns > conversation.MostTurns {
		return conversation.BadRequest("input", "input: more than %d items were given.", conversation.MostTurns)
	}
	if err := q.tools.read(q.toolList, nil, ""); err != nil {
		return err
	}
	q.tools.nameAll()
	return nil
}

// write writes the service's request. size is the length of the client's body.
func (q *request) write(size int, models *conversation.Models) (*conversation.Request, error) {
	r := &conversation.Request{Model: string(rawjson.Decoded(q.model)), Stream: q.stream}
	model := models.Service(r.Model)
	if err := q.choose(models.Thinking(model, q.effort != nil, conversation.Thinks(q.effort))); err != nil {
		return nil, err
	}
	q.most = models.Lower(model, "max_output_tokens", q.most, &q.warnings)
	echoed := q.echoed()
	// a stream begins with two events that repeat it
	d, err := models.Draft(r, q.found.Images, size+256+128*max(q.found.Turns, 1)+2*q.found.Inputs+q.tools.room(), 3*echoed)
	if err != nil {
		return nil, err
	}
	if err := q.writeTurns(&d); err != nil {
		return nil, err
	}
	d.Parameters()
	q.writeParameters(&d)
	r.Body, r.Warnings, r.Tools = d.End(q.stream), q.warnings, q.tools.places()
	r.Dialect = &Answer{output: output{tools: q.tools.renamed()}, echo: q.echo(make([]byte, 0, echoed))}
	return r, nil
}

func (q *request) writeTurns(d *conversation.Draft) error {
	t := turns{draft: d, tools: &q.tools}
	if len(q.instructions) > 2 { // empty ones would only cost tokens
		t.open("system")
		d.Text(q.instructions, nil)
	}
	if rawjson.IsString(q.input) {
		t.open("user")
		d.Text(q.input, nil)
	} else if err := t.write(q.input); err != nil {
		return err
	}
	t.close()
	return nil
}

func (q *request) writeParameters(d *conversation.Draft) {
	d.Parameter("temperature", q.temperature)
	d.Parameter("top_p", q.topP)
	d.Parameter("max_completion_tokens", q.most) // which counts the thinking, as the client's does
	if q.format != nil && !rawjson.IsWord(rawjson.Find(q.format, "type"), "text") {
		d.Made("response_format", func(dst []byte) []byte { return appendFormat(dst, q.format) })
	}
	if len(q.tools.list) > 0 {
		d.Tools(q.tools.natives())
		d.Parameter("tool_choice", q.choice)
		d.Parameter("parallel_tool_calls", q.parallel)
	}
	d.Thinking(q.effort != nil, conversation.Thinks(q.effort))
}

// appendFormat moves the members of a format with a schema to their place in chats and at the service.
func appendFormat(dst, format []byte) []byte {
	if !rawjson.IsWord(rawjson.Find(format, "type"), "json_schema") {
		return append(dst, format...)
	}
	dst = append(dst, `{"type":"json_schema","json_schema":{`...)
	for r := rawjson.Object(format); r.Member(); {
		if name := r.Name; string(name) != "type" && r.Kind() != 'n' {
			dst = append(rawjson.Name(dst, name), r.Value()...)
		}
	}
	return append(dst, "}}"...)
}

// echoed is how many bytes [request.echo] appends at most.
func (q *request) echoed() int {
	return 512 + len(q.most) + len(q.effort) + len(q.temperature) + len(q.topP) + len(q.format) + len(q.tools.forced)
}

// echo appends what the answer says of the request.
func (q *request) echo(dst []byte) []byte {
	dst = rawjson.AppendOrNull(append(dst, `,"max_output_tokens":`...), q.most)
	dst = rawjson.AppendOr(append(dst, `,"parallel_tool_calls":`...), q.parallel, "true")
	dst = append(rawjson.AppendOrNull(append(dst, `,"reasoning":{"effort":`...), q.effort), `,"summary":null}`...)
	dst = rawjson.AppendOrNull(append(dst, `,"temperature":`...), q.temperature)
	dst = append(rawjson.AppendOr(append(dst, `,"text":{"format":`...), q.format, `{"type":"text"}`), '}')
	dst = q.tools.appendForced(append(dst, `,"tool_choice":`...))
	return rawjson.AppendOrNull(append(dst, `,"top_p":`...), q.topP)
}

var members = map[string]string{
	"model": "model", "input.messages": "input", "parameters.incremental_output": "stream", "parameters.stream": "stream",
	"parameters.max_completion_tokens": "max_output_tokens", "parameters.enable_thinking": "reasoning.effort",
	"parameters.response_format": "text.format", "parameters.result_format": "",
}

// Param returns the member of a request that was translated to a field of the service's request, such as parameters.top_p. It is
// empty if there is none, as for a header.
func Param(field string) string {
	name, rest := conversation.Param(field, members)
	switch name {
	case "input": // its items are not numbered as the service's turns are
		return name
	case "text.format":
		return name + strings.Replace(rest, ".json_schema", "", 1)
	}
	return name + strings.Replace(rest, ".function.", ".", 1) // of a tool
}
