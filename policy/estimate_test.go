package policy_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/policy"
)

// read reads a valid body by a call's name.
func read(t *testing.T, call, body string) policy.Request {
	t.Helper()
	q, err := policy.Read(&all, calls[call], []byte(body))
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return q
}

// TestEffectiveCounts checks the effective values of absent, null and given counts, and their possible cost.
func TestEffectiveCounts(t *testing.T) {
	for _, tt := range []struct {
		call, body           string
		n, maxImages, images int
	}{
		{"text", textBody("m", ``), 1, 0, 0},
		{"text", textBody("m", `"n":3`), 3, 0, 0},
		{"chat", chatParameters("m", `"n":null`), 1, 0, 0},
		{"task", editBody(``), 4, 0, 4},
		{"task", editBody(`"n":null`), 4, 0, 4},
		{"task", editBody(`"n":2`), 2, 0, 2},
		{"task", editBody(`"n":2,"max_images":5`), 2, 0, 2},
		{"task", editBody(`"n":-3`), 4, 0, 4},
		{"task", editBody(`"n":0`), 4, 0, 4},
		{"task", editBody(`"n":"2"`), 4, 0, 4},
		{"task", editBody(`"n":1.0`), 4, 0, 4},
		{"task", editBody(`"n":99999999999999999999`), 1<<31 - 1, 0, 1<<31 - 1},
		{"task", interleaveBody(``), 1, 5, 5},
		{"task", interleaveBody(`,"max_images":null`), 1, 5, 5},
		{"task", interleaveBody(`,"max_images":2`), 1, 2, 2},
		{"task", interleaveBody(`,"max_images":2,"n":3`), 3, 2, 6},
		{"task", interleaveBody(`,"max_images":99999999999,"n":99999999999`), 1<<31 - 1, 1<<31 - 1, 1<<31 - 1},
		{"stream", interleaveBody(``), 1, 5, 5},
		{"sync", syncBody(``), 1, 0, 1},
		{"sync", syncBody(`"n":null`), 1, 0, 1},
		{"sync", syncBody(`"n":6`), 6, 0, 6},
		{"sync", editBody(``), 4, 0, 4}, // an editing model on the multimodal path makes 4 as well
		{"task", itemsBody("gen2.5-i2i", oneImage, ``), 4, 0, 4},
		{"task", itemsBody("gen2.5-i2i", oneImage, `"n":1,"enable_interleave":true`), 1, 0, 1},
		{"older", `{"model":"gen2.5-t2i","input":{"prompt":"a"}}`, 4, 0, 4},
		{"older", `{"model":"gen2.6-image","input":{"prompt":"a"},"parameters":{"n":7,"enable_interleave":true}}`, 7, 0, 7},
	} {
		q := read(t, tt.call, tt.body)
		if q.N != tt.n || q.MaxImages != tt.maxImages || q.Images != tt.images {
			t.Errorf("%s %s: n %d, max_images %d, images %d; want %d, %d, %d",
				tt.call, tt.body, q.N, q.MaxImages, q.Images, tt.n, tt.maxImages, tt.images)
		}
	}
}

// TestTextLength checks the measure of the input's text: ASCII bytes ÷ 4, rounded up, + other code points, + 16 per
// message.
func TestTextLength(t *testing.T) {
	for _, tt := range []struct {
		name, call, body string
		want             int64
	}{
		{"ASCII", "text", messageBody("m", `{"role":"user","content":"12345678"}`), 2 + 16},
		{"rounded up over all", "text", messageBody("m", `{"role":"user","content":"12345"},{"role":"user","content":"123"}`), 2 + 32},
		{"other code points", "text", messageBody("m", `{"role":"user","content":"猫é😀1234"}`), 3 + 1 + 16},
		{"escapes", "text", messageBody("m", `{"role":"user","content":"\u732b\n\"\ud83d\ude00\u0041\/"}`), 2 + 1 + 16},
		{"items", "chat", messageBody("m", `{"role":"user","content":[{"text":"1234"},{"image":"http://a/bbbbbbbbbb"},{"text":"12345678"}]}`),
			3 + 16},
		{"prompt", "text", `{"model":"m","input":{"prompt":"12345678"}}`, 2},
		{"history", "text", `{"model":"m","input":{"prompt":"1234","history":[{"user":"1234","bot":"猫"}]}}`, 2 + 1},
		{"tool calls and thoughts", "text", messageBody("m",
			`{"role":"assistant","reasoning_content":"1234","tool_calls":[{"id":"xxxx","function":{"name":"xxxx","arguments":"{ 猫}1"}}]}`),
			2 + 1 + 16},
		{"tools as they stand", "text", `{"model":"m","parameters":{"tools":[ {"a":"é猫\n"} ]}}`, 4 + 2},
		{"nothing", "text", `{"model":"m"}`, 0},
	} {
		if got := read(t, tt.call, tt.body).TextLength; got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

// TestGeneration checks the parameters that spans and token holds need.
func TestGeneration(t *testing.T) {
	q := read(t, "text+sse", textBody("llm-max", `"max_tokens":10,"max_completion_tokens":20,"enable_thinking":true,`+
		`"thinking_budget":500,"incremental_output":true,"temperature":0.5,"top_p":1,"top_k":0,"seed":7,`+
		`"presence_penalty":-1.5,"stop":["a","猫",5],"tools":[`+oneTool+`,`+oneTool+`],"size":"1*1"`))
	type picked struct {
		MaxTokens, Budget, TopK, Seed policy.Maybe[int64]
		Temperature, TopP, Presence   policy.Maybe[float64]
		Thinking, Increments, Stream  bool
		Stop                          []string
		Tools, Messages               int
		Size                          string
	}
	got := picked{q.MaxTokens, q.ThinkingBudget, q.TopK, q.Seed, q.Temperature, q.TopP, q.PresencePenalty,
		q.Thinking, q.Increments, q.Stream, q.Stop, q.Tools, q.Messages, q.Size}
	count := func(n int64) policy.Maybe[int64] { return policy.Maybe[int64]{Value: n, Set: true} }
	number := func(n float64) policy.Maybe[float64] { return policy.Maybe[float64]{Value: n, Set: true} }
	want := picked{count(20), count(500), count(0), count(7), number(0.5), number(1), number(-1.5),
		true, true, true, []string{"a", "猫"}, 2, 1, "1*1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if q := read(t, "text", textBody("llm-max", `"stop":"`+strings.Repeat("猫", 99)+`"`)); q.Stop[0] != strings.Repeat("猫", 21) {
		t.Errorf("stop %q is not cut at 64 bytes", q.Stop)
	}
}

// TestLargerMaxTokensCounts takes the larger of the two members, and nothing if neither is a count.
func TestLargerMaxTokensCounts(t *testing.T) {
	for parameters, want := range map[string]policy.Maybe[int64]{
		``:                          {},
		`"max_tokens":null`:         {},
		`"max_tokens":"9"`:          {},
		`"max_tokens":-9`:           {},
		`"max_tokens":9`:            {Value: 9, Set: true},
		`"max_completion_tokens":9`: {Value: 9, Set: true},
		`"max_completion_tokens":9,"max_tokens":8`:   {Value: 9, Set: true},
		`"max_completion_tokens":8,"max_tokens":9`:   {Value: 9, Set: true},
		`"max_completion_tokens":"8","max_tokens":9`: {Value: 9, Set: true},
	} {
		if got := read(t, "text", textBody("m", parameters)).MaxTokens; got != want {
			t.Errorf("%s: %+v, want %+v", parameters, got, want)
		}
	}
}

// TestThinking follows the switch, or without it the family.
func TestThinking(t *testing.T) {
	for _, tt := range []struct {
		model, parameters string
		want              bool
	}{
		{"llm-max", ``, false},
		{"llm-max", `"enable_thinking":true`, true},
		{"llm-think", ``, true},
		{"llm-think", `"enable_thinking":null`, true},
		{"llm-think", `"enable_thinking":false`, false},
	} {
		if got := read(t, "text", textBody(tt.model, tt.parameters)).Thinking; got != tt.want {
			t.Errorf("%s %s: %v", tt.model, tt.parameters, got)
		}
	}
}

// TestPromptLength counts code points over the text items.
func TestPromptLength(t *testing.T) {
	q := read(t, "task", itemsBody("gen2.6-image", `{"text":"猫😀\n\u0041"},{"image":"http://a/b"},{"text":"b"}`, ""))
	if q.PromptLength != 5 || q.InputImages != 1 {
		t.Errorf("length %d, images %d", q.PromptLength, q.InputImages)
	}
}

// TestRequestOutlivesBody overwrites the body before judging it: a request holds no part of it.
func TestRequestOutlivesBody(t *testing.T) {
	body := []byte(itemsBody("gen2.6-image", `{"text":"a"},{"image":"ftp://a/b"}`, `"n":7,"size":"5*5","stop":"x"`))
	q, err := policy.Read(&families, calls["task"], body)
	if err != nil {
		t.Fatal(err)
	}
	before := policy.Judge(nil, nil, &q)
	clear(body)
	if diff := cmp.Diff(before, policy.Judge(nil, nil, &q)); diff != "" || q.Model != "gen2.6-image" || q.Size != "5*5" {
		t.Errorf("model %q, size %q, %s", q.Model, q.Size, diff)
	}
}
