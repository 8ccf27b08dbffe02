package dialect

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sluice/gateway/conversation"
	"sluice/gateway/dialect/chat"
	"sluice/gateway/dialect/dialecttest"
	"sluice/gateway/dialect/messages"
	"sluice/gateway/dialect/responses"
)

type (
	object = map[string]any
	list   = []any
)

// asked is a request as each dialect has it.
type asked struct{ chat, responses, messages object }

// all gives each dialect a member; an empty name is none.
func (a *asked) all(chat, responses, messages string, value any) {
	for _, of := range []struct {
		request object
		name    string
	}{{a.chat, chat}, {a.responses, responses}, {a.messages, messages}} {
		if of.name != "" {
			of.request[of.name] = value
		}
	}
}

// add adds elements to the lists of turns.
func (a *asked) add(chat object, responses list, messages object) {
	a.chat["messages"] = append(a.chat["messages"].(list), chat)
	a.responses["input"] = append(a.responses["input"].(list), responses...)
	a.messages["messages"] = append(a.messages["messages"].(list), messages)
}

var words = rapid.StringOfN(rapid.RuneFrom([]rune("abc \"\\\n水🌊")), 1, 20, -1)

// drawAsked draws a conversation that all dialects can express.
func drawAsked(t *rapid.T) asked {
	a := asked{object{"messages": list{}}, object{"input": list{}}, object{"messages": list{}}}
	a.all("model", "model", "model", rapid.SampledFrom([]string{"gpt-4o", "llm-vl", "llm-think"}).Draw(t, "model"))
	a.all("max_completion_tokens", "max_output_tokens", "max_tokens", rapid.IntRange(1, 99).Draw(t, "most"))
	if rapid.Bool().Draw(t, "warm") {
		a.all("temperature", "temperature", "temperature", 0.5)
	}
	if rapid.Bool().Draw(t, "streams") {
		a.all("stream", "stream", "stream", true)
	}
	if rapid.Bool().Draw(t, "instructed") {
		text := words.Draw(t, "instructions")
		a.chat["messages"] = list{object{"role": "developer", "content": text}}
		a.responses["instructions"], a.messages["system"] = text, list{object{"type": "text", "text": text}}
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "rounds") {
		a.ask(t, fmt.Sprint("asked", i))
		if rapid.Bool().Draw(t, fmt.Sprint("called", i)) {
			a.call(t, fmt.Sprint("call", i))
		} else {
			said := words.Draw(t, fmt.Sprint("said", i))
			a.add(object{"role": "assistant", "content": said}, list{
				object{"role": "assistant", "content": list{object{"type": "output_text", "text": said}}}},
				object{"role": "assistant", "content": list{object{"type": "thinking", "thinking": "so", "signature": ""},
					object{"type": "text", "text": said}}})
		}
	}
	a.ask(t, "asked last")
	if rapid.Bool().Draw(t, "tools") {
		a.tools(t)
	}
	return a
}

// ask adds a turn of the user.
func (a *asked) ask(t *rapid.T, name string) {
	var chat, responses, messages list
	for i := range rapid.IntRange(1, 3).Draw(t, name) {
		text := words.Draw(t, fmt.Sprint(name, i))
		chat = append(chat, object{"type": "text", "text": text})
		responses, messages = append(responses, object{"type": "input_text", "text": text}),
			append(messages, object{"type": "text", "text": text})
	}
	if rapid.IntRange(0, 5).Draw(t, name+"sees") == 0 {
		const url = "data:image/png;base64,aGk="
		chat = append(chat, object{"type": "image_url", "image_url": object{"url": url}})
		responses = append(responses, object{"type": "input_image", "image_url": url})
		messages = append(messages, object{"type": "image", "source": object{"type": "base64", "media_type": "image/png", "data": "aGk="}})
	}
	a.add(object{"role": "user", "content": chat}, list{object{"role": "user", "content": responses}},
		object{"role": "user", "content": messages})
}

// call adds a turn of the assistant with calls of tools, and their results. The assistant also speaks before, between or behind its calls.
func (a *asked) call(t *rapid.T, name string) {
	calls, said := list{}, list{}
	var items, blocks, results list
	n := rapid.IntRange(1, 3).Draw(t, name)
	say := func(i int) {
		if rapid.Bool().Draw(t, fmt.Sprint(name, "says", i)) {
			text := words.Draw(t, fmt.Sprint(name, "said", i))
			said, blocks = append(said, object{"type": "text", "text": text}), append(blocks, object{"type": "text", "text": text})
			items = append(items, object{"role": "assistant", "content": text})
		}
	}
	for i := range n {
		say(i)
		id, input := fmt.Sprint(name, "-", i), object{"depth": words.Draw(t, fmt.Sprint(name, "input", i))}
		arguments, _ := json.Marshal(input)
		calls = append(calls, object{"id": id, "type": "function", "function": object{"name": "level", "arguments": string(arguments)}})
		items = append(items, object{"type": "function_call", "call_id": id, "name": "level", "arguments": string(arguments)})
		blocks = append(blocks, object{"type": "tool_use", "id": id, "name": "level", "input": input})
	}
	say(n)
	a.add(object{"role": "assistant", "content": said, "tool_calls": calls}, items, object{"role": "assistant", "content": blocks})
	for i := range n {
		id, result := fmt.Sprint(name, "-", i), words.Draw(t, fmt.Sprint(name, "result", i))
		a.chat["messages"] = append(a.chat["messages"].(list), object{"role": "tool", "tool_call_id": id, "content": result})
		a.responses["input"] = append(a.responses["input"].(list), object{"type": "function_call_output", "call_id": id, "output": result})
		results = append(results, object{"type": "tool_result", "tool_use_id": id, "content": result})
	}
	a.messages["messages"] = append(a.messages["messages"].(list), object{"role": "user", "content": results})
}

// tools gives tools and a choice of them.
func (a *asked) tools(t *rapid.T) {
	var chat, responses, messages list
	schema := object{"type": "object", "properties": object{"depth": object{"type": "string"}}}
	for _, name := range []string{"level", "find"}[:rapid.IntRange(1, 2).Draw(t, "number of tools")] {
		function := object{"name": name, "description": "It is " + name + ".", "parameters": schema}
		chat = append(chat, object{"type": "function", "function": function})
		responses = append(responses, object{"type": "function", "name": name, "description": "It is " + name + ".", "parameters": schema})
		messages = append(messages, object{"name": name, "description": "It is " + name + ".", "input_schema": schema})
	}
	a.chat["tools"], a.responses["tools"], a.messages["tools"] = chat, responses, messages
	switch rapid.IntRange(0, 3).Draw(t, "choice") {
	case 0:
		a.all("tool_choice", "tool_choice", "", "none")
		a.messages["tool_choice"] = object{"type": "none"}
	case 1:
		a.all("tool_choice", "tool_choice", "", "required")
		a.messages["tool_choice"] = object{"type": "any"}
	case 2:
		a.chat["tool_choice"] = object{"type": "function", "function": object{"name": "level"}}
		a.responses["tool_choice"], a.messages["tool_choice"] = object{"type": "function", "name": "level"},
			object{"type": "tool", "name": "level"}
	}
}

// A conversation becomes the same request of the service in whatever dialect it is asked, with the same warnings.
func TestDialectsAskTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := drawAsked(t)
		var want object
		var warned []string
		for i, dialect := range []struct {
			read    func([]byte, *conversation.Models) (*conversation.Request, error)
			request object
		}{{chat.Read, a.chat}, {responses.Read, a.responses}, {messages.Read, a.messages}} {
			body, _ := json.Marshal(dialect.request)
			r, err := dialect.read(body, dialecttest.Models)
			if err != nil {
				t.Fatalf("%v: %s", err, body)
			}
			got := object{"path": r.Path, "streams": r.Stream, "model": r.Model}
			if err := json.Unmarshal(r.Body, &got); err != nil {
				t.Fatalf("%v: %s", err, r.Body)
			}
			if i == 0 {
				want, warned = got, r.Warnings
			}
			if diff := cmp.Diff(want, got) + cmp.Diff(warned, r.Warnings); diff != "" {
				t.Fatalf("%s (-chat +this)\n%s", body, diff)
			}
		}
	})
}

// Empty instructions are no turn, which would only cost tokens.
func TestEmptyInstructionsAreNoTurn(t *testing.T) {
	for _, tt := range []struct {
		read func([]byte, *conversation.Models) (*conversation.Request, error)
		body string
	}{
		{responses.Read, `{"model":"m","input":"Hi","instructions":""}`},
		{messages.Read, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Hi"}],"system":""}`},
		{messages.Read, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Hi"}],"system":[]}`},
	} {
		r, err := tt.read([]byte(tt.body), dialecttest.Models)
		if err != nil || !strings.Contains(string(r.Body), `"messages":[{"role":"user","content":"Hi"}]`) {
			t.Errorf("%s: %v: %+v", tt.body, err, r)
		}
	}
}
