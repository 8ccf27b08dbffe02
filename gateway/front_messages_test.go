package gateway_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sluice/gateway/simulator"
	"sluice/policy/limit"
)

const (
	frontMessages = "/v1/messages"
	frontCount    = "/v1/messages/count_tokens"
	frontMessage  = `{"model":"llm-max","max_tokens":256,"messages":[{"role":"user","content":"Say something about rivers."}]}`
)

// message is what the tests read of a message.
type message struct {
	ID, Type, Role, Model string
	Content               []struct {
		Type, Text, Name string
		Input            json.RawMessage
	}
	StopReason string `json:"stop_reason"`
	Usage      struct {
		Input  int64 `json:"input_tokens"`
		Output int64 `json:"output_tokens"`
	}
}

// wantsAnthropic checks an error in Anthropic's form.
func (r reading) wantsAnthropic(t testing.TB, status int, kind, about string) {
	t.Helper()
	var body struct {
		Type  string
		Error struct{ Type, Message string }
		ID    string `json:"request_id"`
	}
	decoder := json.NewDecoder(strings.NewReader(r.body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&body); err != nil || r.status != status || body.Type != "error" || body.Error.Type != kind ||
		!strings.Contains(body.Error.Message, about) {
		t.Errorf("%v: %d %s, want %d %s about %s", err, r.status, r.body, status, kind, about)
	}
	if id := r.header.Get("Request-Id"); id == "" || id != body.ID || id != r.header.Get("Sluice-Request-Id") ||
		r.header.Get("X-Request-Id") != "" {
		t.Errorf("headers %v, the body has the id %s", r.header, body.ID)
	}
}

func TestFrontAnswersMessages(t *testing.T) {
	h := fronted(t)
	key := h.keys["search"]
	got := h.ask("POST", frontMessages+"?beta=true", frontMessage, "Authorization", "", "X-Api-Key", key, "Anthropic-Version", "2023-06-01",
		"Anthropic-Beta", "x")
	var whole message
	if err := json.Unmarshal([]byte(got.body), &whole); err != nil || got.status != 200 || whole.ID != "msg_"+got.header.Get("Request-Id") ||
		whole.Type != "message" || whole.Role != "assistant" ||
		len(whole.Content) != 1 || whole.Content[0].Text == "" || whole.StopReason != "end_turn" {
		t.Fatalf("%v: %d %s", err, got.status, got.body)
	}
	streamed := h.ask("POST", frontMessages, strings.Replace(frontMessage, "{", `{"stream":true,`, 1))
	if !strings.HasPrefix(streamed.body, "event: message_start\ndata: ") ||
		!strings.HasSuffix(streamed.body, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n") {
		t.Errorf("%d %s", streamed.status, streamed.body)
	}
	for _, answer := range []reading{got, streamed} {
		if record := h.recordOf(t, answer); record.Front != "messages" || record.Route != frontMessages || record.Endpoint != "text" ||
			record.Cost.Amounts[limit.Tokens] != whole.Usage.Input+whole.Usage.Output {
			t.Errorf("record %+v", record)
		}
	}
	for _, request := range h.sim.Requests() {
		if strings.Contains(fmt.Sprint(request), key) {
			t.Errorf("the team's key reached the service: %+v", request)
		}
	}
}

func TestFrontRefusesMessages(t *testing.T) {
	h := fronted(t, func(p *plan) { p.limits = []string{`models: ["llm-*"]`, "quotas: {requests: {day: 1}}"} })
	member := func(members string) string { return strings.Replace(frontMessage, "{", "{"+members+",", 1) }
	h.ask("POST", frontMessages, frontMessage, "Authorization", "", "X-Api-Key", "slk_wrong").
		wantsAnthropic(t, 401, "authentication_error", "key")
	h.ask("POST", frontMessages, strings.Replace(frontMessage, `"max_tokens":256,`, "", 1)).
		wantsAnthropic(t, 400, "invalid_request_error", "max_tokens")
	h.ask("POST", frontMessages, member(`"frequency_penalty":1`)).
		wantsAnthropic(t, 400, "invalid_request_error", `"frequency_penalty" is not supported`)
	h.ask("POST", frontMessages, member(`"stop_sequences":[1,"a"]`)).wantsAnthropic(t, 400, "invalid_request_error", "stop_sequences")
	h.ask("POST", frontMessages, member(`"tools":[{"type":"bash_20250124","name":"bash"},{"name":"a.b"}]`)).
		wantsAnthropic(t, 400, "invalid_request_error", "tools[1].name: given")
	h.ask("POST", frontMessages, strings.Replace(frontMessage, "llm-max", "claude", 1)).wantsAnthropic(t, 404, "not_found_error", "claude")
	h.ask("POST", frontMessages, frontMessage, "Content-Type", "text/plain").wantsAnthropic(t, 415, "invalid_request_error", "Content-Type")
	h.ask("GET", frontMessages+"/batches", "").wantsAnthropic(t, 404, "not_found_error", "messages")
	if got := h.ask("POST", frontMessages, frontMessage); got.status != 200 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	h.ask("POST", frontMessages, frontMessage).wantsAnthropic(t, 429, "rate_limit_error", "")
	h.gateway.BeginStop()
	h.ask("POST", frontMessages, frontMessage).wantsAnthropic(t, 503, "overloaded_error", "stopping")
}

// An error before the first event is a plain one; later it is an event, after which the stream ends.
func TestFrontFailsMessages(t *testing.T) {
	stream := strings.Replace(frontMessage, "{", `{"stream":true,`, 1)
	const failure = "event:error\n:HTTP_STATUS/503\ndata:{\"code\":\"ModelServingError\",\"message\":\"slow down\"}\n\n"
	fronted(t, streaming(false, failure)).ask("POST", frontMessages, stream).wantsAnthropic(t, 503, "overloaded_error", "slow down")
	got := fronted(t, streaming(false, nativeFrame("one", "null"), nativeFrame(" two", "null"), failure)).ask("POST", frontMessages, stream)
	if got.status != 200 || got.err != nil || !strings.Contains(got.body,
		"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"slow down\"}") ||
		strings.Contains(got.body, "message_stop") {
		t.Errorf("%d %v %s", got.status, got.err, got.body)
	}
}

// The libraries ask for objects by output_config.format, and older ones by output_format: an answer that is none fails in the client.
func TestFrontAnswersMessagesInASchema(t *testing.T) {
	h := fronted(t)
	const format = `{"type":"json_schema","schema":{"type":"object","properties":{"length_km":{"type":"integer"}},"required":["length_km"]}}`
	member := func(members string) string { return strings.Replace(frontMessage, "{", "{"+members+",", 1) }
	for _, members := range []string{`"output_config":{"effort":"high","format":` + format + `}`, `"output_format":` + format,
		`"output_config":{"format":null},"output_format":` + format} {
		var whole message
		var river map[string]int
		got := h.ask("POST", frontMessages, member(members))
		if err := json.Unmarshal([]byte(got.body), &whole); err != nil || got.status != 200 || len(whole.Content) != 1 {
			t.Fatalf("%s: %v: %d %s", members, err, got.status, got.body)
		}
		if err := json.Unmarshal([]byte(whole.Content[0].Text), &river); err != nil || len(river) != 1 {
			t.Errorf("%s: %v: %s", members, err, whole.Content[0].Text)
		}
	}
	h.ask("POST", frontMessages, member(`"output_config":{"format":{"type":"json_schema"}}`)).
		wantsAnthropic(t, 400, "invalid_request_error", "output_config.format: an object")
	h.ask("POST", frontMessages, member(`"output_format":{"type":"grammar","schema":{}}`)).
		wantsAnthropic(t, 400, "invalid_request_error", "output_format: an object")
	if got := h.ask("POST", frontMessages, member(`"output_config":{"effort":"high"}`)); got.status != 200 {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// Clients answer the calls of a message that ends with tool_use, also where the service says stop.
func TestFrontMessagesWithCallsEndWithToolUse(t *testing.T) {
	const call = `"message":{"role":"assistant","content":"","tool_calls":[{"index":0,"id":"call_1","type":"function",` +
		`"function":{"name":"level","arguments":"{}"}}]},"finish_reason":`
	for finish, want := range map[string]string{"stop": "tool_use", "tool_calls": "tool_use", "length": "max_tokens",
		"content_filter": "refusal"} {
		whole := `{"output":{"choices":[{` + call + `"` + finish + `"}]}}`
		got := fronted(t, answering(200, whole)).ask("POST", frontMessages, frontMessage)
		streamed := fronted(t, streaming(false, "data:"+strings.Replace(whole, finish, "null", 1)+"\n\n", nativeFrame("", finish))).
			ask("POST", frontMessages, strings.Replace(frontMessage, "{", `{"stream":true,`, 1))
		for _, answer := range []reading{got, streamed} {
			if !strings.Contains(answer.body, `"stop_reason":"`+want+`"`) {
				t.Errorf("%s: %s, want %s", finish, answer.body, want)
			}
		}
	}
}

// A limit that has just refused a request does not refuse a count, which costs nothing.
func TestFrontCountsTokensOfARefusedTeam(t *testing.T) {
	at := time.Now()
	h := fronted(t, limited("rates: {requests: {per: 1h, limit: 1}}"), func(p *plan) { p.now = func() time.Time { return at } })
	h.ask("POST", textPath, textBody)
	h.records.await(t, 1)
	h.ask("POST", textPath, textBody).wants(t, 429, "admit/rate", "Throttling.RateQuota")
	if got := h.ask("POST", frontCount, frontMessage); got.status != 200 {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// A count is what a hold reckons with. It costs nothing and asks the service nothing.
func TestFrontCountsTokens(t *testing.T) {
	h := fronted(t, limited("quotas: {requests: {day: 1}, tokens: {day: 1000}}"))
	for range 2 {
		got := h.ask("POST", frontCount, strings.Replace(frontMessage, `"max_tokens":256,`, "", 1))
		if got.status != 200 || got.body != `{"input_tokens":23}` || got.header.Get("Sluice-Warning") != "estimated" {
			t.Errorf("%d %v %s", got.status, got.header, got.body)
		}
		if record := h.recordOf(t, got); record.Front != "messages" || record.Cost.Amounts[limit.Requests] != 0 {
			t.Errorf("record %+v", record)
		}
	}
	if n := h.sim.Count(simulator.EndpointText); n != 0 {
		t.Errorf("%d requests reached the service", n)
	}
	h.ask("POST", frontCount, `{"model":"llm-max"}`).wantsAnthropic(t, 400, "invalid_request_error", "messages")
}

func TestFrontListsModelsInAnthropicsForm(t *testing.T) {
	h := fronted(t, func(p *plan) { p.teams = "catalogue: [llm-max, llm-plus]\n" })
	for path, want := range map[string]string{
		frontModels:               `"has_more":false,"first_id":"llm-max","last_id":"llm-plus"}`,
		frontModels + "/llm-plus": `{"type":"model","id":"llm-plus","display_name":"llm-plus","created_at":"`,
	} {
		got := h.ask("GET", path, "", "Authorization", "", "X-Api-Key", h.keys["search"], "Anthropic-Version", "2023-06-01")
		if got.status != 200 || !strings.Contains(got.body, want) {
			t.Errorf("%d %s, want %s", got.status, got.body, want)
		}
	}
	h.ask("GET", frontModels+"/gone", "", "Anthropic-Version", "2023-06-01").wantsAnthropic(t, 404, "not_found_error", "gone")
}

// message is the request of Messages that asks for the same.
func (b both) message() string {
	var items []string
	for i, text := range b.said {
		content := `{"type":"text","text":` + quote(text) + `}`
		if i == 0 && b.picture != "" {
			content += `,{"type":"image","source":{"type":"url","url":` + quote(b.picture) + `}}`
		}
		items = append(items, `{"role":"`+[]string{"user", "assistant"}[i%2]+`","content":[`+content+`]}`)
	}
	stream := ""
	if b.stream {
		stream = `,"stream":true`
	}
	return strings.TrimSuffix(fmt.Sprintf(`{"model":%q,"messages":[%s]%s,%s`, b.model, strings.Join(items, ","), stream, b.written()),
		",") + "}"
}

// TestMessagesAreEqual: a conversation costs the same, and is judged the same, as a message and by the service's interface.
func TestMessagesAreEqual(t *testing.T) {
	h := fronted(t, func(p *plan) { p.sim.MaxOutput = 60 })
	wishes, asked := rapid.Custom(drawBoth), 0
	for i := 0; asked < 60; i++ {
		wish := wishes.Example(i)
		for _, name := range []string{"seed", "n", "presence_penalty", "stop", "response_format", "enable_search", "tools"} {
			delete(wish.members, name) // a message has none of them, or has them in another form
		}
		if wish.members["max_tokens"] == "" {
			wish.members["max_tokens"] = "33"
		}
		if wish.painting {
			continue
		}
		asked++
		path, body, header := wish.native()
		native := h.ask("POST", path, body, header...)
		got := h.ask("POST", frontMessages, wish.message(), "Authorization", "Bearer "+h.keys["shop"])
		if diff := cmp.Diff(comparable(h.recordOf(t, native)), comparable(h.recordOf(t, got))); diff != "" {
			t.Fatalf("the records of\n%s\n%s\ndiffer (-native +front):\n%s", body, wish.message(), diff)
		}
	}
	if diff := cmp.Diff(h.rowsOf(t, "search"), h.rowsOf(t, "shop")); diff != "" {
		t.Errorf("the ledgers differ (-native +front):\n%s", diff)
	}
}

// Agents ask for more tokens than the service's models give: that is lowered in every dialect, and the client is told.
func TestFrontLowersWhatTheModelCannotGive(t *testing.T) {
	h := fronted(t, func(p *plan) {
		p.teams = "catalogue: [{id: llm-max, max_output: 100}, llm-plus]\naliases: {\"claude-*\": llm-max}\n"
	})
	for _, tt := range []struct{ path, member, body string }{
		{frontChats, "max_completion_tokens", frontChat}, {frontResponses, "max_output_tokens", frontResponse},
		{frontMessages, "max_tokens", strings.Replace(frontMessage, `"max_tokens":256,`, "", 1)},
	} {
		for model, most := range map[string]int64{"llm-max": 100, "claude-opus-9": 100, "llm-plus": 1000} {
			body := strings.Replace(strings.Replace(tt.body, "llm-max", model, 1), "{", `{"`+tt.member+`":1000,`, 1)
			got := h.ask("POST", tt.path, body)
			warning := ""
			if most == 100 {
				warning = tt.member + ";given=1000;sent=100"
			}
			if got.status != 200 || got.header.Get("Sluice-Warning") != warning {
				t.Errorf("%s %s: %d %s, warning %q", tt.path, model, got.status, got.body, got.header.Get("Sluice-Warning"))
			}
			if held := h.recordOf(t, got).Held.Amounts[limit.Tokens]; held < most || held > most+50 {
				t.Errorf("%s %s holds %d tokens, want about %d", tt.path, model, held, most)
			}
		}
	}
}

// On OpenAI's own routes the route decides on the dialect, even where a proxy adds Anthropic's header to all requests.
func TestFrontRoutesOfOpenAIStayInItsDialect(t *testing.T) {
	h := fronted(t)
	const header, version = "Anthropic-Version", "2023-06-01"
	h.ask("POST", frontChats, `{"model":"llm-max"}`, header, version).
		wantsOpenAI(t, 400, "invalid_request_error", "InvalidParameter", "messages")
	h.ask("POST", frontResponses, `{"model":"llm-max"}`, header, version).
		wantsOpenAI(t, 400, "invalid_request_error", "InvalidParameter", "input")
	h.ask("GET", "/v1/files", "", header, version).wantsAnthropic(t, 404, "not_found_error", "files")
	h.ask("POST", frontModels, "{}", header, version).wantsAnthropic(t, 405, "invalid_request_error", "Method")
}
