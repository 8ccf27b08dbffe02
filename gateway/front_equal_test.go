package gateway_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"pgregory.net/rapid"

	"sluice/gateway/simulator"
	"sluice/policy/limit"
	"sluice/telemetry"
)

// both is a request that both interfaces can express.
type both struct {
	model    string
	said     []string // of user and assistant in turns
	picture  string   // address in the first message; empty: none
	members  map[string]string
	stream   bool
	painting bool // for pictures
}

// drawBoth draws a request. Some of its values break rules.
func drawBoth(t *rapid.T) both {
	b := both{members: map[string]string{}}
	breaks := rapid.IntRange(0, 9).Draw(t, "breaks") == 0 // more would be refused as too many broken requests
	pick := func(name, broken string, values ...string) {
		if values = append(values, ""); breaks {
			values = append(values, broken)
		}
		if value := rapid.SampledFrom(values).Draw(t, name); value != "" {
			b.members[name] = value
		}
	}
	text := rapid.StringOfN(rapid.RuneFrom([]rune(`abc xyz "\äß水🌊`+"\n")), 1, 60, -1)
	if b.painting = rapid.IntRange(0, 4).Draw(t, "painting") == 0; b.painting {
		b.model, b.said = rapid.SampledFrom([]string{"gen2.5-t2i", "llm-image-2.0"}).Draw(t, "model"), []string{"x" + text.Draw(t, "prompt")}
		b.members["n"] = rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "n")
		pick("seed", "-3", "7")
		pick("watermark", "7", "true", "false")
		return b
	}
	b.model = rapid.SampledFrom([]string{"llm-max", "llm-plus"}).Draw(t, "model")
	for i := range 2*rapid.IntRange(0, 2).Draw(t, "turns") + 1 {
		b.said = append(b.said, "json "+text.Draw(t, fmt.Sprint("said", i)))
	}
	if rapid.IntRange(0, 3).Draw(t, "sees") == 0 {
		b.picture = "https://example.com/a.png"
	}
	b.stream = rapid.Bool().Draw(t, "stream")
	pick("temperature", "-1", "0", "0.7", "1.99")
	pick("top_p", "7", "0.1", "1.0")
	pick("seed", "2147483648", "1", "7")
	pick("max_tokens", "0", "1", "40")
	pick("n", "9", "1", "2")
	pick("presence_penalty", "3", "-2", "0.5")
	pick("stop", `"y"`, `"x"`, `["a","b"]`)
	pick("top_k", "-5", "1", "100")
	pick("enable_search", `"no"`, "true", "false")
	pick("response_format", `{"type":"text"}`, `{"type":"json_object"}`)
	pick("tools", `[{"type":"function"}]`, `[{"type":"function","function":{"name":"look","parameters":{"type":"object"}}}]`)
	return b
}

func quote(text string) string {
	var quoted strings.Builder
	e := json.NewEncoder(&quoted)
	e.SetEscapeHTML(false)
	_ = e.Encode(text)
	return strings.TrimSuffix(quoted.String(), "\n")
}

func (b both) written() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(b.members)) {
		parts = append(parts, quote(name)+":"+b.members[name])
	}
	return strings.Join(parts, ",")
}

// native is the request of the service's interface.
func (b both) native() (path, body string, header []string) {
	path, parameters := textPath, b.written()
	if !b.painting {
		parameters = strings.TrimPrefix(parameters+`,"result_format":"message"`, ",")
	}
	if b.stream {
		parameters += `,"incremental_output":true`
		header = []string{"X-Service-SSE", "enable"}
	}
	switch {
	case b.model == "gen2.5-t2i":
		path, header = imagePath, async
	case b.painting || b.picture != "":
		path = multimodalPath
	}
	var messages []string
	for i, text := range b.said {
		content := quote(text)
		if path != textPath {
			content = `{"text":` + content + `}`
			if i == 0 && b.picture != "" {
				content += `,{"image":` + quote(b.picture) + `}`
			}
			content = "[" + content + "]"
		}
		messages = append(messages, `{"role":"`+[]string{"user", "assistant"}[i%2]+`","content":`+content+`}`)
	}
	return path, fmt.Sprintf(`{"model":%q,"input":{"messages":[%s]},"parameters":{%s}}`, b.model, strings.Join(messages, ","), parameters),
		header
}

// front is the same request of OpenAI's.
func (b both) front() (path, body string) {
	members := b.written()
	if b.painting {
		return frontImages, strings.TrimSuffix(fmt.Sprintf(`{"model":%q,"prompt":%s,%s`, b.model, quote(b.said[0]), members), ",") + "}"
	}
	if b.stream {
		members += `,"stream":true,"stream_options":{"include_usage":true}`
	}
	var messages []string
	for i, text := range b.said {
		content := quote(text)
		if i == 0 && b.picture != "" {
			content = `[{"type":"text","text":` + content + `},{"type":"image_url","image_url":{"url":` + quote(b.picture) + `}}]`
		}
		messages = append(messages, `{"role":"`+[]string{"user", "assistant"}[i%2]+`","content":`+content+`}`)
	}
	return frontChats, strings.TrimSuffix(fmt.Sprintf(`{"model":%q,"messages":[%s],%s`, b.model, strings.Join(messages, ","),
		strings.TrimPrefix(members, ",")), ",") + "}"
}

// TestFrontsAreEqual sends a thousand requests by both interfaces, each for a team of its own: their entries in the log, the
// spans, the rules and the ledger are equal.
func TestFrontsAreEqual(t *testing.T) {
	h := painting(t, func(p *plan) {
		p.sim.Pending, p.sim.Running, p.sim.MaxOutput = 0, 0, 60
		p.config.PollInterval = time.Millisecond
	})
	requests := 1000
	if testing.Short() {
		requests = 100
	}
	wishes, kinds := rapid.Custom(drawBoth), map[string]int{}
	var pairs [][2]telemetry.Record
	for i := range requests {
		wish := wishes.Example(i)
		path, body, header := wish.native()
		native := h.ask("POST", path, body, header...)
		frontPath, frontBody := wish.front()
		front := h.ask("POST", frontPath, frontBody, "Authorization", "Bearer "+h.keys["shop"])
		pair := [2]telemetry.Record{h.recordOf(t, native), h.recordOf(t, front)}
		if task := pair[0].Task; task != "" {
			h.poll(task, "Prefer", "wait=10")
		}
		if diff := cmp.Diff(comparable(pair[0]), comparable(pair[1])); diff != "" {
			t.Fatalf("the records of\n%s\n%s\ndiffer (-native +front):\n%s", body, frontBody, diff)
		}
		switch early := native.status == 200 && strings.Contains(native.body, fmt.Sprintf(":HTTP_STATUS/%d", front.status)); {
		case front.status >= 400 && early: // an error before a stream's content, which is a plain one there
			kinds["error in a stream"]++
			continue
		case native.status != front.status:
			t.Fatalf("%s\nis answered %d, want %d", frontBody, front.status, native.status)
		case native.status >= 400:
			want := strings.ReplaceAll(native.member(t, "message"), "parameters.", "") // the client has its own names
			if got := front.member(t, "error", "message"); got != want {
				t.Fatalf("%s\nis told %s, want %s", frontBody, got, want)
			}
		}
		for _, name := range []string{"Sluice-Refusal", "Sluice-Warning", "Sluice-Held"} {
			if diff := cmp.Diff(native.header[name], front.header[name]); diff != "" {
				t.Fatalf("%s of %s:\n%s", name, frontBody, diff)
			}
		}
		kinds[fmt.Sprintf("%s %d", pair[0].Kind, native.status)]++
		pairs = append(pairs, pair)
	}
	t.Logf("requests by kind and status: %v", kinds)
	if diff := cmp.Diff(h.rowsOf(t, "search"), h.rowsOf(t, "shop")); diff != "" {
		t.Errorf("the ledgers differ (-native +front):\n%s", diff)
	}
	h.spansNamed(t)
	spans := h.spansByRequest()
	for _, pair := range pairs {
		if diff := cmp.Diff(spans[pair[0].ID], spans[pair[1].ID]); diff != "" || len(spans[pair[0].ID]) == 0 {
			t.Fatalf("the spans of %s differ (-native +front):\n%s", pair[0].Kind, diff)
		}
	}
	if n := h.sim.Count(simulator.EndpointText); n == 0 || n%2 != 0 {
		t.Errorf("%d requests for text reached the service", n)
	}
}

// comparable is what the records of equal requests have in common. The line of a task's creation has the cost only if it learned
// of the end, which a request of OpenAI's interface waits for.
func comparable(r telemetry.Record) map[string]any {
	common := map[string]any{
		"endpoint": r.Endpoint, "kind": r.Kind, "model": r.Model, "refusal": r.Refusal, "held": r.Held,
		"upstream": r.UpstreamStatus, "task": r.Task != "",
	}
	if r.Task == "" {
		common["cost"], common["usage"] = r.Cost, maps.Collect(r.Usage.All())
	}
	return common
}

// rowsOf is what a team used.
func (h *harness) rowsOf(t *testing.T, team string) []limit.Row {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if open := h.balances.OpenTasks(team); open == 0 || time.Now().After(end) {
			break
		}
	}
	rows, err := h.balances.Rows(t.Context(), limit.Query{Teams: []string{team}, Days: days(time.Now().UTC(), 1), Most: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		rows[i].Team = ""
	}
	return rows
}

// spansByRequest are, for each request, its span and those of its exchanges, without what differs between any two requests. Task
// queries are left out: a request of OpenAI's interface makes some while it waits.
func (h *harness) spansByRequest() map[string][]map[string]string {
	requests, all := map[string]string{}, map[string][]map[string]string{} // the request of each server span
	for _, s := range h.spans.spans {
		if s.GetKind() == tracepb.Span_SPAN_KIND_SERVER {
			requests[string(s.GetSpanId())] = attributesOf(s)["sluice.request.id"]
		}
	}
	for _, s := range h.spans.spans {
		id := requests[string(s.GetParentSpanId())]
		if s.GetKind() == tracepb.Span_SPAN_KIND_SERVER {
			id = requests[string(s.GetSpanId())]
		}
		if id != "" && !strings.HasPrefix(s.GetName(), "fetch_response") {
			all[id] = append(all[id], commonAttributes(s))
		}
	}
	return all
}

func commonAttributes(s *tracepb.Span) map[string]string {
	attributes := attributesOf(s)
	for _, name := range []string{
		"sluice.request.id", "sluice.upstream.request.id", "gen_ai.response.id", "sluice.team", "sluice.key", "sluice.task", "http.route",
		"sluice.overhead",
		"gen_ai.response.time_to_first_chunk",
	} {
		delete(attributes, name)
	}
	if attributes["sluice.kind"] == "task" {
		maps.DeleteFunc(attributes, func(name, _ string) bool { return strings.HasPrefix(name, "sluice.cost") })
	}
	attributes["status"] = s.GetStatus().String()
	return attributes
}

func attributesOf(s *tracepb.Span) map[string]string {
	attributes := map[string]string{}
	for _, a := range s.GetAttributes() {
		attributes[a.GetKey()] = a.GetValue().String()
		if text := a.GetValue().GetStringValue(); text != "" {
			attributes[a.GetKey()] = text
		}
	}
	return attributes
}
