package gateway_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/policy/unit"
	"sluice/telemetry"
)

// guess is a request that is charged as held, because the service does not count what was made.
type guess struct {
	path    string
	headers []string
	media   string
	answer  string
	end     string // of its task; empty: none is seen
}

var guesses = map[string]guess{
	"the end of its task is not seen": {"services/video/now", async, "application/json", pendingTask, ""},
	"the end of its task counts nothing": {"services/video/now", async, "application/json", pendingTask,
		strings.Replace(pendingTask, "PENDING", "SUCCEEDED", 1)},
	"its task is over, and nothing counted": {"services/video/now", async, "application/json",
		strings.Replace(pendingTask, "PENDING", "SUCCEEDED", 1), ""},
	"its answer counts nothing": {"services/video/now", nil, "application/json", `{"output":{"text":"a"}}`, ""},
	"the stream of its answer counts nothing": {"compatible/chat", nil, streamType,
		"data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", ""},
}

const pendingTask = `{"output":{"task_id":"t-1","task_status":"PENDING"},"request_id":"r"}`

// service answers as the guess has it.
func (g guess) service() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", g.media)
		switch {
		case r.Method == http.MethodPost:
			_, _ = io.WriteString(w, g.answer)
		case g.end == "":
			w.WriteHeader(http.StatusInternalServerError)
		default:
			_, _ = io.WriteString(w, g.end)
		}
	})
}

// ask sends the request, which allows a billion tokens.
func (g guess) ask(h *harness) {
	h.Helper()
	const most = `"max_tokens":1000000000`
	body := fmt.Sprintf(`{"model":"llm-max","input":{"prompt":"river"},"messages":[],"stream":%t,`+most+`,"parameters":{`+most+`}}`,
		g.media == streamType)
	if got := h.ask("POST", "/api/v1/"+g.path, body, g.headers...); got.status != 200 {
		h.Fatal(got.status, got.body)
	}
}

// A request that is charged as held costs the house, and an account at the service, a quarter of a quota at most, however much it may
// make. So one request of a team without limits stops no other team. The team is charged the same: nothing is added to the house later.
func TestAnEstimateCostsTheHouseAQuarterAtMost(t *testing.T) {
	const quota = "quotas: {spend: {month: 80}, tokens: {month: 4000}}"
	for in, limits := range map[string]func(*plan){
		teams.HouseID:                 housed("{" + quota + "}"),
		teams.AccountQuotasID("main"): func(p *plan) { p.service = accountsOf(t, "id: main, "+quota) },
	} {
		for about, tt := range guesses {
			t.Run(in+"/"+about, func(t *testing.T) {
				h, clock := tasked(t, governed, func(p *plan) { p.teams = "prices: [{model: \"*\", output_per_million: 10, image: 0.5}]\n" }, limits,
					func(p *plan) {
						p.config.TaskTTL = time.Hour
						p.upstream = tt.service()
					})
				tt.ask(h)
				held := h.records.await(t, 1)[0].Held.Amounts
				day := clock.now()
				for _, d := range []time.Duration{time.Minute, time.Hour, 31 * time.Second, 31 * time.Second} {
					clock.move(d)
					h.gateway.Finish(t.Context())
				}
				rows, err := h.balances.Rows(t.Context(), limit.Query{Teams: []string{"search"}, Days: days(day.Add(-26*time.Hour), 3)})
				if err != nil || len(rows) != 1 || rows[0].Used != held || rows[0].Estimated != held || held[limit.Spend] != 20_000_000_000 ||
					held[limit.Tokens] != 1000 {
					t.Errorf("%+v, %v; want %v", rows, err, held)
				}
				account := &teams.Team{ID: in, Quotas: []teams.Quota{
					{Unit: unit.NameSpend, Period: teams.PeriodMonth, Limit: 80_000_000_000},
					{Unit: unit.NameTokens, Period: teams.PeriodMonth, Limit: 4000},
				}}
				report, err := h.balances.Look(t.Context(), account)
				if err != nil || report.Limits[0].Used != 1000 || report.Limits[1].Used != 20_000_000_000 ||
					report.Limits[0].Held+report.Limits[1].Held != 0 {
					t.Errorf("%+v, %v", report, err)
				}
			})
		}
	}
}

// cutting are accounts that hold fewer tokens than were asked for, as without Redis a share of a rate lets pass.
type cutting struct{ *limit.Memory }

const cutTokens = 100

func (c cutting) Admit(ctx context.Context, h *limit.Hold) (limit.Verdict, error) {
	small := *h
	small.Amounts[limit.Tokens] = min(h.Amounts[limit.Tokens], cutTokens)
	return c.Memory.Admit(ctx, &small)
}

// What is charged as held is what was held in truth, which without Redis may be less than the request asked for.
func TestAnEstimateCostsNoMoreThanWasHeld(t *testing.T) {
	for about, tt := range guesses {
		t.Run(about, func(t *testing.T) {
			var accounts cutting
			h, clock := tasked(t, governed, func(p *plan) {
				accounts = cutting{limit.NewMemory(p.now)}
				p.balances, p.config.TaskTTL, p.upstream = accounts, time.Hour, tt.service()
			})
			tt.ask(h)
			for _, d := range []time.Duration{time.Minute, time.Hour, 31 * time.Second, 31 * time.Second} {
				clock.move(d)
				h.gateway.Finish(t.Context())
			}
			record := h.records.await(t, 1)[0]
			rows, err := accounts.Rows(t.Context(), limit.Query{Teams: []string{"search"}, Days: days(clock.now().Add(-26*time.Hour), 3)})
			if err != nil || len(rows) != 1 || rows[0].Used[limit.Tokens] != cutTokens || record.Held.Amounts[limit.Tokens] != cutTokens {
				t.Errorf("%+v, %v, held %v; want %d tokens", rows, err, record.Held.Amounts, cutTokens)
			}
		})
	}
}

// A request that moves to another account, whose quotas are smaller, holds less of an estimate there, and costs no more.
func TestAnEstimateCostsNoMoreThanTheNewAccountHolds(t *testing.T) {
	var asked atomic.Int32
	h := build(t, governed, func(p *plan) {
		p.service = accountsOf(t, "id: a, quotas: {spend: {day: 80}}", "id: b, quotas: {spend: {day: 8}}")
		p.config.ChooseFirst()
		p.teams = "prices: [{model: \"*\", output_per_million: 10, image: 0.5}]\n"
		p.upstream = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if asked.Add(1) == 1 {
				w.WriteHeader(http.StatusTooManyRequests)
				_, _ = io.WriteString(w, `{"code":"Throttling","message":"m"}`)
				return
			}
			_, _ = io.WriteString(w, `{"output":{"text":"a"}}`)
		})
	})
	guesses["its answer counts nothing"].ask(h)
	record := h.records.await(t, 1)[0]
	if got := record.Cost; record.Account != "b" || record.Held.Amounts[limit.Spend] != 20_000_000_000 ||
		got.Amounts[limit.Spend] != 2_000_000_000 || got.Flag != telemetry.FlagEstimated {
		t.Errorf("on account %s, of %v: %+v", record.Account, record.Held.Amounts, got)
	}
	for id, want := range map[string]int64{"a": 0, "b": 2_000_000_000} {
		account := &teams.Team{ID: teams.AccountQuotasID(id), Quotas: []teams.Quota{{Unit: unit.NameSpend, Period: teams.PeriodDay, Limit: 1}}}
		report, err := h.balances.Look(t.Context(), account)
		if err != nil || report.Limits[0].Used != want || report.Limits[0].Held != 0 {
			t.Errorf("account %s: %+v, %v", id, report, err)
		}
	}
}

// A request below a native path holds tokens and images, but needs a price only of what it is charged. A task shows that at its end.
func TestNativeRequestsNeedThePriceOfWhatTheyMade(t *testing.T) {
	const (
		images = `"usage":{"image_count":1}`
		tokens = `"usage":{"input_tokens":10,"output_tokens":5}`
	)
	ended := func(usage string) string {
		return strings.Replace(pendingTask, `"PENDING"}`, `"SUCCEEDED"},`+usage, 1)
	}
	once := map[string]float64{`model="video-*"`: 1}
	for about, tt := range map[string]struct {
		model, made, end string
		counted          map[string]float64
	}{
		"a task of images":                 {"video-1", pendingTask, ended(images), map[string]float64{}},
		"a task of tokens":                 {"video-1", pendingTask, ended(tokens), once},
		"a task that is over":              {"video-1", ended(tokens), "", once},
		"one of images":                    {"video-1", ended(images), "", map[string]float64{}},
		"a task whose end is not seen":     {"video-1", pendingTask, "", map[string]float64{}},
		"a task of a model without prices": {"other", pendingTask, ended(images), map[string]float64{`model="other"`: 1}},
		"images":                           {"video-1", `{"output":{},` + images + `}`, "", map[string]float64{}},
		"tokens":                           {"video-1", `{"output":{},` + tokens + `}`, "", once},
		"nothing is counted":               {"video-1", `{"output":{"text":"a"}}`, "", map[string]float64{}},
	} {
		t.Run(about, func(t *testing.T) {
			g := guess{media: "application/json", answer: tt.made, end: tt.end}
			h, clock := tasked(t, governed, func(p *plan) {
				p.teams, p.upstream, p.config.TaskTTL = "prices: [{model: \"video-*\", image: 0.5}]\n", g.service(), time.Hour
			})
			if got := h.ask("POST", "/api/v1/services/video/now", `{"model":"`+tt.model+`","input":{"prompt":"river"}}`); got.status != 200 {
				t.Fatal(got.status, got.body)
			}
			h.records.await(t, 1)
			for _, d := range []time.Duration{time.Minute, time.Hour, time.Minute} {
				clock.move(d)
				h.gateway.Finish(t.Context())
			}
			h.counts(t, "sluice_requests_unpriced_total", tt.counted)
		})
	}
}
