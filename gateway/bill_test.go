package gateway_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/policy/limit"
	"sluice/policy/price"
)

// bills are accounts that note what they charge.
type bills struct {
	*limit.Memory
	admitting func() // before a request is admitted; nil: nothing
	mu        sync.Mutex
	charged   []limit.Charge
}

func (b *bills) note(c *limit.Charge) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.charged = append(b.charged, *c)
}

// Admit calls the test before.
func (b *bills) Admit(ctx context.Context, h *limit.Hold) (limit.Verdict, error) {
	if b.admitting != nil {
		b.admitting()
	}
	return b.Memory.Admit(ctx, h)
}

// Settle notes the charge.
func (b *bills) Settle(ctx context.Context, c *limit.Charge) (bool, error) {
	b.note(c)
	return b.Memory.Settle(ctx, c)
}

// SettleLater notes the charge.
func (b *bills) SettleLater(c *limit.Charge) {
	b.note(c)
	b.Memory.SettleLater(c)
}

// written lists the lines of every bill, and fails the test if one does not add up to its charge.
func (b *bills) written(t *testing.T) string {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []string
	for _, c := range b.charged {
		var lines []string
		if c.Bill == nil {
			c.Bill = new(price.Bill)
		}
		for l := range c.Bill.Lines() {
			kind := l.Kind.String()
			if l.Size != "" {
				kind += " " + l.Size
			}
			lines = append(lines, fmt.Sprintf("%s %d: %d", kind, l.Quantity, l.Amount))
		}
		all = append(all, strings.Join(lines, ", "))
		if c.Bill.Total() != c.Amounts[limit.Spend] && len(lines) > 0 {
			t.Errorf("%v is charged for %s", c.Amounts, lines)
		}
	}
	return strings.Join(all, "; ")
}

// billing notes the charges of a gateway with a price list.
func billing(prices string) (*bills, func(*plan)) {
	b := new(bills)
	return b, func(p *plan) {
		b.Memory = limit.NewMemory(func() time.Time { return p.now() })
		p.balances, p.teams = b, "prices:\n"+prices
	}
}

const kindPrices = `
  - model: "llm-image*"
    image: 0.5
    images: [{up_to_pixels: 1048576, image: 0.25}, {size: 2K, image: 0.75}, {size: 1280*1280, image: 0.6}]
  - model: "gen2.6-image*"
    images: [{up_to_pixels: 1048576, image: 0.14}, {up_to_pixels: 4194304, image: 0.3}]
  - model: "llm-*"
    input_per_million: 1000
    output_per_million: 2000
    thinking_per_million: 4000
    cached_per_million: 200
    explicit_cached_per_million: 100
    cache_creation_per_million: 1250
    image_input_per_million: 1500
    above: [{input: 32000, input_per_million: 3000, cached_per_million: 600}]
`

// What the usage of an answer says is charged by its kind, in each of its forms, by both interfaces, whole and as a stream.
func TestAnswersAreBilledByKind(t *testing.T) {
	for _, tt := range []struct{ about, usage, want string }{
		{"flat", `{"input_tokens":100,"output_tokens":10,"cached_tokens":60}`, "input 40: 40000000, cached 60: 12000000, output 10: 20000000"},
		{"nested", `{"input_tokens":100,"output_tokens":10,"prompt_tokens_details":{"cached_tokens":60}}`,
			"input 40: 40000000, cached 60: 12000000, output 10: 20000000"},
		{"newer", `{"input_tokens":100,"output_tokens":10,"input_tokens_details":{"cached_tokens":60,"text_tokens":40}}`,
			"input 40: 40000000, cached 60: 12000000, output 10: 20000000"},
		{"a made cache", `{"input_tokens":100,"output_tokens":0,"prompt_tokens_details":{"cached_tokens":60,"cache_creation_input_tokens":20,` +
			`"cache_type":"ephemeral"}}`,
			"input 20: 20000000, explicit_cached 60: 6000000, cache_creation 20: 25000000"},
		{"pictures in the input", `{"input_tokens":100,"output_tokens":1,"image_tokens":80,"video_tokens":null}`,
			"input 20: 20000000, image_input 80: 120000000, output 1: 2000000"},
		{"thinking", `{"input_tokens":1,"output_tokens":10,"output_tokens_details":{"reasoning_tokens":7}}`,
			"input 1: 1000000, output 3: 6000000, thinking 7: 28000000"},
		{"at the border", `{"input_tokens":32000,"output_tokens":0}`, "input 32000: 32000000000"},
		{"above it", `{"input_tokens":32001,"output_tokens":1,"cached_tokens":32000}`,
			"input 1: 3000000, cached 32000: 19200000000, output 1: 2000000"},
		{"a total alone", `{"total_tokens":10}`, "output 10: 20000000"},
	} {
		t.Run(tt.about, func(t *testing.T) {
			answer := `{"output":{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"Hi"}}]},"usage":` + tt.usage +
				`,"request_id":"r"}`
			earlier := strings.Replace(answer, tt.usage, `{"output_tokens":0}`, 1)
			for form, of := range map[string]struct {
				says       func(*plan)
				path, body string
				headers    []string
			}{
				"whole": {says(200, "application/json", answer, nil), textPath, textBody, nil},
				"stream": {says(200, streamType, events(earlier, answer, earlier), nil), textPath, textBody,
					[]string{"X-Service-SSE", "enable"}}, "OpenAI's": {says(200, "application/json", answer, nil), frontChats, frontChat, nil},
				"OpenAI stream": {says(200, streamType, events(earlier, answer), nil), frontChats,
					strings.Replace(frontChat, "{", `{"stream":true,`, 1), nil},
			} {
				noted, billed := billing(kindPrices)
				h := fronted(t, of.says, billed)
				if got := h.ask("POST", of.path, of.body, of.headers...); got.status != 200 {
					t.Fatalf("%s: %d %s", form, got.status, got.body)
				}
				h.records.await(t, 1)
				if got := noted.written(t); got != tt.want {
					t.Errorf("%s: %s\nwant %s", form, got, tt.want)
				}
			}
		})
	}
}

// The simulator's thinking answers are charged by what their usage says, above a border that their input passes.
func TestTheSimulatorsTokensAreBilled(t *testing.T) {
	noted, billed := billing(`
  - model: "*"
    input_per_million: 1000
    output_per_million: 2000
    thinking_per_million: 4000
    above: [{input: 20, input_per_million: 3000}]
`)
	h := build(t, billed)
	words := strings.Repeat("many words ", 30)
	h.ask("POST", textPath, strings.NewReplacer("Say something", words, `"result_format"`, `"enable_thinking":true,"result_format"`).
		Replace(textBody), "X-Service-SSE", "enable")
	usage := h.records.await(t, 1)[0].Usage
	numbers := map[string]int64{}
	for name, n := range usage.All() {
		numbers[name] = int64(n)
	}
	in, out, thought := numbers["input_tokens"], numbers["output_tokens"], numbers["reasoning_tokens"]
	want := fmt.Sprintf("input %d: %d, output %d: %d, thinking %d: %d", in, in*3_000_000, out-thought, (out-thought)*2_000_000, thought,
		thought*4_000_000)
	if got := noted.written(t); got != want || in <= 20 || thought == 0 || out == thought {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// A picture costs by the size that the answer says in either form, by that of the request if it says none, else the dearest.
func TestPicturesAreBilledBySize(t *testing.T) {
	made := func(usage string) func(*plan) {
		return says(200, "application/json", `{"output":{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":[`+picture+
			`]}}]},"usage":`+usage+`,"request_id":"r"}`, nil)
	}
	asks := func(size string) string { return strings.Replace(syncBody, "640*480", size, 1) }
	for _, tt := range []struct {
		about, body string
		says        func(*plan)
		want        string
	}{
		{"width and height", asks("2048*2048"), made(`{"image_count":1,"width":1024,"height":1024}`), "image 1048576 1: 250000000"},
		{"size in text", asks("2048*2048"), made(`{"image_count":1,"size":"1024*1024"}`), "image 1048576 1: 250000000"},
		{"larger than any", asks("640*480"), made(`{"image_count":1,"size":"1024*1025"}`), "image 1: 500000000"},
		{"width and height by their word", asks("640*480"), made(`{"image_count":1,"width":1280,"height":1280}`), "image 1280*1280 1: 600000000"},
		{"the request's", asks("640*480"), made(`{"image_count":1}`), "image 1048576 1: 250000000"},
		{"nobody says it", strings.Replace(syncBody, `"size":"640*480"`, `"seed":1`, 1), made(`{"image_count":1}`), "image 2K 1: 750000000"},
		{"the simulator's", asks("640*480"), func(*plan) {}, "image 1048576 1: 250000000"},
	} {
		t.Run(tt.about, func(t *testing.T) {
			noted, billed := billing(kindPrices)
			h := build(t, tt.says, billed)
			if got := h.ask("POST", multimodalPath, tt.body); got.status != 200 {
				t.Fatalf("%d %s", got.status, got.body)
			}
			h.records.await(t, 1)
			if got := noted.written(t); got != tt.want {
				t.Errorf("%s\nwant %s", got, tt.want)
			}
		})
	}
}

// A task costs by the whole price of the day on which it was made, also if another begins at midnight UTC while it runs.
func TestATaskCostsThePriceOfItsDay(t *testing.T) {
	clock := &handClock{at: time.Now().UTC().Truncate(24 * time.Hour).Add(48*time.Hour - 5*time.Second)}
	tomorrow := clock.now().Add(time.Minute).Format(time.DateOnly)
	noted, billed := billing(`
  - {model: "gen*", from: ` + tomorrow + `, image: 9, images: [{up_to_pixels: 9000000, image: 8}]}
  - {model: "gen*", image: 0.2, images: [{up_to_pixels: 9000000, image: 0.14}]}
`)
	h, _ := tasked(t, billed, func(p *plan) { p.now, p.sim.Now = clock.now, clock.now })
	before := h.create(t)
	clock.move(10 * time.Second)
	after := h.create(t)
	clock.move(time.Minute)
	for _, id := range []string{before, after} {
		if got := h.poll(id); !strings.Contains(got.body, "SUCCEEDED") {
			t.Fatalf("%d %s", got.status, got.body)
		}
	}
	if got, want := noted.written(t), "image 9000000 1: 140000000; image 9000000 1: 8000000000"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// A request that arrives before midnight UTC and is admitted after it costs the new day's price.
func TestTheDayIsThatOfTheAdmission(t *testing.T) {
	clock := &handClock{at: time.Now().UTC().Truncate(24 * time.Hour).Add(48*time.Hour - 5*time.Second)}
	noted, billed := billing(`
  - {model: "*", from: ` + clock.now().Add(time.Minute).Format(time.DateOnly) + `, output_per_million: 9}
  - {model: "*", output_per_million: 1}
`)
	noted.admitting = func() { clock.move(10 * time.Second) }
	h := build(t, says(200, "application/json", `{"output":{"text":"Hi","finish_reason":"stop"},"usage":{"output_tokens":1000000},`+
		`"request_id":"r"}`, nil), billed, func(p *plan) { p.now = clock.now })
	h.ask("POST", textPath, textBody)
	h.records.await(t, 1)
	if got, want := noted.written(t), "output 1000000: 9000000000"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// A usage that says more of a kind than of the whole is cut to the whole, and logged once for its model.
func TestAContradictionIsLoggedOnce(t *testing.T) {
	noted, billed := billing(kindPrices)
	h := build(t, says(200, "application/json", `{"output":{"text":"Hi","finish_reason":"stop"},"usage":{"input_tokens":10,`+
		`"output_tokens":0,"cached_tokens":11},"request_id":"r"}`, nil), billed)
	for range 3 {
		h.ask("POST", textPath, textBody)
	}
	h.ask("POST", textPath, strings.Replace(textBody, "llm-max", "llm-plus", 1))
	h.records.await(t, 4)
	if got, want := noted.written(t), strings.TrimSuffix(strings.Repeat("cached 10: 2000000; ", 4), "; "); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	for _, model := range []string{"llm-max", "llm-plus"} {
		if n := strings.Count(h.log.String(), `"model":"`+model+`"`); n != 1 {
			t.Errorf("%s is logged %d times:\n%s", model, n, h.log.String())
		}
	}
}

// So is that of a task, at its end.
func TestAContradictionOfATaskIsLoggedOnce(t *testing.T) {
	made := 0
	h := build(t, governed, func(p *plan) {
		p.teams, p.config.PollInterval = chargedPrices, time.Millisecond
		p.upstream = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if r.Method == http.MethodGet {
				_, _ = io.WriteString(w, `{"output":{"task_id":"`+path.Base(r.URL.Path)+
					`","task_status":"SUCCEEDED"},"usage":{"input_tokens":10,"cached_tokens":11}}`)
				return
			}
			made++
			_, _ = fmt.Fprintf(w, `{"output":{"task_id":"t-%d","task_status":"PENDING"},"request_id":"r"}`, made)
		})
	})
	for _, id := range []string{"t-1", "t-2"} {
		h.ask("POST", "/api/v1/services/video/now", `{"model":"llm-max","input":{"prompt":"river"}}`, async...)
		for got := h.poll(id); !strings.Contains(got.body, "SUCCEEDED"); got = h.poll(id) {
		}
	}
	h.rowsOf(t, "search")
	if n := strings.Count(h.log.String(), "was cut to the whole"); n != 1 {
		t.Errorf("logged %d times:\n%s", n, h.log.String())
	}
}

// A text that is cut is charged by an estimate, as input and output; one that is cut down to what was held has no kinds.
func TestEstimatesAreBilled(t *testing.T) {
	cut := cuts(200, streamType, events(`{"output":{"text":"forty letters, which are ten tokens or so","finish_reason":"null"},`+
		`"usage":{"input_tokens":7,"output_tokens":2}}`))
	for _, tt := range []struct{ about, limits, want string }{
		{"the input is known", "", "input 7: 7000000, output 10: 20000000"},
		{"no more than was held", "quotas: {tokens: {day: 20}}", ""},
	} {
		noted, billed := billing(kindPrices)
		h := build(t, cut, billed, limited(tt.limits))
		h.try(textPath, textBody, "X-Service-SSE", "enable")
		h.records.await(t, 1)
		if got := noted.written(t); got != tt.want {
			t.Errorf("%s: %s\nwant %s", tt.about, got, tt.want)
		}
	}
}

// A model without a price costs nothing and is counted, but a team with a quota of spend may not use it; so is a model whose price's day
// has not come.
func TestModelsWithoutAPrice(t *testing.T) {
	texts := "  - {model: \"*\", input_per_million: 0.3, output_per_million: 0.6}\n"
	for about, tt := range map[string]struct {
		prices, limits string
		status         int
		counted        map[string]float64
	}{
		"none of tokens":                     {"  - {model: \"*\", image: 1}\n", "", 200, map[string]float64{`model="other"`: 1}},
		"none of tokens, a team that spends": {"  - {model: \"*\", image: 1}\n", "quotas: {spend: {day: 1}}", 403, map[string]float64{}},
		"one of 0": {"  - {model: \"*\", image: 1, input_per_million: 0}\n", "quotas: {spend: {day: 1}}", 200,
			map[string]float64{}}, "of tokens alone": {texts, "quotas: {spend: {day: 1}}", 200, map[string]float64{}},
		"none": {"  - {model: \"gen*\", image: 1}\n", "", 200, map[string]float64{`model="other"`: 1}},
		"its day has not come": {"  - {model: \"llm-*\", from: 9999-12-31, input_per_million: 1}\n", "", 200,
			map[string]float64{`model="llm-*"`: 1}},
		"not by a team that spends": {"  - {model: \"llm-*\", from: 9999-12-31, input_per_million: 1}\n", "quotas: {spend: {day: 1}}", 403,
			map[string]float64{}}, "no model has one": {"  []\n", "", 200, map[string]float64{}},
	} {
		noted, billed := billing(tt.prices)
		h := build(t, billed, limited(tt.limits))
		if got := h.ask("POST", textPath, textBody); got.status != tt.status {
			t.Errorf("%s: %d %s", about, got.status, got.body)
		}
		h.records.await(t, 1)
		h.counts(t, "sluice_requests_unpriced_total", tt.counted)
		for _, c := range noted.charged {
			if tt.prices != texts && c.Amounts[limit.Spend] != 0 || c.Bill == nil || c.Bill[price.Input].Quantity == 0 {
				t.Errorf("%s: charged %+v", about, c.Amounts)
			}
		}
	}
}

// A price of text does not price images: they would cost nothing, without bound. A written 0 is a price. What a task made, and so whether
// that has a price, is known at its end.
func TestImagesWithoutAPrice(t *testing.T) {
	for about, tt := range map[string]struct {
		price, limits string
		status        int
		counted       map[string]float64
	}{
		"of a team":             {"input_per_million: 1, output_per_million: 1", "", 200, map[string]float64{`model="other"`: 1}},
		"of a team that spends": {"input_per_million: 1, output_per_million: 1", "quotas: {spend: {day: 1}}", 403, map[string]float64{}},
		"a price of 0": {"input_per_million: 1, output_per_million: 1, image: 0", "quotas: {spend: {day: 1}}", 200,
			map[string]float64{}},
		"a price of a size": {"images: [{size: 1K, image: 0.5}]", "quotas: {spend: {day: 4}}", 200, map[string]float64{}},
	} {
		h, clock := tasked(t, limited(tt.limits), func(p *plan) { p.teams += "prices: [{model: \"*\", " + tt.price + "}]\n" })
		got := h.ask("POST", imagePath, imageBody, async...)
		if got.status != tt.status || tt.status == 403 && !strings.Contains(got.body,
			"has a spend quota, and the teams file has no price of images for the model") {
			t.Errorf("%s: %d %s", about, got.status, got.body)
		}
		h.records.await(t, 1)
		for range 2 {
			clock.move(time.Minute)
			h.gateway.Finish(t.Context())
		}
		h.counts(t, "sluice_requests_unpriced_total", tt.counted)
	}
}
