package gateway_test

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/gateway/simulator"
	"sluice/policy/forms"
	"sluice/policy/limit"
)

const (
	frontEmbeddings = "/v1/embeddings"
	embeddingsPath  = "services/embeddings/text-embedding/text-embedding"
	frontTexts      = `{"model":"llm-embedding","input":["A mill by a river","A lock in a canal"],"dimensions":8}`
	nativeTexts     = `{"model":"llm-embedding","input":{"texts":["A mill by a river","A lock in a canal"]},"parameters":{"dimension":8}}`
)

// embedding serves embeddings.
func embedding(p *plan) {
	p.config.EmbeddingsPath, p.config.Embeddings = embeddingsPath, forms.Bounds{Texts: 10, Tokens: 8192}
}

// vectors are what the tests read of a list of embeddings.
type vectors struct {
	Object, Model string
	Data          []struct {
		Object    string
		Index     int
		Embedding json.RawMessage
	}
	Usage struct {
		Prompt int64 `json:"prompt_tokens"`
		Total  int64 `json:"total_tokens"`
	}
}

func (h *harness) embed(t testing.TB, body string, headers ...string) (v vectors, got reading) {
	t.Helper()
	got = h.ask("POST", frontEmbeddings, body, headers...)
	if err := json.Unmarshal([]byte(got.body), &v); err != nil || got.status != 200 || v.Object != "list" || v.Model != "llm-embedding" ||
		got.header.Get("Content-Type") != "application/json" {
		t.Fatalf("%v: %d %v %s", err, got.status, got.header, got.body)
	}
	return v, got
}

// Vectors come as numbers, or packed as OpenAI's library asks for them, and are the same.
func TestFrontEmbeds(t *testing.T) {
	h := fronted(t, embedding)
	floats, _ := h.embed(t, frontTexts)
	packed, _ := h.embed(t, strings.Replace(frontTexts, "{", `{"encoding_format":"base64","user":"u",`, 1))
	for i := range 2 {
		var want []float64
		var text string
		if err := json.Unmarshal(floats.Data[i].Embedding, &want); err != nil || len(want) != 8 || floats.Data[i].Index != i ||
			floats.Data[i].Object != "embedding" {
			t.Fatalf("%v: %+v", err, floats.Data[i])
		}
		if err := json.Unmarshal(packed.Data[i].Embedding, &text); err != nil {
			t.Fatal(err)
		}
		bytes, err := base64.StdEncoding.DecodeString(text)
		if err != nil || len(bytes) != 4*len(want) {
			t.Fatalf("%d bytes: %v", len(bytes), err)
		}
		for j, number := range want {
			if got := math.Float32frombits(binary.LittleEndian.Uint32(bytes[4*j:])); got != float32(number) {
				t.Errorf("number %d of text %d is %v, want %v", j, i, got, number)
			}
		}
	}
	if one, _ := h.embed(t, `{"model":"llm-embedding","input":"A mill by a river"}`); len(one.Data) != 1 {
		t.Errorf("%+v", one)
	}
}

// A request costs what the service counts, at the price of input, by whichever interface; it holds its estimate.
func TestEmbeddingsAreCharged(t *testing.T) {
	h := fronted(t, embedding, func(p *plan) {
		p.teams = "prices:\n  - {model: llm-embedding, input_per_million: 700000, output_per_million: 9000000}\n"
		p.limits = []string{"quotas: {tokens: {day: 1000000}, spend: {day: 1000000}}"}
	})
	list, got := h.embed(t, frontTexts, "Authorization", "Bearer "+h.keys["shop"])
	native := h.ask("POST", "/api/v1/"+embeddingsPath, nativeTexts)
	records := [2]map[string]any{comparable(h.recordOf(t, native)), comparable(h.recordOf(t, got))}
	if diff := cmp.Diff(records[0]["cost"], records[1]["cost"]); diff != "" {
		t.Errorf("the costs differ (-native +front):\n%s", diff)
	}
	record := h.recordOf(t, got)
	if n := record.Cost.Amounts[limit.Tokens]; list.Usage.Total == 0 || n != list.Usage.Total || n != list.Usage.Prompt ||
		record.Cost.Amounts[limit.Spend] == 0 || record.Cost.Flag != "exact" {
		t.Errorf("cost %+v, usage %+v", record.Cost, list.Usage)
	}
	if spent, want := record.Cost.Amounts[limit.Spend], list.Usage.Total*700000; spent%want != 0 && spent*1_000_000%want != 0 {
		t.Errorf("%d tokens cost %d, which is not the price of input", list.Usage.Total, spent)
	}
	if record.Front != "embeddings" || record.Endpoint != "embeddings" || record.Kind != "embeddings" ||
		record.Held.Amounts[limit.Tokens] != 10 {
		t.Errorf("record %+v", record)
	}
	if diff := cmp.Diff(h.rowsOf(t, "search"), h.rowsOf(t, "shop")); diff != "" {
		t.Errorf("the ledgers differ (-native +front):\n%s", diff)
	}
}

// What the service would refuse costs nothing, and the client's own member is named; both ways are governed.
func TestEmbeddingsAreGoverned(t *testing.T) {
	h := fronted(t, embedding, func(p *plan) {
		p.config.Embeddings.Tokens = 20
		p.limits = []string{"models: [llm-embedding]", "quotas: {requests: {day: 1}}"}
	})
	const invalid = "invalid_request_error"
	input := func(value string) string {
		return strings.Replace(frontTexts, `["A mill by a river","A lock in a canal"]`, value, 1)
	}
	for _, tt := range []struct{ body, param string }{
		{input(`[[1,2],[3]]`), "input"}, {input(`[1,2]`), "input"}, {input(`7`), "input"}, {input(`[]`), "input"},
		{input(`["a"` + strings.Repeat(`,"b"`, 10) + `]`), "input"}, {input(`["a","` + strings.Repeat("long ", 17) + `"]`), "input[1]"},
		{strings.Replace(frontTexts, "{", `{"encoding_format":"hex",`, 1), "encoding_format"},
		{strings.Replace(frontTexts, "{", `{"dimension":3,`, 1), "dimension"},
	} {
		h.ask("POST", frontEmbeddings, tt.body).wantsOpenAI(t, 400, invalid, "InvalidParameter", tt.param)
	}
	h.ask("POST", frontEmbeddings, strings.Replace(frontTexts, "llm-", "other-", 1)).
		wantsOpenAI(t, 404, "not_found_error", "model_not_found", "model")
	h.ask("POST", "/api/v1/"+embeddingsPath, strings.Replace(nativeTexts, "llm-", "other-", 1)).
		wants(t, 403, "inspect/model", "Model.AccessDenied")
	h.ask("POST", "/api/v1/"+embeddingsPath, strings.Replace(nativeTexts, "{", `{"model":"llm-embedding",`, 1)).
		wants(t, 400, "inspect/body", "InvalidParameter")
	h.ask("POST", "/api/v1/"+embeddingsPath, `{"model":"llm-embedding","input":{"texts":["a",7]}}`).
		wants(t, 400, "inspect/rules", "InvalidParameter")
	if n := h.sim.Count(simulator.EndpointEmbeddings); n != 0 {
		t.Fatalf("%d requests reached the service", n)
	}
	h.embed(t, frontTexts)
	h.ask("POST", "/api/v1/"+embeddingsPath, nativeTexts).wants(t, 429, "admit/quota", "Throttling.AllocationQuota")

	h = fronted(t, embedding, func(p *plan) { p.limits = []string{"endpoints: [text]"} })
	h.ask("POST", frontEmbeddings, frontTexts).wantsOpenAI(t, 403, "permission_error", "AccessDenied", "")
	fronted(t).ask("POST", frontEmbeddings, frontTexts).wantsOpenAI(t, 404, "not_found_error", "NotFound", "")
}

// What the service refuses, or answers in an unknown form, is an error in OpenAI's form.
func TestEmbeddingsFail(t *testing.T) {
	h := fronted(t, embedding, answering(429, `{"code":"Throttling","message":"slow down"}`))
	h.ask("POST", frontEmbeddings, frontTexts).wantsOpenAI(t, 429, "rate_limit_error", "Throttling", "")
	h = fronted(t, embedding, answering(200, `{"output":{"choices":[]},"usage":{"total_tokens":7}}`))
	h.ask("POST", frontEmbeddings, frontTexts).wantsOpenAI(t, 502, "server_error", "InternalError", "")
	h = fronted(t, embedding, answering(200, `{"output":{"embeddings":[]}}`))
	got := h.ask("POST", frontEmbeddings, frontTexts)
	if record := h.recordOf(t, got); record.Cost.Flag != "estimated" || record.Cost.Amounts[limit.Tokens] != 10 {
		t.Errorf("without a usage it costs %+v", record.Cost)
	}
}
