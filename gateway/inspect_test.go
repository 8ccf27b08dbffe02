package gateway_test

import (
	"fmt"
	"net/http"
	"testing"
)

// TestMend10ImagesOutsideThePatterns: a model in no pattern that is asked for images is charged images, and no tokens
// where its answer counts images. One that answers with text all the same is charged tokens, which it held: a word about
// images is no way around a quota of tokens.
func TestMend10ImagesOutsideThePatterns(t *testing.T) {
	h := build(t, limited("quotas: {images: {day: 10}, tokens: {day: 20000}}"))
	const input = `"input":{"messages":[{"role":"user","content":[{"text":"A lighthouse"}]}]}}`
	got := h.ask("POST", multimodalPath, `{"model":"gen2.6-t2i","parameters":{"n":6},`+input)
	if got.status != 200 || got.header.Get("Sluice-Held") != "images=6" {
		t.Fatalf("%d %v %s", got.status, got.header, got.body)
	}
	record := h.records.await(t, 1)[0]
	if c := record.Cost; record.Kind != "image" || c.Images != 6 || c.Tokens != 0 || c.Requests != 1 || c.Flag != "exact" {
		t.Errorf("images: kind %s, charged %+v", record.Kind, c)
	}
	chat := `{"model":"llm-new","parameters":{"watermark":false,"max_tokens":3000},` + input
	for n, headers := range [][]string{nil, {"X-Service-SSE", "enable"}} {
		h.ask("POST", multimodalPath, chat, headers...)
		record = h.records.await(t, n+2)[n+1]
		used, known := record.Usage.Tokens()
		if c := record.Cost; !known || c.Tokens != used || c.Images != 0 || c.Flag != "exact" || record.Held.Tokens < 3000 || record.Held.Images != 4 {
			t.Errorf("text: held %+v, used %d, charged %+v", record.Held, used, c)
		}
	}
	h.ask("POST", multimodalPath, `{"model":"gen2.6-t2i","parameters":{"n":5},`+input).wants(t, 429, "admit/quota", "Throttling.AllocationQuota")
}

// TestMend10SpentTokens: a team without tokens left gets no text out of a model by a parameter of images.
func TestMend10SpentTokens(t *testing.T) {
	h := build(t, limited("quotas: {tokens: {day: 40}}"))
	const body = `{"model":"llm-new","parameters":{"watermark":false},"input":{"messages":[{"role":"user","content":[{"text":"Say all of it."}]}]}}`
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

// TestMend10AnswerWithoutUsage: an answer that counts nothing is charged by its text, unless it shows pictures.
func TestMend10AnswerWithoutUsage(t *testing.T) {
	const body = `{"model":"new","parameters":{"size":"1024*1024"},"input":{"messages":[{"role":"user","content":[{"text":"A lighthouse"}]}]}}`
	for item, want := range map[string][2]int64{`{"text":"It stands on a rock."}`: {1, 0}, `{"image":"https://a.example/b.png"}`: {0, 1}} {
		h := build(t, func(p *plan) {
			p.upstream = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = fmt.Fprintf(w, `{"output":{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":[%s]}}]},"request_id":"a"}`, item)
			})
		})
		h.ask("POST", multimodalPath, body)
		if c := h.records.await(t, 1)[0].Cost; min(c.Tokens, 1) != want[0] || c.Images != want[1] {
			t.Errorf("%s: charged %+v", item, c)
		}
	}
}
