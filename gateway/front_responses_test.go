package gateway_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sluice/gateway/simulator"
	"sluice/policy/limit"
)

const frontResponse = `{"model":"llm-max","input":"Say something about rivers."}`

// response is what the tests read of a response.
type response struct {
	ID, Object, Model, Status string
	Output                    []struct {
		Type, Name string
		CallID     string `json:"call_id"`
		Content    []struct{ Type, Text string }
	}
	Usage struct {
		Total int64 `json:"total_tokens"`
	}
	Error *struct{ Code, Message string }
}

// lastEvent is the type of a stream's last event, and its response.
func lastEvent(t testing.TB, stream string) (kind string, r response) {
	t.Helper()
	events := strings.Split(strings.TrimSuffix(stream, "\n\n"), "\n\n")
	name, data, ok := strings.Cut(events[len(events)-1], "\ndata: ")
	var last struct {
		Type     string
		Response response
	}
	if err := json.Unmarshal([]byte(data), &last); err != nil || !ok || name != "event: "+last.Type {
		t.Fatalf("%v: the last event is %q", err, events[len(events)-1])
	}
	return last.Type, last.Response
}

func TestFrontAnswersResponses(t *testing.T) {
	h := fronted(t)
	got := h.ask("POST", frontResponses, frontResponse)
	var whole response
	if err := json.Unmarshal([]byte(got.body), &whole); err != nil || got.status != 200 ||
		whole.ID != "resp_"+got.header.Get("Sluice-Request-Id") || whole.Object != "response" || whole.Status != "completed" {
		t.Fatalf("%v: %d %s", err, got.status, got.body)
	}
	streamed := h.ask("POST", frontResponses, strings.Replace(frontResponse, "{", `{"stream":true,`, 1))
	kind, last := lastEvent(t, streamed.body)
	if kind != "response.completed" || last.Output[0].Content[0].Text != whole.Output[0].Content[0].Text ||
		strings.Contains(streamed.body, "[DONE]") ||
		!strings.HasPrefix(streamed.header.Get("Content-Type"), "text/event-stream") {
		t.Errorf("%v %s", streamed.header, streamed.body)
	}
	for _, answer := range []reading{got, streamed} {
		if record := h.recordOf(t, answer); record.Front != "responses" || record.Route != frontResponses || record.Endpoint != "text" ||
			record.BytesOut != int64(len(answer.body)) ||
			record.Cost.Amounts[limit.Tokens] != whole.Usage.Total {
			t.Errorf("record %+v", record)
		}
	}
}

// Errors name the client's members in OpenAI's form; nothing is kept that a later request could name.
func TestFrontRefusesResponses(t *testing.T) {
	h := fronted(t)
	member := func(members string) string { return strings.Replace(frontResponse, "{", "{"+members+",", 1) }
	h.ask("POST", frontResponses, member(`"top_k":1`)).wantsOpenAI(t, 400, "invalid_request_error", "InvalidParameter", "top_k")
	h.ask("POST", frontResponses, member(`"previous_response_id":"resp_1"`)).
		wantsOpenAI(t, 400, "invalid_request_error", "InvalidParameter", "previous_response_id")
	got := h.ask("POST", frontResponses, member(`"temperature":2`))
	got.wantsOpenAI(t, 400, "invalid_request_error", "InvalidParameter", "temperature")
	if want := "temperature: given 2, allowed a number from 0 to below 2"; !strings.Contains(got.body, want) ||
		strings.Contains(got.body, "parameters.") {
		t.Errorf("%s, want %s", got.body, want)
	}
	got = h.ask("POST", frontResponses, member(`"tools":[{"type":"web_search"},{"type":"function","name":"a.b"}]`))
	got.wantsOpenAI(t, 400, "invalid_request_error", "InvalidParameter", "tools[1].name")
	if !strings.Contains(got.body, "tools[1].name: given") {
		t.Errorf("another tool is named in %s", got.body)
	}
	if got := h.ask("POST", frontResponses+"/input_tokens", frontResponse); got.status != 404 || strings.Contains(got.body, "kept") {
		t.Error(got.body)
	}
	for _, method := range []string{"GET", "DELETE"} {
		got := h.ask(method, frontResponses+"/resp_1", "")
		got.wantsOpenAI(t, 404, "not_found_error", "NotFound", "")
		if !strings.Contains(got.body, "No response is kept") {
			t.Error(got.body)
		}
	}
	if got := h.ask("POST", "/v1/audio/speech", "{}"); !strings.Contains(got.body, "chat/completions, responses, messages, ") {
		t.Errorf("what is served is not told: %s", got.body)
	}
}

// The AI SDK refers to what it believes to be kept. A reference to a thought says as little as the thought itself; any other would lose a
// turn.
func TestFrontReadsReferencesToThoughtsAlone(t *testing.T) {
	h := fronted(t)
	asking := func(id string) reading {
		return h.ask("POST", frontResponses, `{"model":"llm-max","input":[{"role":"user","content":"Hi"},{"type":"item_reference","id":"`+id+
			`"}]}`)
	}
	if got := asking("rs_1_0"); got.status != 200 {
		t.Errorf("%d %s", got.status, got.body)
	}
	got := asking("msg_1_0")
	got.wantsOpenAI(t, 400, "invalid_request_error", "InvalidParameter", "input[1].type")
	if !strings.Contains(got.body, "store: false") {
		t.Errorf("no remedy is told: %s", got.body)
	}
}

// An error before the first event is a plain one; later it is an event, after which the stream ends.
func TestFrontFailsResponses(t *testing.T) {
	stream := strings.Replace(frontResponse, "{", `{"stream":true,`, 1)
	const failure = "event:error\n:HTTP_STATUS/429\ndata:{\"code\":\"Throttling.RateQuota\",\"message\":\"slow down\"}\n\n"
	h := fronted(t, streaming(false, failure))
	h.ask("POST", frontResponses, stream).wantsOpenAI(t, 429, "rate_limit_error", "Throttling.RateQuota", "")
	h = fronted(t, streaming(false, nativeFrame("one", "null"), nativeFrame(" two", "null"), failure))
	got := h.ask("POST", frontResponses, stream)
	if kind, last := lastEvent(t, got.body); got.status != 200 || got.err != nil || kind != "response.failed" ||
		last.Error.Code != "rate_limit_exceeded" || last.Output[0].Content[0].Text != "one two" {
		t.Errorf("%d %v %s", got.status, got.err, got.body)
	}
	h = fronted(t, answering(200, `{"output":{"choices":[{"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}]}}`))
	if kind, last := lastEvent(t, h.ask("POST", frontResponses, stream).body); kind != "response.completed" ||
		last.Output[0].Content[0].Text != "hello" {
		t.Errorf("%s %+v", kind, last)
	}
}

// Tools that the service lacks are left out, and the client is told; what only bends the style is told of, too.
func TestFrontWarnsOfWhatIsLeftOut(t *testing.T) {
	h := fronted(t)
	for path, body := range map[string]string{
		frontResponses: `{"model":"llm-max","input":"Hi","tools":[{"type":"web_search"}]}`,
		frontChats:     `{"frequency_penalty":0.5,` + frontChat[1:],
	} {
		got := h.ask("POST", path, body)
		if warning := got.header.Get("Sluice-Warning"); got.status != 200 ||
			!strings.Contains(warning, "web_search") && !strings.HasPrefix(warning, "frequency_penalty;given=0.5") {
			t.Errorf("%d %s %q", got.status, got.body, warning)
		}
	}
}

// A model that nothing names is 404 where only named ones are to be had, and goes on to the service otherwise.
func TestFrontHasKnownModelsAlone(t *testing.T) {
	body := strings.Replace(frontChat, "llm-max", "llm-new", 1)
	for _, alone := range []bool{true, false} {
		h := fronted(t, func(p *plan) {
			p.config.KnownModels, p.teams = alone, "catalogue: [llm-max]\naliases: {gpt-4o: llm-plus}\n"
		})
		got := h.ask("POST", frontChats, body)
		if alone {
			got.wantsOpenAI(t, http.StatusNotFound, "not_found_error", "model_not_found", "model")
		} else if got.status != 200 {
			t.Errorf("%d %s", got.status, got.body)
		}
		for _, known := range []string{"llm-max", "gpt-4o"} {
			if got := h.ask("POST", frontChats, strings.Replace(frontChat, "llm-max", known, 1)); got.status != 200 {
				t.Errorf("%s: %d %s", known, got.status, got.body)
			}
		}
	}
}

// response is the request of Responses that asks for the same.
func (b both) response() string {
	members := maps.Clone(b.members)
	for name, theirs := range map[string]string{"max_tokens": "max_output_tokens", "response_format": "text"} {
		if value, ok := members[name]; ok {
			delete(members, name)
			if members[theirs] = value; theirs == "text" {
				members[theirs] = `{"format":` + value + `}`
			}
		}
	}
	if b.stream {
		members["stream"] = "true"
	}
	var items []string
	for i, text := range b.said {
		part := []string{"input_text", "output_text"}[i%2]
		content := `{"type":"` + part + `","text":` + quote(text) + `}`
		if i == 0 && b.picture != "" {
			content += `,{"type":"input_image","image_url":` + quote(b.picture) + `}`
		}
		items = append(items, `{"role":"`+[]string{"user", "assistant"}[i%2]+`","content":[`+content+`]}`)
	}
	written := both{members: members}.written()
	return strings.TrimSuffix(fmt.Sprintf(`{"model":%q,"input":[%s],%s`, b.model, strings.Join(items, ","), written), ",") + "}"
}

// TestResponsesAreEqual: a conversation costs the same, and is judged the same, as a response and by the service's interface.
func TestResponsesAreEqual(t *testing.T) {
	h := fronted(t, func(p *plan) { p.sim.MaxOutput = 60 })
	wishes, asked := rapid.Custom(drawBoth), 0
	for i := 0; asked < 60; i++ {
		wish := wishes.Example(i)
		for _, name := range []string{"seed", "n", "presence_penalty", "stop", "top_k", "enable_search", "tools"} {
			delete(wish.members, name) // a response has none of them, or has them in another form
		}
		if wish.painting {
			continue
		}
		asked++
		path, body, header := wish.native()
		native := h.ask("POST", path, body, header...)
		got := h.ask("POST", frontResponses, wish.response(), "Authorization", "Bearer "+h.keys["shop"])
		if diff := cmp.Diff(comparable(h.recordOf(t, native)), comparable(h.recordOf(t, got))); diff != "" {
			t.Fatalf("the records of\n%s\n%s\ndiffer (-native +front):\n%s", body, wish.response(), diff)
		}
	}
	if diff := cmp.Diff(h.rowsOf(t, "search"), h.rowsOf(t, "shop")); diff != "" {
		t.Errorf("the ledgers differ (-native +front):\n%s", diff)
	}
	if n := h.sim.Count(simulator.EndpointText); n == 0 || n%2 != 0 {
		t.Errorf("%d requests for text reached the service", n)
	}
}

// An agent's loop, as Codex and the Agents library run it: each turn sends back all items, the calls that the script makes come, one
// after another, as items and in streams alike, and the last turn is a message.
func TestFrontPlaysAnAgentsTurns(t *testing.T) {
	h := fronted(t, func(p *plan) {
		p.sim.Script = [][]simulator.ScriptedCall{
			{{Name: "read", Arguments: `{"path":"a.txt"}`}}, {{Name: "patch", Arguments: `{"input":"*** \"a\"\n"}`},
				{Name: "read", Arguments: `{}`}},
		}
	})
	const tools = `"tools":[{"type":"namespace","name":"files","tools":[{"type":"function","name":"read",` +
		`"parameters":{"type":"object"}}]},{"type":"custom","name":"patch"},{"type":"web_search"}]`
	items := []string{`{"role":"user","content":"Edit the file."}`}
	var seen []string
	for range 3 {
		body := `{"model":"llm-max",` + tools + `,"input":[` + strings.Join(items, ",") + `]}`
		var whole struct{ Output []json.RawMessage }
		got := h.ask("POST", frontResponses, body)
		if err := json.Unmarshal([]byte(got.body), &whole); err != nil || got.status != 200 {
			t.Fatalf("%v: %d %s", err, got.status, got.body)
		}
		_, streamed := lastEvent(t, h.ask("POST", frontResponses, strings.Replace(body, "{", `{"stream":true,`, 1)).body)
		for i, raw := range whole.Output {
			var it struct{ Type, Name, Namespace, Input, Arguments, CallID string }
			if err := json.Unmarshal([]byte(strings.Replace(string(raw), "call_id", "CallID", 1)), &it); err != nil ||
				streamed.Output[i].Type != it.Type || streamed.Output[i].Name != it.Name {
				t.Fatalf("%v: %s, streamed %+v", err, raw, streamed.Output[i])
			}
			seen = append(seen, strings.Join([]string{it.Type, it.Namespace, it.Name, it.Input + it.Arguments}, " "))
			items = append(items, string(raw))
			if it.CallID != "" {
				items = append(items, `{"type":"`+it.Type+`_output","call_id":"`+it.CallID+`","output":"done"}`)
			}
		}
	}
	want := []string{`function_call files read {"path":"a.txt"}`, "custom_tool_call  patch *** \"a\"\n", "function_call files read {}",
		"message   "}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
}
