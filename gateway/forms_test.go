package gateway_test

import (
	"cmp"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sluice/policy"
	"sluice/policy/limit"
)

// governed opens a path of each form, without endpoints of the team.
func governed(p *plan) {
	p.config.ForwardPaths = pathsOf("uploads", "services/video=native", "compatible/chat=openai", "compatible/responses=responses",
		"compatible/messages=messages")
}

// formed are a request in each form, what the service answers, and what is charged: requests, tokens and images, spend by chargedPrices.
var formed = map[string]struct {
	path, body, answer, media string
	charged                   limit.Amounts
	flag                      string
}{
	"native": {
		"services/video/now", `{"model":"llm-max","input":{"prompt":"river"},"parameters":{}}`,
		`{"output":{"text":"a"},"usage":{"input_tokens":10,"output_tokens":5}}`, "application/json", limit.Amounts{1, 15, 0, 20000}, "exact",
	},
	"native pictures": {
		"services/video/now", `{"model":"llm-max","input":{"prompt":"river"},"parameters":{"size":"1024*1024","n":2}}`,
		`{"output":{},"usage":{"image_count":2}}`, "application/json", limit.Amounts{1, 0, 2, 500_000_000 * 2}, "exact",
	},
	"openai": {
		"compatible/chat", `{"model":"llm-max","messages":[{"role":"user","content":"river"}],"max_tokens":100}`,
		`{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":5}}`, "application/json",
		limit.Amounts{1, 15, 0, 20000}, "exact",
	},
	"a stream of openai without usage is charged as held": {
		"compatible/chat", `{"model":"llm-max","stream":true,"messages":[{"role":"user","content":"riverriver"}],"max_tokens":100}`,
		"data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", streamType,
		limit.Amounts{1, 104, 0, 204000}, "estimated",
	},
	"a stream of openai without usage is charged as seen if that is more": {
		"compatible/chat", `{"model":"llm-max","stream":true,"messages":[{"role":"user","content":"riverriver"}],"max_tokens":10}`,
		"data: {\"choices\":[{\"delta\":{\"content\":\"" + strings.Repeat("long", 50) + "\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
		streamType, limit.Amounts{1, 54, 0, 104000}, "estimated",
	},
	"a stream of openai": {
		"compatible/chat", `{"model":"llm-max","stream":true,"messages":[]}`,
		"data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\ndata: " +
			"{\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":5}}\n\ndata: [DONE]\n\n",
		streamType, limit.Amounts{1, 15, 0, 20000}, "exact",
	},
	"responses": {
		"compatible/responses", `{"model":"llm-max","input":"river","max_output_tokens":100}`,
		`{"status":"completed","output":[],"usage":{"input_tokens":10,"output_tokens":5}}`, "application/json", limit.Amounts{1, 15, 0, 20000},
		"exact",
	},
	"messages": {
		"compatible/messages", `{"model":"llm-max","max_tokens":100,"messages":[{"role":"user","content":"river"}]}`,
		`{"content":[{"type":"text","text":"a"}],"stop_reason":"end_turn","usage":{"input_tokens":6,"cache_read_input_tokens":4,` +
			`"output_tokens":5}}`, "application/json",
		limit.Amounts{1, 15, 0, 20000}, "exact",
	},
}

const chargedPrices = "prices: [{model: \"llm-*\", input_per_million: 1, output_per_million: 2, image: 0.5}]\n"

// Each form is charged by its own usage, and its bytes pass as they are.
func TestForwardedPathsWithAFormAreChargedByTheirUsage(t *testing.T) {
	for name, tt := range formed {
		t.Run(name, func(t *testing.T) {
			var seen atomic.Pointer[string]
			h := build(t, governed, func(p *plan) {
				p.teams = chargedPrices
				p.upstream = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					seen.Store(new(r.URL.Path + " " + string(body)))
					w.Header().Set("Content-Type", tt.media)
					_, _ = io.WriteString(w, tt.answer)
				})
			})
			if got := h.ask("POST", "/api/v1/"+tt.path, tt.body); got.status != 200 || got.body != tt.answer {
				t.Fatalf("%d %s", got.status, got.body)
			}
			if want := "/api/v1/" + tt.path + " " + tt.body; *seen.Load() != want {
				t.Errorf("the service saw %s\nwant %s", *seen.Load(), want)
			}
			record := h.records.await(t, 1)[0]
			if record.Model != "llm-max" || record.Kind != "other" || record.Cost.Flag != tt.flag {
				t.Errorf("record of model %s, kind %s, flag %s", record.Model, record.Kind, record.Cost.Flag)
			}
			rows := h.rowsOf(t, "search")
			if len(rows) != 1 || rows[0].Model != "llm-max" || rows[0].Endpoint != policy.EndpointOther || rows[0].Used != tt.charged {
				t.Errorf("the ledger has %+v, want %v", rows, tt.charged)
			}
		})
	}
}

// No path with a form is a way around a team's models and quotas, and a path without one is closed unless the team names it.
func TestNoForwardedPathEvadesTheTeamsLimits(t *testing.T) {
	for name, tt := range map[string]struct {
		limits  []string
		refusal string // one of these
	}{
		"models": {[]string{`models: ["gen-*"]`}, "inspect/model"},
		"spend":  {[]string{"quotas: {spend: {day: 0}}"}, "admit/quota admit/never"},
		"tokens": {[]string{"quotas: {tokens: {day: 0}, images: {day: 0}}"}, "admit/quota admit/never"},

		"spend of a team with models": {[]string{`models: ["llm-*"]`, "quotas: {spend: {day: 0}}"}, "admit/quota admit/never"},
	} {
		h := build(t, governed, embedding, limited(tt.limits...), func(p *plan) {
			p.teams = chargedPrices
			p.upstream = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Errorf("%s: the service saw a request", name) })
		})
		for form, of := range formed {
			h.ask("POST", "/api/v1/"+of.path, of.body).is(t, name+", "+form, tt.refusal)
		}
		h.ask("POST", "/api/v1/services/video/now", `{"model":"llm-max"}`, "X-Service-Async", "enable").is(t, name+", a task", tt.refusal)
		h.ask("POST", "/api/v1/"+embeddingsPath, nativeTexts).is(t, name+", vectors", tt.refusal)
		h.ask("POST", "/api/v1/uploads", `{"model":"llm-max"}`).is(t, name+", opaque", "authenticate/endpoint")
		if name == "models" {
			h.ask("GET", "/api/v1/services/video/list", "").is(t, "no model", tt.refusal)
		}
	}
}

// A team that names the endpoint of paths without a form asks there for whatever it likes.
func TestAPathWithoutAFormIsOpenToTeamsThatNameIt(t *testing.T) {
	h := build(t, governed, limited("endpoints: [other]", `models: ["llm-*"]`, "quotas: {spend: {day: 0}}"), func(p *plan) {
		p.teams = chargedPrices
		p.upstream = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{}`) })
	})
	if got := h.ask("POST", "/api/v1/uploads", `{"model":"gen-max"}`); got.status != 200 {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func (r reading) is(t *testing.T, what, refusal string) {
	t.Helper()
	if got := r.header.Get("Sluice-Refusal"); got == "" || !strings.Contains(refusal, got) {
		t.Errorf("%s: %d, %s: %s", what, r.status, got, r.body)
	}
}

// Neither the async header nor a size avoids the limits of tokens and money, and a whole answer is charged by its usage whatever was asked
// for.
func TestNoHeaderOrParameterAvoidsTheChargeOfAForm(t *testing.T) {
	sized := map[string]string{"native": strings.Replace(formed["native"].body, `"parameters":{}`, `"parameters":{"size":"x"}`, 1)}
	for name, tt := range formed {
		if tt.charged[limit.Tokens] == 0 {
			continue
		}
		body := cmp.Or(sized[name], tt.body)
		h := build(t, governed, limited("quotas: {spend: {day: 0}}"), func(p *plan) {
			p.teams = chargedPrices
			p.upstream = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Errorf("%s: the service saw a request", name) })
		})
		h.ask("POST", "/api/v1/"+tt.path, body, async...).is(t, name, "admit/quota admit/never")

		h = build(t, governed, func(p *plan) {
			p.teams = chargedPrices
			p.upstream = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tt.media)
				_, _ = io.WriteString(w, tt.answer)
			})
		})
		if got := h.ask("POST", "/api/v1/"+tt.path, body, async...); got.status != 200 {
			t.Fatalf("%s: %d %s", name, got.status, got.body)
		}
		h.records.await(t, 1)
		if rows := h.rowsOf(t, "search"); len(rows) != 1 || rows[0].Used[limit.Tokens] != tt.charged[limit.Tokens] ||
			rows[0].Used[limit.Spend] != tt.charged[limit.Spend] {
			t.Errorf("%s: the ledger has %+v, want %v", name, rows, tt.charged)
		}
	}
}

// A state that the service shows below the same prefix is neither a task nor a charge of one.
func TestLookingAtATaskBelowANativePathChargesItOnce(t *testing.T) {
	h := build(t, governed, limited("quotas: {images: {day: 10}}"), func(p *plan) {
		p.teams, p.config.PollInterval = chargedPrices, time.Millisecond
		p.upstream = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if r.Method == http.MethodGet {
				_, _ = io.WriteString(w, `{"output":{"task_id":"t-1","task_status":"SUCCEEDED","results":[{"url":"https://x/1"}]},`+
					`"usage":{"image_count":1}}`)
				return
			}
			_, _ = io.WriteString(w, `{"output":{"task_id":"t-1","task_status":"PENDING"},"request_id":"r"}`)
		})
	})
	h.ask("POST", "/api/v1/services/video/now", `{"model":"llm-max","input":{"prompt":"river"}}`, async...)
	for range 3 {
		h.ask("GET", "/api/v1/services/video/t-1", "")
	}
	for got := h.poll("t-1"); !strings.Contains(got.body, "SUCCEEDED"); got = h.poll("t-1") {
	}
	h.records.await(t, 4)
	h.rowsOf(t, "search")
	h.stands(t, "images", "1", "0", 0)
}

// A body that two parsers could read differently, or that names no model, reaches no service.
func TestBodiesOfAFormAreReadStrictly(t *testing.T) {
	h := build(t, governed, func(p *plan) {
		p.upstream = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the service saw a request") })
	})
	for _, body := range []string{
		`{"model":"llm-max","model":"gen-max"}`, `{"model":"llm-max","Model":"gen-max"}`, `{"messages":[]}`, `{"model":7}`, `[]`, ``,
		`{"model":"llm-max"} {}`,
		`{"model":"llm-max","x":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, `{"model":"` + strings.Repeat("m", 5000) + `"}`,
	} {
		for _, path := range []string{"services/video/now", "compatible/chat", "compatible/responses", "compatible/messages"} {
			h.ask("POST", "/api/v1/"+path, body).is(t, path+" "+body[:min(len(body), 60)], "inspect/body")
		}
	}
	h.ask("POST", "/api/v1/compatible/chat", `{"model":"llm-max"}`, "Content-Type", "text/plain").is(t, "another type", "inspect/media")
}

// Without a body there is no model: such a request costs a request, as on a path without a form.
func TestRequestsWithoutABodyPassBelowAForm(t *testing.T) {
	h := build(t, governed, func(p *plan) {
		p.teams = chargedPrices
		p.upstream = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `[]`) })
	})
	if got := h.ask("GET", "/api/v1/services/video/list?a=b", ""); got.status != 200 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	h.records.await(t, 1)
	if rows := h.rowsOf(t, "search"); len(rows) != 1 || rows[0].Used != (limit.Amounts{limit.Requests: 1}) {
		t.Errorf("the ledger has %+v", rows)
	}
}

// A task that an answer names is owned, polled and settled like every other, whether the request asked for one or not.
func TestTasksOfANativePathAreSettledByTheirUsage(t *testing.T) {
	for name, headers := range map[string][]string{"asked for": async, "not asked for": nil} {
		t.Run(name, func(t *testing.T) {
			var polls atomic.Int32
			h := build(t, governed, limited("quotas: {images: {day: 10}}"), func(p *plan) {
				p.teams, p.config.PollInterval = chargedPrices, time.Millisecond
				p.upstream = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", "application/json")
					if r.Method == http.MethodGet {
						polls.Add(1)
						_, _ = io.WriteString(w, `{"output":{"task_id":"t-1","task_status":"SUCCEEDED","results":[{"url":"https://x/1"}]},`+
							`"usage":{"image_count":3}}`)
						return
					}
					_, _ = io.WriteString(w, `{"output":{"task_id":"t-1","task_status":"PENDING"},"request_id":"r"}`)
				})
			})
			made := h.ask("POST", "/api/v1/services/video/now", `{"model":"llm-max","input":{"prompt":"river"},"parameters":{"n":3}}`, headers...)
			if id := made.member(t, "output", "task_id"); id != "t-1" {
				t.Fatalf("%d %s %v", made.status, made.body, made.header)
			}
			if other := h.poll("t-1", "Authorization", "Bearer "+h.keys["shop"]); other.status != 404 {
				t.Errorf("another team's poll: %d", other.status)
			}
			for got := h.poll("t-1"); !strings.Contains(got.body, "SUCCEEDED"); got = h.poll("t-1") {
				if got.status != 200 {
					t.Fatalf("%d %s", got.status, got.body)
				}
			}
			rows := h.rowsOf(t, "search")
			want := limit.Amounts{1, 0, 3, 3 * 500_000_000}
			if len(rows) != 1 || rows[0].Used != want {
				t.Errorf("the ledger has %+v, want %v after %s polls", rows, want, strconv.Itoa(int(polls.Load())))
			}
		})
	}
}

// A task of a native path whose end is not seen, or does not count what was made, costs all that was held: tokens and pictures, and their
// money. Its kinds are unknown.
func TestATaskOfANativePathIsChargedAllThatWasHeld(t *testing.T) {
	for name, end := range map[string]string{"no end is seen": "",
		"the end counts nothing": `{"output":{"task_id":"t-1","task_status":"SUCCEEDED"}}`} {
		t.Run(name, func(t *testing.T) {
			h, clock := tasked(t, governed, func(p *plan) {
				p.teams = "prices: [{model: \"llm-*\", input_per_million: 1, output_per_million: 2}]\n"
				p.upstream = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", "application/json")
					switch {
					case r.Method == http.MethodPost:
						_, _ = io.WriteString(w, `{"output":{"task_id":"t-1","task_status":"PENDING"},"request_id":"r"}`)
					case end == "":
						w.WriteHeader(http.StatusInternalServerError)
					default:
						_, _ = io.WriteString(w, end)
					}
				})
			})
			h.ask("POST", "/api/v1/services/video/now", `{"model":"llm-max","input":{"prompt":"river"},"parameters":{}}`, async...)
			held := h.records.await(t, 1)[0].Held.Amounts
			if held[limit.Tokens] < 2048 || held[limit.Images] != 1 || held[limit.Spend] < 4_000_000 {
				t.Fatalf("held are %v", held)
			}
			for _, d := range []time.Duration{time.Minute, 24 * time.Hour, 31 * time.Second, 31 * time.Second} {
				clock.move(d)
				h.gateway.Finish(t.Context())
			}
			rows, err := h.balances.Rows(t.Context(), limit.Query{Teams: []string{"search"}, Days: days(clock.now().Add(-26*time.Hour), 3)})
			if err != nil || len(rows) != 1 || rows[0].Used != held || rows[0].Estimated != held || rows[0].Kinds != "" {
				t.Errorf("%+v, %v; want %v", rows, err, held)
			}
		})
	}
}
