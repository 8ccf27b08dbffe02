package gateway_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/gateway/simulator"
	"sluice/policy/limit"
)

// counted reads every series of an instrument, by its labels as the page writes them.
func (h *harness) counted(name string) map[string]float64 {
	h.Helper()
	page := httptest.NewRecorder()
	h.tells.Metrics.Handler().ServeHTTP(page, httptest.NewRequest("GET", "/", nil))
	values := make(map[string]float64)
	for _, match := range regexp.MustCompile(`(?m)^`+name+`(?:\{(.*)\})? (\S+)$`).FindAllStringSubmatch(page.Body.String(), -1) {
		n, err := strconv.ParseFloat(match[2], 64)
		if err != nil {
			h.Fatal(err)
		}
		values[match[1]] = n
	}
	return values
}

func (h *harness) counts(t *testing.T, name string, want map[string]float64) {
	t.Helper()
	if got := h.counted(name); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s is\n%v, want\n%v", name, got, want)
	}
}

// spansNamed counts the sent spans by name. Nothing is recorded after it.
func (h *harness) spansNamed(t *testing.T) map[string]int {
	t.Helper()
	if err := h.spans.send(); err != nil {
		t.Fatal(err)
	}
	h.spans.mu.Lock()
	defer h.spans.mu.Unlock()
	names := make(map[string]int)
	for _, s := range h.spans.spans {
		names[s.GetName()]++
	}
	return names
}

const priced = "prices:\n  - {model: \"gen2.6-image*\", image: 0.20}\n  - {model: \"llm-image*\", image: 0.50}\n  - {model: \"llm-*\", " +
	"input_per_million: 1000, output_per_million: 2000}\n"

// The counters of images and money agree with the ledger, whatever became of the requests, and everything else is counted
// once, under its kind.
func TestMetricsAreTheLedgers(t *testing.T) {
	h, clock := tasked(t, func(p *plan) { p.teams = priced })
	h.ask("POST", textPath, textBody)
	h.ask("POST", textPath, textBody, "X-Service-SSE", "enable")
	h.ask("POST", multimodalPath, syncBody)
	id := h.create(t)
	h.poll(id)
	h.poll(id) // both from the creation's own answer
	clock.move(time.Minute)
	var polling sync.WaitGroup
	for range 8 {
		polling.Go(func() { h.ask("GET", tasksPath+"/"+id, "") }) // its end, learned once
	}
	polling.Wait()
	h.ask("GET", tasksPath+"/unknown", "")
	h.ask("POST", textPath, strings.Replace(textBody, `"result_format"`, `"top_p":7,"result_format"`, 1))
	h.ask("POST", textPath, textBody, "Authorization", "Bearer wrong")
	h.ask("POST", textPath, textBody, "Authorization", "Bearer "+upstreamKey)
	h.sim.SetFault(simulator.Fault{Error: &simulator.FaultError{Status: 400, Code: "Arrearage", Message: "pay"}})
	h.ask("POST", textPath, textBody)
	h.sim.SetFault(simulator.Fault{Error: &simulator.FaultError{Status: 401, Code: "InvalidApiKey", Message: "no"}})
	h.ask("POST", textPath, textBody)
	h.sim.SetFault(simulator.Fault{Cut: "close", After: 2})
	h.ask("POST", textPath, textBody, "X-Service-SSE", "enable")
	h.sim.SetFault(simulator.Fault{Task: &simulator.FaultTask{Outcome: "fail"}})
	failing := h.create(t)
	h.sim.SetFault()
	clock.move(time.Minute)
	h.poll(failing)

	images, spend := map[string]float64{}, map[string]float64{}
	rows, err := h.balances.Rows(t.Context(), limit.Query{Teams: []string{"search"}, Days: days(clock.now().Add(-time.Hour), 2)})
	if err != nil {
		t.Fatal(err)
	}
	label := map[string]string{"gen2.6-image": "gen2.6-image*", "llm-image-2.0": "llm-image*", "llm-max": "llm-*"}
	for _, row := range rows {
		key := fmt.Sprintf(`model="%s",team="search"`, label[row.Model])
		if n := row.Used[limit.Images]; n > 0 {
			images[key] += float64(n)
		}
		if n := row.Used[limit.Spend]; n > 0 {
			spend[key] += float64(n) / 1e9
		}
	}
	if len(images) != 2 || len(spend) != 3 {
		t.Fatalf("the ledger has %v and %v", images, spend)
	}
	h.counts(t, "sluice_images_total", images)
	for key, want := range spend {
		if got := h.counted("sluice_spend_total")[key]; got < want*0.999999 || got > want*1.000001 {
			t.Errorf("spend of %s is %v, the ledger has %v", key, got, want)
		}
	}
	polls := h.counted("sluice_polls_total")
	if polls[`source="miss"`] != 2 || polls[`source="hit"`] < 2 ||
		polls[`source="miss"`]+polls[`source="hit"`]+polls[`source="collapsed"`] != 11 {
		t.Errorf("polls are %v, of 11 two queried upstream", polls)
	}
	settled := h.counted("sluice_settlements_total")
	if settled[`outcome="succeeded"`] != 1 || settled[`outcome="failed"`] != 1 || settled[`outcome="exact"`] != 3 ||
		settled[`outcome="refused"`] < 2 || settled[`outcome="estimated"`] != 1 {
		t.Errorf("settlements are %v", settled)
	}
	h.counts(t, "sluice_upstream_alarms_total", map[string]float64{
		`code="Arrearage"`: 1, `code="KeyRefused"`: 1, `code="KeyPresented"`: 1, `code="TaskStatus"`: 0, `code="TaskUnknown"`: 0,
	})
	h.counts(t, "sluice_refusals_total", map[string]float64{
		`reason="rules",stage="inspect",team="search"`: 1, `reason="key",stage="authenticate",team=""`: 2,
		`reason="task",stage="recall",team="search"`: 1, `reason="key",stage="forward",team="search"`: 1,
		`reason="answer",stage="forward",team="search"`: 1,
	})
	h.counts(t, "http_server_active_requests", map[string]float64{"": 0})
	if names := h.spansNamed(t); names["task gen2.6-image"] != 2 || names["generate_content gen2.6-image"] != 2 ||
		names["fetch_response gen2.6-image"] != 2 {
		t.Errorf("spans are %v", names)
	}
}

// If a task's creation stream and a poll both have its end, it is counted once and logged once.
func TestAStreamAndAPollTellOnce(t *testing.T) {
	ended, task := make(chan struct{}), "task-1"
	upstream := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodGet {
			_, _ = fmt.Fprintf(w, `{"output":{"task_id":"%s","task_status":"SUCCEEDED"},"usage":{"image_count":2}}`, task)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "data:{\"output\":{\"task_id\":\"%s\",\"task_status\":\"RUNNING\"}}\n\n", task)
		_ = http.NewResponseController(w).Flush()
		<-ended
		_, _ = fmt.Fprintf(w, "data:{\"output\":{\"task_id\":\"%s\",\"finished\":true},\"usage\":{\"image_count\":2}}\n\n", task)
	})
	for _, first := range []string{"poll", "stream"} {
		t.Run(first, func(t *testing.T) {
			ended = make(chan struct{})
			clock := &handClock{at: time.Now()}
			h := build(t, func(p *plan) {
				p.upstream, p.teams, p.now, p.config.PollInterval = upstream, priced, clock.now, 5*time.Second
			})
			body := strings.Replace(imageBody, `"n":1`, `"enable_interleave":true,"stream":true`, 1)
			answered := make(chan reading, 1)
			go func() {
				answered <- h.ask("POST", imagePath, body, "X-Service-Async", "enable", "X-Service-SSE", "enable")
			}()
			for h.ask("GET", tasksPath+"/"+task, "").status != http.StatusOK {
				<-time.After(time.Millisecond) // until it is claimed
			}
			if first == "stream" {
				close(ended)
				<-answered
			}
			clock.move(time.Minute)
			h.poll(task)
			if first == "poll" {
				close(ended)
				<-answered
			}
			h.counts(t, "sluice_images_total", map[string]float64{`model="gen2.6-image*",team="search"`: 2})
			total := 0.0
			for _, n := range h.counted("sluice_settlements_total") {
				total += n
			}
			if names := h.spansNamed(t); total != 1 || names["task gen2.6-image"] != 1 {
				t.Errorf("%v settlements, spans %v", total, names)
			}
		})
	}
}

// A creation whose answer names no task failed, for its span and its metric, too, although upstream's status is 200.
func TestACreationWithoutATaskFailed(t *testing.T) {
	h := build(t, func(p *plan) {
		p.upstream = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"output":{}}`))
		})
	})
	h.ask("POST", imagePath, imageBody, async...).wants(t, 502, "forward/answer", "InternalError")
	for labels := range h.counted("gen_ai_client_operation_duration_seconds_count") {
		if !strings.Contains(labels, `error_type="forward/answer"`) {
			t.Errorf("it is measured as {%s}", labels)
		}
	}
	h.spansNamed(t)
	for _, s := range h.spans.spans {
		if strings.HasPrefix(s.GetName(), "generate_content") && !strings.Contains(fmt.Sprint(s.GetAttributes()), "forward/answer") {
			t.Errorf("its span has %v", s.GetAttributes())
		}
	}
}
