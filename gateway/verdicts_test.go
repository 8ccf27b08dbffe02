package gateway_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The gateway and the simulator read interface.md each for itself. Over generated requests they have to agree: what the
// gateway refuses, the service would refuse, and what it lets through, the service takes. What is refused never reaches
// the service, and what is let through arrives byte for byte.

// generated is a request made of parts that each may be right or wrong.
type generated struct {
	path, body string
	headers    []string
}

func draws[T any](t *rapid.T, name string, from ...T) T { return rapid.SampledFrom(from).Draw(t, name) }

// maybe leaves a member out, or adds it with one of the values: more often the first, which is right, so that requests
// with several members pass too.
func maybe(t *rapid.T, to *[]string, name string, values ...string) {
	switch rapid.IntRange(0, 9).Draw(t, name+"?") {
	case 0, 1:
		*to = append(*to, fmt.Sprintf(`%q: %s`, name, values[0]))
	case 2:
		*to = append(*to, fmt.Sprintf(`%q: %s`, name, draws(t, name, values...)))
	}
}

func object(members []string) string { return "{" + strings.Join(members, ", ") + "}" }

func textRequest(t *rapid.T) generated {
	role := draws(t, "role", "user", "user", "user", "user", "system", "assistant", "owner")
	content := draws(t, "content", `"Say json."`, `"水 \ud83c\udf0a json"`, `"json\n"`, `7`)
	var p []string
	maybe(t, &p, "result_format", `"message"`, `"text"`, `"html"`)
	maybe(t, &p, "temperature", "0", "1.99", "2", "-0.1", `"1"`)
	maybe(t, &p, "top_p", "0.5", "0", "0.001", "1", "1.0", "1.1")
	maybe(t, &p, "top_k", "0", "100", "101", "-1")
	maybe(t, &p, "presence_penalty", "-2", "2.0", "2.1", "-2.5")
	maybe(t, &p, "repetition_penalty", "1.05", "1", "0", "-1", "0.1")
	maybe(t, &p, "seed", "0", "2147483647", "2147483648", "-1")
	maybe(t, &p, "n", "1", "4", "5", "0")
	maybe(t, &p, "max_tokens", "1", "8", "0", "-1")
	maybe(t, &p, "logprobs", "true", "false", `"yes"`)
	maybe(t, &p, "top_logprobs", "0", "5", "6", "-1")
	maybe(t, &p, "stop", `"a"`, `["a", "b"]`, `[1, 2]`, `["a", 1]`)
	maybe(t, &p, "search_options", `{"n": 9}`)
	members := []string{`"model": "llm-max"`, fmt.Sprintf(`"input": {"messages": [{"role": %q, "content": %s}]}`, role, content), `"parameters": ` + object(p)}
	return generated{path: textPath, body: shuffle(t, members)}
}

func taskRequest(t *rapid.T) generated {
	items := []string{}
	for range draws(t, "texts", 1, 1, 1, 1, 1, 1, 1, 0, 2) {
		items = append(items, `{"text": "A mill"}`)
	}
	for range draws(t, "images", 1, 1, 1, 2, 4, 4, 5, 0) {
		items = append(items, `{"image": "https://example.com/a.png"}`)
	}
	message := fmt.Sprintf(`{"role": %q, "content": [%s]}`, draws(t, "role", "user", "user", "user", "system"), strings.Join(items, ", "))
	messages := strings.Repeat(message+", ", draws(t, "messages", 0, 0, 0, 0, 0, 1)) + message
	var p []string
	maybe(t, &p, "n", "1", "4", "5", "0", "null")
	maybe(t, &p, "size", `"1K"`, `"2K"`, `"768*768"`, `"767*768"`, `"2048*2048"`, `"2064*2048"`, `"1024*4096"`, `"720*2896"`, `"1280x1280"`, `"2k"`, `"1344*576"`)
	maybe(t, &p, "seed", "0", "2147483647", "2147483648", "-1")
	maybe(t, &p, "watermark", "true", "1")
	maybe(t, &p, "prompt_extend", "false", `"no"`)
	maybe(t, &p, "negative_prompt", `"dark"`, `""`, "7")
	var headers []string
	if draws(t, "async", true, true, true, true, true, false) {
		headers = append(headers, "X-Service-Async", draws(t, "async value", "enable", "enable", "Enable", "disable"))
	}
	members := []string{`"model": "gen2.6-image"`, `"input": {"messages": [` + messages + `]}`, `"parameters": ` + object(p)}
	return generated{path: imagePath, body: shuffle(t, members), headers: headers}
}

// shuffle puts the members in any order with any white space.
func shuffle(t *rapid.T, members []string) string {
	gap := draws(t, "gap", "", " ", "\n\t")
	return "{" + gap + strings.Join(rapid.Permutation(members).Draw(t, "order"), gap+","+gap) + gap + "}" + gap
}

func TestGatewayAndServiceAgree(t *testing.T) {
	h := build(t)
	refused, passed := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		for range 30 { // rapid checks a hundred times
			r := rapid.OneOf(rapid.Custom(textRequest), rapid.Custom(taskRequest)).Draw(rt, "request")
			if h.agrees(rt, r) {
				passed++
			} else {
				refused++
			}
		}
	})
	t.Logf("%d refused, %d passed", refused, passed)
	if refused == 0 || passed == 0 {
		t.Error("one side never happened")
	}
}

// agrees sends one request and reports whether it passed.
func (h *house) agrees(t *rapid.T, r generated) bool {
	h.sim.Reset()
	got := h.ask("POST", r.path, r.body, r.headers...)
	arrived := h.sim.Requests()
	if row := got.header.Get("Sluice-Refusal"); row != "" {
		if row != "inspect/rules" || len(arrived) != 0 {
			t.Fatalf("%s: refused by %s, %d arrived", r.body, row, len(arrived))
		}
		if direct := h.direct(r); direct.status < 400 {
			t.Fatalf("the gateway refuses what the service takes: %s %v %s: %s", r.path, r.headers, r.body, got.body)
		}
		return false
	}
	if len(arrived) != 1 || arrived[0].BodySHA256 != hexSHA(r.body) {
		t.Fatalf("%s did not arrive as it was", r.body)
	}
	if got.status >= 400 {
		t.Fatalf("the service refuses what the gateway lets through: %s %v %s: %s", r.path, r.headers, r.body, got.body)
	}
	return true
}

// direct asks the service itself.
func (h *house) direct(r generated) reading {
	h.Helper()
	request, err := http.NewRequest("POST", "http://"+h.upstreamHost+r.path, strings.NewReader(r.body))
	if err != nil {
		h.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+upstreamKey)
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(r.headers); i += 2 {
		request.Header.Set(r.headers[i], r.headers[i+1])
	}
	return h.send(request)
}
