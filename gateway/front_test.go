package gateway_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"sluice/policy/limit"
	"sluice/telemetry"
)

// Paths of OpenAI's interface.
const (
	frontChats     = "/v1/chat/completions"
	frontResponses = "/v1/responses"
	frontModels    = "/v1/models"
)

const frontChat = `{"model":"llm-max","messages":[{"role":"user","content":"Say something about rivers."}]}`

// withFront serves OpenAI's interface.
func withFront(p *plan) { p.config.OpenAI, p.config.Provider = true, "service" }

// fronted builds a gateway that serves OpenAI's interface.
func fronted(t testing.TB, changes ...func(*plan)) *harness {
	t.Helper()
	return build(t, append([]func(*plan){withFront}, changes...)...)
}

// openAIError is an error in OpenAI's form.
type openAIError struct {
	Error struct {
		Message, Type string
		Param, Code   *string
	}
}

// wantsOpenAI checks an error in OpenAI's form: its status, type, code and param, and that its id is Sluice's.
func (r reading) wantsOpenAI(t testing.TB, status int, kind, code, param string) {
	t.Helper()
	var body openAIError
	decoder := json.NewDecoder(strings.NewReader(r.body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&body); err != nil || r.err != nil {
		t.Fatalf("%d: %v, %v: %s", r.status, err, r.err, r.body)
	}
	text := func(p *string) string {
		if p == nil {
			return ""
		}
		return *p
	}
	if e := body.Error; r.status != status || e.Type != kind || text(e.Code) != code || text(e.Param) != param || e.Message == "" {
		t.Errorf("got %d %s, want %d %s %s %q", r.status, r.body, status, kind, code, param)
	}
	if id := r.header.Get("X-Request-Id"); id == "" || id != r.header.Get("Sluice-Request-Id") {
		t.Errorf("x-request-id %q, Sluice-Request-Id %q", id, r.header.Get("Sluice-Request-Id"))
	}
}

// recordOf waits for the record of the request with that answer.
func (h *harness) recordOf(t testing.TB, answer reading) telemetry.Record {
	t.Helper()
	id := answer.header.Get("Sluice-Request-Id")
	for n := 1; ; n++ {
		for _, record := range h.records.await(t, n) {
			if record.ID == id {
				return record
			}
		}
	}
}

// completion is what the tests read of a chat.completion or a chunk.
type completion struct {
	ID, Object, Model string
	Created           int64
	Choices           []struct {
		Index          int
		Message, Delta struct {
			Role, Content string
			ToolCalls     []struct {
				ID, Type string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		FinishReason *string `json:"finish_reason"`
	}
	Usage *struct {
		PromptTokens     int64 `json:"prompt_tokens"`
		CompletionTokens int64 `json:"completion_tokens"`
		TotalTokens      int64 `json:"total_tokens"`
	}
	Error *struct{ Message, Type string }
}

func readCompletion(t testing.TB, text string) completion {
	t.Helper()
	var c completion
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return c
}

func TestFrontAnswersAChat(t *testing.T) {
	h := fronted(t)
	got := h.ask("POST", frontChats, frontChat, "Accept", "text/event-stream")
	if got.status != 200 || got.header.Get("Content-Type") != "application/json" {
		t.Fatalf("%d %v %s", got.status, got.header, got.body)
	}
	c := readCompletion(t, got.body)
	if c.Object != "chat.completion" || c.Model != "llm-max" || c.Created == 0 || len(c.Choices) != 1 || c.Choices[0].Message.Content == "" ||
		*c.Choices[0].FinishReason != "stop" {
		t.Errorf("got %s", got.body)
	}
	if id := got.header.Get("Sluice-Request-Id"); c.ID != "chatcmpl-"+id || got.header.Get("X-Request-Id") != id {
		t.Errorf("id %s, headers %v", c.ID, got.header)
	}
	record := h.recordOf(t, got)
	if record.Front != "chat" || record.Route != frontChats || record.Endpoint != "text" || record.Kind != "text" ||
		record.Model != "llm-max" || record.Status != 200 ||
		record.Cost.Amounts[limit.Tokens] != c.Usage.TotalTokens || record.BytesOut != int64(len(got.body)) ||
		record.BytesIn != int64(len(frontChat)) {
		t.Errorf("record %+v, usage %+v", record, c.Usage)
	}
}

func TestFrontStreamsAChat(t *testing.T) {
	h := fronted(t)
	body := strings.Replace(frontChat, `{"model"`, `{"stream":true,"stream_options":{"include_usage":true},"model"`, 1)
	got := h.ask("POST", frontChats, body)
	if got.status != 200 || !strings.HasPrefix(got.header.Get("Content-Type"), "text/event-stream") ||
		!strings.HasSuffix(got.body, "data: [DONE]\n\n") {
		t.Fatalf("%d %v %s", got.status, got.header, got.body)
	}
	text, chunks := "", 0
	var last completion
	for event := range strings.SplitSeq(strings.TrimSuffix(got.body, "data: [DONE]\n\n"), "\n\n") {
		if event == "" {
			continue
		}
		last = readCompletion(t, strings.TrimPrefix(event, "data: "))
		for _, choice := range last.Choices {
			text += choice.Delta.Content
		}
		chunks++
	}
	if text == "" || chunks < 3 || last.Usage == nil || len(last.Choices) != 0 {
		t.Errorf("%d chunks with %q, the last is %+v", chunks, text, last)
	}
	if record := h.recordOf(t, got); record.Cost.Amounts[limit.Tokens] != last.Usage.TotalTokens || record.BytesOut != int64(len(got.body)) {
		t.Errorf("record %+v, usage %+v", record, last.Usage)
	}
}

// Each chunk leaves when its frame has arrived: the service waits for the client to have read one before it sends the next.
func TestFrontFlushesEachChunk(t *testing.T) {
	read := make(chan struct{})
	h := fronted(t, func(p *plan) {
		p.upstream = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for _, word := range []string{"one", " two", " three", " four"} {
				finish := "null"
				if word == " four" {
					finish = "stop"
				}
				_, _ = io.WriteString(w, nativeFrame(word, finish))
				_ = http.NewResponseController(w).Flush()
				if word != "one" { // only the first frame may be the text so far or a piece
					<-read
				}
			}
		})
	})
	resp, err := h.client.Do(h.request("POST", frontChats, strings.Replace(frontChat, `{"model"`, `{"stream":true,"model"`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	buf, text := make([]byte, 4096), ""
	for _, word := range []string{" two", " three", " four"} {
		for !strings.Contains(text, `"content":"`+word+`"`) {
			n, err := resp.Body.Read(buf)
			if text += string(buf[:n]); err != nil {
				t.Fatalf("%v after %s", err, text)
			}
		}
		read <- struct{}{}
	}
	rest, err := io.ReadAll(resp.Body)
	if err != nil || !strings.HasSuffix(string(rest), "data: [DONE]\n\n") {
		t.Errorf("the end is %q, %v", rest, err)
	}
}

func TestFrontListsModels(t *testing.T) {
	h := fronted(t, func(p *plan) {
		p.teams = "catalogue: [llm-max, gen2.6-image]\naliases: {gpt-4o: llm-max}\n"
		p.limits = []string{`models: ["llm-*"]`}
	})
	got := h.ask("GET", frontModels, "")
	var list struct {
		Object string
		Data   []struct {
			ID, Object string
			Created    int64
			OwnedBy    string `json:"owned_by"`
		}
	}
	if err := json.Unmarshal([]byte(got.body), &list); err != nil || got.status != 200 || list.Object != "list" || len(list.Data) != 2 ||
		list.Data[0].ID != "gpt-4o" || list.Data[1].ID != "llm-max" ||
		list.Data[0].OwnedBy != "service" || list.Data[0].Object != "model" || list.Data[0].Created == 0 {
		t.Errorf("%v: %d %s", err, got.status, got.body)
	}
	if got := h.ask("GET", frontModels+"/gpt%2D4o", ""); got.status != 200 || !strings.HasPrefix(got.body, `{"id":"gpt-4o","object":"model"`) {
		t.Errorf("%d %s", got.status, got.body)
	}
	h.ask("GET", frontModels+"/gen2.6-image", "").wantsOpenAI(t, 404, "not_found_error", "model_not_found", "model")
	h.ask("GET", frontModels, "", "Authorization", "Bearer slk_wrong").wantsOpenAI(t, 401, "authentication_error", "InvalidApiKey", "")
}

func TestFrontTranslatesAliases(t *testing.T) {
	h := fronted(t, func(p *plan) {
		p.teams = "aliases: {gpt-4o: llm-max}\n"
		p.limits = []string{`models: ["llm-*"]`}
	})
	got := h.ask("POST", frontChats, strings.Replace(frontChat, "llm-max", "gpt-4o", 1))
	if c := readCompletion(t, got.body); got.status != 200 || c.Model != "gpt-4o" {
		t.Errorf("%d %s", got.status, got.body)
	}
	if record := h.recordOf(t, got); record.Model != "llm-max" {
		t.Errorf("the log has the model %s", record.Model)
	}
	got = h.ask("POST", textPath, strings.Replace(textBody, "llm-max", "gpt-4o", 1))
	got.wants(t, 403, "inspect/model", "Model.AccessDenied") // an alias is only for OpenAI's interface
}

func TestFrontRefusesInOpenAIsForm(t *testing.T) {
	h := fronted(t, func(p *plan) {
		p.teams = "catalogue: [gen2.6-image]\n"
		p.limits = []string{`models: ["llm-*"]`, `endpoints: [text]`}
	})
	for _, tt := range []struct {
		about, method, path, body string
		header                    []string
		status                    int
		kind, code, param, row    string
	}{
		{"an unknown path", "POST", "/v1/audio/speech", frontChat, nil, 404, "not_found_error", "NotFound", "", "route/path"},
		{"the base URL alone", "GET", "/v1", "", nil, 404, "not_found_error", "NotFound", "", "route/path"},
		{"another method", "DELETE", frontChats, "", nil, 405, "invalid_request_error", "InvalidParameter", "", "route/method"},
		{"no key", "POST", frontChats, frontChat, []string{"Authorization", ""}, 401, "authentication_error", "InvalidApiKey", "",
			"authenticate/key"},
		{"another media type", "POST", frontChats, frontChat, []string{"Content-Type", "text/plain"}, 415, "invalid_request_error",
			"InvalidParameter", "", "inspect/media"},
		{"no JSON", "POST", frontChats, "hello", nil, 400, "invalid_request_error", "InvalidParameter", "", "inspect/body"},
		{"a member that is not supported", "POST", frontChats, `{"functions":[{}],` + frontChat[1:], nil, 400, "invalid_request_error",
			"InvalidParameter", "functions", "inspect/rules"},
		{"a rule of the service", "POST", frontChats, `{"top_p":7,` + frontChat[1:], nil, 400, "invalid_request_error", "InvalidParameter",
			"top_p", "inspect/rules"},
		{"another team's model", "POST", frontChats, strings.Replace(frontChat, "llm-max", "gen2.6-image", 1), nil, 403, "permission_error",
			"Model.AccessDenied", "model", "inspect/model"},
		{"a model that nothing names", "POST", frontChats, strings.Replace(frontChat, "llm-max", "gpt-9", 1), nil, 404, "not_found_error",
			"model_not_found", "model", "models/unknown"},
		{"another endpoint", "POST", frontChats, `{"model":"llm-max","messages":[{"role":"user","content":[{"type":"image_url",` +
			`"image_url":{"url":"https://example.com/a.png"}}]}]}`, nil, 403, "permission_error", "AccessDenied", "", "authenticate/endpoint"},
	} {
		t.Run(tt.about, func(t *testing.T) {
			got := h.ask(tt.method, tt.path, tt.body, tt.header...)
			got.wantsOpenAI(t, tt.status, tt.kind, tt.code, tt.param)
			if row := got.header.Get("Sluice-Refusal"); row != tt.row {
				t.Errorf("refused by %s, want %s", row, tt.row)
			}
			if record := h.recordOf(t, got); record.Refusal != tt.row || record.Status != tt.status ||
				record.Front != frontWord(tt.method+tt.path) || record.BytesOut != int64(len(got.body)) {
				t.Errorf("record %+v", record)
			}
		})
	}
}

// frontWord is the log's word for a request.
func frontWord(to string) string {
	switch strings.TrimPrefix(to, "POST") {
	case frontImages:
		return "images"
	case frontChats:
		return "chat"
	case frontResponses:
		return "responses"
	}
	return "openai"
}

func TestFrontRefusesForLimitsInOpenAIsForm(t *testing.T) {
	h := fronted(t, func(p *plan) { p.limits = []string{`quotas: {requests: {day: 1}}`} })
	if got := h.ask("POST", frontChats, frontChat); got.status != 200 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	for range 2 { // the second is remembered
		got := h.ask("POST", frontChats, frontChat)
		got.wantsOpenAI(t, 429, "rate_limit_error", "insufficient_quota", "")
		// a library would sleep until tomorrow
		if got.header.Get("Retry-After") == "" || got.header.Get("Ratelimit") == "" || got.header.Get("X-Should-Retry") != "false" {
			t.Errorf("headers %v", got.header)
		}
	}
	h.gateway.BeginStop()
	got := h.ask("POST", frontChats, frontChat)
	got.wantsOpenAI(t, 503, "server_error", "ServiceUnavailable", "")
}

// serviceErrors: errors of the service, and their form in OpenAI's interface.
func TestFrontTranslatesErrorsOfTheService(t *testing.T) {
	const frame = `data:{"output":{"choices":[{"message":{"role":"assistant","content":"word"},"finish_reason":"null"}]}}` + "\n\n"
	const failure = "event:error\n:HTTP_STATUS/429\ndata:{\"code\":\"Throttling.RateQuota\",\"message\":\"slow " +
		"down\",\"request_id\":\"r\"}\n\n"
	answer := func(status int, media, body string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", media)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		})
	}
	cut := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"output":{"choices"`)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	cutStream := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, frame+frame+strings.Replace(frame, "word", "else", 1))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	for _, tt := range []struct {
		about    string
		upstream http.Handler
		stream   bool
		check    func(t *testing.T, got reading)
	}{
		{"an error", answer(429, "application/json", `{"code":"Throttling","message":"slow down","request_id":"r"}`), false,
			func(t *testing.T, got reading) {
				got.wantsOpenAI(t, 429, "rate_limit_error", "Throttling", "")
				if got.header.Get("Sluice-Refusal") != "" {
					t.Error("it is said to be Sluice's own")
				}
			}},
		{"an error that is no JSON", answer(500, "text/html", `<h1>Sorry</h1>`), false,
			func(t *testing.T, got reading) { got.wantsOpenAI(t, 500, "server_error", "", "") }},
		{"the service's 401", answer(401, "application/json", `{}`), false,
			func(t *testing.T, got reading) { got.wantsOpenAI(t, 502, "server_error", "InternalError", "") }},
		{"an answer that cannot be read", answer(200, "application/json", `[]`), false,
			func(t *testing.T, got reading) { got.wantsOpenAI(t, 502, "server_error", "InternalError", "") }},
		{"an answer that is cut", cut, false, func(t *testing.T, got reading) { got.wantsOpenAI(t, 502, "server_error", "InternalError", "") }},
		{"an error before a stream's content", answer(200, "text/event-stream", failure), true, func(t *testing.T, got reading) {
			got.wantsOpenAI(t, 429, "rate_limit_error", "Throttling.RateQuota", "")
		}},
		{"an error inside a stream", answer(200, "text/event-stream", frame+frame+failure), true, func(t *testing.T, got reading) {
			if got.status != 200 || strings.Contains(got.body, "[DONE]") ||
				!strings.Contains(got.body, `data: {"error":{"message":"slow down","type":"rate_limit_error"`) || got.err != nil {
				t.Errorf("%d %v %s", got.status, got.err, got.body)
			}
		}},
		{"a stream that is cut", cutStream, true, func(t *testing.T, got reading) {
			if got.status != 200 || strings.Contains(got.body, "[DONE]") || got.err != nil ||
				!strings.HasSuffix(got.body, `"code":"InternalError"}}`+"\n\n") {
				t.Errorf("%d %v %s", got.status, got.err, got.body)
			}
		}},
	} {
		t.Run(tt.about, func(t *testing.T) {
			h := fronted(t, func(p *plan) { p.upstream = tt.upstream })
			body := frontChat
			if tt.stream {
				body = strings.Replace(frontChat, `{"model"`, `{"stream":true,"model"`, 1)
			}
			got := h.ask("POST", frontChats, body)
			tt.check(t, got)
			if record := h.recordOf(t, got); record.Status != got.status || record.BytesOut != int64(len(got.body)) {
				t.Errorf("record has %d and %d bytes, the client %d and %d", record.Status, record.BytesOut, got.status, len(got.body))
			}
		})
	}
}

func TestFrontMayBeOff(t *testing.T) {
	h := build(t, func(p *plan) { p.config.OpenAI = false })
	h.ask("POST", frontChats, frontChat).wants(t, 404, "route/path", "NotFound")
	h.ask("GET", frontModels, "").wants(t, 404, "route/path", "NotFound")
}
