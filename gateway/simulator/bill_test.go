package simulator

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// talk is a request to a model with messages "role: text" and members of parameters.
func talk(model, parameters string, messages ...string) string {
	var list []string
	for _, m := range messages {
		role, text, _ := strings.Cut(m, ": ")
		list = append(list, fmt.Sprintf(`{"role":%q,"content":%q}`, role, text))
	}
	return fmt.Sprintf(`{"model":%q,"input":{"messages":[%s]},"parameters":{%s}}`, model, strings.Join(list, ","), parameters)
}

// waves is a text of n tokens.
func waves(n int) string { return strings.TrimSpace(strings.Repeat("wave ", n)) }

// marked is a request whose messages are marked for a cache.
func marked(messages ...string) string {
	body := talk("llm-max", `"max_tokens":2`, messages...)
	return strings.NewReplacer(`"content":"`, `"content":[{"cache_control":{"type":"ephemeral"},"text":"`, `"}`, `"}]}`).Replace(body)
}

// What was sent before, as the request says, hits the service's cache.
func TestHitsOfCaches(t *testing.T) {
	r := newRig(t, Config{})
	for _, tt := range []struct{ name, body, want string }{
		{"a long question alone", talk("llm-max", "", "user: "+waves(500)), `{"cached_tokens":0}`},
		{"a short conversation", talk("llm-max", "", "user: "+waves(100), "assistant: "+waves(147), "user: why"), `{"cached_tokens":0}`},
		{"one of 256 tokens", talk("llm-max", "", "user: "+waves(100), "assistant: "+waves(148), "user: why"), `{"cached_tokens":256}`},
		{"a longer one, in whole blocks", talk("llm-max", "", "user: "+waves(300), "assistant: "+waves(20), "user: why"),
			`{"cached_tokens":320}`},
		{"up to the last answer", talk("llm-max", "", "user: "+waves(300), "assistant: a", "user: "+waves(300), "assistant: b",
			"user: "+waves(300)), `{"cached_tokens":576}`},
		{"a long system message", talk("llm-max", "", "system: "+waves(316), "user: why"), `{"cached_tokens":320}`},
		{"marked", marked("user: " + waves(10)), `{"cached_tokens":0,"cache_creation_input_tokens":10,"cache_type":"ephemeral"}`},
		{"marked before the last answer, too", marked("user: "+waves(10), "assistant: "+waves(5), "user: "+waves(3)),
			`{"cached_tokens":15,"cache_creation_input_tokens":3,"cache_type":"ephemeral"}`},
		{"marked in the system message alone", marked("system: " + waves(300)), `{"cached_tokens":300,"cache_type":"ephemeral"}`},
	} {
		path := textPath
		if strings.Contains(tt.body, "cache_control") {
			path = multimodalPath
		}
		o := r.post(path, tt.body).object(t)
		if diff := cmp.Diff(got{body: tt.want}.object(t), get[object](o, "usage", "prompt_tokens_details")); diff != "" {
			t.Errorf("%s (-want +got):\n%s\n%v", tt.name, diff, o)
		}
	}
}

func TestFormsOfUsage(t *testing.T) {
	r := newRig(t, Config{})
	body := talk("llm-max", `"max_tokens":2`, "system: "+waves(316), "user: why")
	for form, want := range map[string]string{
		"":      `{"total_tokens":327,"input_tokens":325,"output_tokens":2,"prompt_tokens_details":{"cached_tokens":320}}`,
		"flat":  `{"total_tokens":327,"input_tokens":325,"output_tokens":2,"cached_tokens":320}`,
		"input": `{"total_tokens":327,"input_tokens":325,"output_tokens":2,"input_tokens_details":{"text_tokens":325,"cached_tokens":320}}`,
	} {
		o := r.with(Fault{Usage: form}).post(textPath, body).object(t)
		if diff := cmp.Diff(got{body: want}.object(t), get[object](o["usage"])); diff != "" {
			t.Errorf("%q (-want +got):\n%s", form, diff)
		}
	}
}

// billed reads the bill: "model item" → usage in tokens or pictures, and the cost of all.
func (r *rig) billed() (usage map[string]int64, cost string) {
	r.Helper()
	var text bytes.Buffer
	if err := r.Bill(&text); err != nil {
		r.Fatal(err)
	}
	lines, err := csv.NewReader(&text).ReadAll()
	if err != nil {
		r.Fatal(err)
	}
	usage, sum := map[string]int64{}, 0.0
	for _, l := range lines[1:] {
		n, err := strconv.ParseFloat(l[4], 64)
		if l[5] == "1k tokens" {
			n *= 1000
		}
		money, bad := strconv.ParseFloat(l[7], 64)
		if err != nil || bad != nil {
			r.Fatal(l, err, bad)
		}
		usage[l[2]+" "+l[3]] += int64(math.Round(n))
		sum += money
	}
	return usage, strconv.FormatFloat(sum, 'f', 9, 64)
}

// The bill has the work of every endpoint, each kind by itself.
func TestTheBillHasAllWork(t *testing.T) {
	r := newRig(t, Config{TaskRate: -1})
	r.post(textPath, talk("llm-max", `"max_tokens":2,"enable_thinking":true,"thinking_budget":3,"result_format":"message"`,
		"system: "+waves(316), "user: why"))
	r.post(multimodalPath, marked("user: "+waves(10), "assistant: "+waves(5), "user: "+waves(3)))
	r.post(multimodalPath, draw(`"size":"1024*1024"`))
	r.createTask(imagePath, edit(`"n":2,"size":"1280*1280"`))
	r.createTask(olderPath, older(`"n":3`))
	r.post(multimodalPath, tale(`"stream":true,"enable_interleave":true,"max_images":1`), sse...)
	usage, cost := r.billed()
	want := map[string]int64{
		"llm-max cache hit input tokens": 320, "llm-max input tokens": 5 + 12, "llm-max output tokens": 2 + 2,
		"llm-max thinking output tokens": 3, "llm-max explicit cache hit input tokens": 15, "llm-max cache creation input tokens": 3,
		"llm-image-plus images up to 1048576 pixels": 1, "gen2.6-image images up to 4194304 pixels": 3, "gen2.2-t2i images": 3,
	}
	if diff := cmp.Diff(want, usage); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// 320×500 + 17×2500 + 4×10000 + 3×10000 + 15×250 + 3×3125 nano, and pictures of 0.2, 3×0.18 and 3×0.16.
	if cost != "1.220285625" {
		t.Errorf("it costs %s", cost)
	}
	r.Reset()
	if usage, _ := r.billed(); len(usage) != 0 {
		t.Errorf("after a reset: %v", usage)
	}
}

// Whatever happens to the answer, the work that was done is billed, and nothing else.
func TestTheBillIsExactInSpiteOfFaults(t *testing.T) {
	body := talk("llm-max", `"max_tokens":40,"incremental_output":true`, "user: hi")
	count := func(n int) *int { return &n }
	for _, tt := range []struct {
		name   string
		fault  Fault
		header []string
		body   string
		want   map[string]int64
	}{
		{"no usage", Fault{NoUsage: true}, nil, body, map[string]int64{"llm-max input tokens": 5, "llm-max output tokens": 40}},
		{"a dropped answer", Fault{Drop: "close"}, nil, body, map[string]int64{"llm-max input tokens": 5, "llm-max output tokens": 40}},
		{"a stream that breaks off after two frames", Fault{Cut: "close", After: 2}, sse, body,
			map[string]int64{"llm-max input tokens": 5, "llm-max output tokens": 8}},
		{"one that fails after a frame", Fault{Error: &FaultError{Status: 500}, After: 1}, sse, body,
			map[string]int64{"llm-max input tokens": 5, "llm-max output tokens": 4}},
		{"one that fails at once", Fault{Error: &FaultError{Status: 500}}, sse, body, map[string]int64{}},
		{"a refusal", Fault{Error: &FaultError{Status: 429}}, nil, body, map[string]int64{}},
		{"a task that fails", Fault{Task: &FaultTask{Outcome: "fail"}}, async, edit(`"size":"1K"`), map[string]int64{}},
		{"one that succeeds in part", Fault{Task: &FaultTask{Outcome: "partial", Failed: 3}}, async, edit(`"size":"1024*1024"`),
			map[string]int64{"gen2.6-image images up to 1048576 pixels": 1}},
		{"one that counts otherwise", Fault{Task: &FaultTask{ImageCount: count(7)}}, async, edit(`"size":"1024*1024"`),
			map[string]int64{"gen2.6-image images up to 1048576 pixels": 7}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, Config{}).with(tt.fault)
			path := textPath
			if tt.header != nil && tt.header[0] == async[0] {
				path = imagePath
			}
			r.post(path, tt.body, tt.header...)
			usage, _ := r.billed()
			if diff := cmp.Diff(tt.want, usage); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A task is billed at the price of the moment at which it was ordered, in the hour of that moment.
func TestATaskIsBilledWhenItWasOrdered(t *testing.T) {
	r := newRig(t, Config{Pending: time.Hour, Running: time.Hour})
	r.createTask(imagePath, edit(`"n":1`))
	r.advance(time.Hour)
	if usage, _ := r.billed(); len(usage) != 0 {
		t.Errorf("billed %v before its end", usage)
	}
	r.advance(2 * time.Hour)
	var text bytes.Buffer
	if err := r.Bill(&text); err != nil || !strings.Contains(text.String(), "\n2026-03-04 13:00,") || strings.Count(text.String(), "\n") != 2 {
		t.Errorf("%v\n%s", err, text.String())
	}
}
