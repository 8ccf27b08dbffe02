package gateway_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"sluice/gateway/simulator"
	"sluice/policy/limit"
)

// TestImagesOutsideThePatterns: a request for images to a model in no pattern is charged images, and no tokens if its answer
// counts images. If the answer is still text, it is charged tokens, which were held: a parameter of images cannot evade a quota
// of tokens.
func TestImagesOutsideThePatterns(t *testing.T) {
	h := build(t, limited("quotas: {images: {day: 10}, tokens: {day: 20000}}"))
	const input = `"input":{"messages":[{"role":"user","content":[{"text":"A lighthouse"}]}]}}`
	got := h.ask("POST", multimodalPath, `{"model":"gen2.6-t2i","parameters":{"n":6},`+input)
	if got.status != 200 || got.header.Get("Sluice-Held") != "images=6" {
		t.Fatalf("%d %v %s", got.status, got.header, got.body)
	}
	record := h.records.await(t, 1)[0]
	if c := record.Cost; record.Kind != "image" || c.Amounts[limit.Images] != 6 || c.Amounts[limit.Tokens] != 0 ||
		c.Amounts[limit.Requests] != 1 || c.Flag != "exact" {
		t.Errorf("images: kind %s, charged %+v", record.Kind, c)
	}
	chat := `{"model":"llm-new","parameters":{"watermark":false,"max_tokens":3000},` + input
	for n, headers := range [][]string{nil, {"X-Service-SSE", "enable"}} {
		h.ask("POST", multimodalPath, chat, headers...)
		record = h.records.await(t, n+2)[n+1]
		used, known := record.Usage.Tokens()
		if c := record.Cost; !known || c.Amounts[limit.Tokens] != used || c.Amounts[limit.Images] != 0 || c.Flag != "exact" ||
			record.Held.Amounts[limit.Tokens] < 3000 || record.Held.Amounts[limit.Images] != 4 {
			t.Errorf("text: held %+v, used %d, charged %+v", record.Held, used, c)
		}
	}
	h.ask("POST", multimodalPath, `{"model":"gen2.6-t2i","parameters":{"n":5},`+input).
		wants(t, 429, "admit/quota", "Throttling.AllocationQuota")
}

// TestSpentTokens: a team without tokens left gets no text from a model by adding a parameter of images.
func TestSpentTokens(t *testing.T) {
	h := build(t, limited("quotas: {tokens: {day: 40}}"))
	const body = `{"model":"llm-new","parameters":{"watermark":false},"input":{"messages":[{"role":"user",` +
		`"content":[{"text":"Say all of it."}]}]}}`
	refused := false
	for range 40 {
		got := h.ask("POST", multimodalPath, body)
		if refused = got.status == 429; refused {
			got.wants(t, 429, "admit/quota", "Throttling.AllocationQuota")
			break
		}
	}
	if !refused {
		t.Error("40 answers of text passed a quota of 40 tokens")
	}
}

// TestAnswerWithoutUsage: an answer without usage is charged by its text, unless it shows pictures.
func TestAnswerWithoutUsage(t *testing.T) {
	const body = `{"model":"new","parameters":{"size":"1024*1024"},"input":{"messages":[{"role":"user","content":[{"text":"A lighthouse"}]}]}}`
	for item, want := range map[string][2]int64{`{"text":"It stands on a rock."}`: {1, 0}, `{"image":"https://a.example/b.png"}`: {0, 1}} {
		h := build(t, func(p *plan) {
			p.upstream = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = fmt.Fprintf(w, `{"output":{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":[%s]}}]},`+
					`"request_id":"a"}`, item)
			})
		})
		h.ask("POST", multimodalPath, body)
		if c := h.records.await(t, 1)[0].Cost; min(c.Amounts[limit.Tokens], 1) != want[0] || c.Amounts[limit.Images] != want[1] {
			t.Errorf("%s: charged %+v", item, c)
		}
	}
}

// TestTextIsPaidAsText: an answer of text is charged its tokens, whatever images it counts and however it arrives; one that
// counts both is charged both, as a chat's is.
func TestTextIsPaidAsText(t *testing.T) {
	const input = `"input":{"messages":[{"role":"user","content":[{"text":"Tell me all about rivers."}]}]}}`
	answer := func(finish, usage string) string {
		text := strings.Repeat("word ", 400)
		return `{"output":{"choices":[{"finish_reason":` + finish + `,"message":{"role":"assistant","content":[{"text":"` + text +
			`"}]}}]},"usage":{` + usage + `},"request_id":"r"}`
	}
	const tokens = `"input_tokens":1000,"output_tokens":500,"total_tokens":1500,`
	for about, tt := range map[string]struct {
		says           func(*plan)
		tokens, images int64
		flag           string
	}{
		"whole": {says(200, "application/json", answer(`"stop"`, tokens+`"image_count":0`), nil), 1500, 0, "exact"},
		"a stream": {says(200, streamType, events(answer(`null`, tokens+`"image_count":0`),
			answer(`"stop"`, tokens+`"image_count":0`)), nil), 1500, 0, "exact"},
		"a stream that is cut": {cuts(200, streamType, events(answer(`null`, tokens+`"image_count":0`))), 1500, 0, "estimated"},
		// 23 for the input, 500 for 2000 bytes
		"a cut without tokens":  {cuts(200, streamType, events(answer(`null`, `"image_count":0`))), 523, 0, "estimated"},
		"no tokens":             {says(200, "application/json", answer(`"stop"`, `"image_count":0`), nil), 523, 0, "estimated"},
		"both":                  {says(200, "application/json", answer(`"stop"`, tokens+`"image_count":1`), nil), 1500, 1, "exact"},
		"both, in a cut stream": {cuts(200, streamType, events(answer(`null`, tokens+`"image_count":1`))), 1500, 1, "estimated"},
	} {
		for _, parameters := range []string{`{}`, `{"watermark":false}`, `{"negative_prompt":""}`} {
			h := build(t, tt.says, limited("quotas: {tokens: {day: 100000}, images: {day: 100}}"))
			var headers []string
			if strings.Contains(about, "stream") || strings.Contains(about, "cut") {
				headers = []string{"X-Service-SSE", "enable"}
			}
			h.try(multimodalPath, `{"model":"llm-new","parameters":`+parameters+`,`+input, headers...)
			if c := h.records.await(t, 1)[0].Cost; c.Amounts[limit.Images] != tt.images || c.Flag != tt.flag ||
				c.Amounts[limit.Tokens] != tt.tokens {
				t.Errorf("%s, %s: charged %+v, want %+v", about, parameters, c, tt)
			}
		}
	}
}

// A request that will be refused for its content makes no hold and no call to the accounts.
func TestNothingIsHeldForBrokenRequests(t *testing.T) {
	h, balances := stopped(t, "quotas: {tokens: {day: 100}, images: {day: 10}}")
	for _, tt := range []struct{ path, body string }{
		{textPath, `{"model":"llm-plus","input":{"messages":[{"role":"user","content":"a"}]},"parameters":{"top_p":7}}`},
		{textPath, `{"model":`},
		{imagePath, strings.Replace(imageBody, `"n":1`, `"n":99`, 1) + "x"},
	} {
		if got := h.ask("POST", tt.path, tt.body, "X-Service-Async", map[bool]string{true: "enable"}[tt.path == imagePath]); got.status != 400 {
			t.Errorf("%s: %d %s", tt.body, got.status, got.body)
		}
	}
	if n := balances.asked.Load(); n != 0 {
		t.Errorf("the accounts were called %d times", n)
	}
	if n := h.sim.Count(simulator.EndpointText) + h.sim.Count(simulator.EndpointImage); n != 0 {
		t.Errorf("%d requests reached the service", n)
	}
}

// A body without a model, or with one that is no string, is told so by the rule, also where the team may use only some models, or needs
// a price. If the rule does not refuse it, the missing model does.
func TestAnAbsentModelIsTheRulesToRefuse(t *testing.T) {
	for _, limits := range [][]string{{`models: ["llm-*"]`}, {"quotas: {spend: {day: 1}}"}} {
		h := build(t, limited(limits...))
		for _, model := range []string{"", `"model":7,`, `"model":null,`, `"model":"",`} {
			got := h.ask("POST", textPath, strings.Replace(textBody, `"model":"llm-max",`, model, 1))
			if got.wants(t, 400, "inspect/rules", "InvalidParameter"); !strings.Contains(got.body, "model: given ") {
				t.Errorf("%s: %s", model, got.body)
			}
		}
		h.ask("POST", textPath, strings.Replace(textBody, "llm-max", "other", 1)).wants(t, 403, "inspect/model", "Model.AccessDenied")
	}
}
