package telemetry

import (
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/policy/unit"
	"sluice/telemetry/meter"
)

// Every instrument reports the measured values, in its unit, under its labels.
func TestWhatIsMeasuredIsTold(t *testing.T) {
	tells, err := Open(t.Context(), Config{Logger: slog.New(slog.DiscardHandler), Provider: "service", Version: "v1", Revision: "abc",
		GoVersion: "go1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tells.Close(t.Context()) }) // nothing is sent
	m, at, degraded := tells.Metrics, time.Unix(1000, 0), true
	m.Arrived()
	m.Arrived()
	m.Served(&Record{Method: "POST", Route: "/r", Team: "a", Status: 429, Refusal: "admit/rate", Duration: 3 * time.Second,
		Overhead: 2 * time.Millisecond})
	reading := meter.Reading{}
	reading.Usage.Raise(meter.InputTokens, 20)
	reading.Usage.Raise(meter.OutputTokens, 140)
	about := SpanInfo{Operation: OperationChat, Model: "m", Label: "m*", Team: "a", Stream: true}
	var x Exchange
	x.Begin(nil, m, about, at)
	x.Arrived([]byte("a"), at.Add(time.Second))
	x.Arrived([]byte("b"), at.Add(3*time.Second))
	x.Arrived([]byte("c"), at.Add(3500*time.Millisecond))
	x.End(Result{Status: 200, Reading: &reading}, at.Add(4*time.Second))
	x.End(Result{Status: 200, Reading: &reading}, at.Add(9*time.Second))
	about.Operation = OperationFetch
	about.Stream = false
	x.Begin(nil, m, about, at)
	x.End(Result{Status: 503, Reading: &reading}, at.Add(time.Second/2)) // its usage is its creation's
	m.Used("a", "m*", &Cost{Amounts: unit.Amounts{unit.Tokens: 7, unit.Images: 3, unit.Spend: 2_500_000_000}})
	m.Used("b", "m*", &Cost{Amounts: unit.Amounts{}})
	m.Poll("stale")
	m.Settlement("estimated")
	m.Alarm("Arrearage")
	m.Surplus()
	m.Warning("text.top_p")
	m.Reload(true)
	m.Reload(false)
	m.Reload(false)
	m.Redis("evalsha", "timeout", 50*time.Millisecond)
	m.Quotas("a", []QuotaUse{{Unit: "images", Period: "day", Ratio: 0.25}, {Unit: "spend", Period: "month", Ratio: 1.5}})
	m.Quotas("trial", []QuotaUse{{"spend", "month", 2.5, true}})
	m.Quotas("b", []QuotaUse{{Unit: "images", Period: "day", Ratio: 1}})
	m.Quotas("b", nil)
	accounts := []Account{{ID: "main", State: "ok", InFlight: 3},
		{ID: "spare", State: "cooling", Failovers: map[string]int64{"throttled": 9, "refused": 1}}}
	err = m.Watch(Watched{
		Degraded: func() bool { return degraded }, Replicas: func() (int64, int64) { return 2, 3 }, TeamsFaulty: func() bool { return true },
		LogDropped: func() uint64 { return 7 }, EventsDropped: func() int64 { return 11 },
		Streams:    func() map[string]int { return map[string]int{"a": 12} },
		HooksEnded: func() map[string]bool { return map[string]bool{"jobs": true, "ops": false} },
		Holds:      func() (int, time.Duration, bool) { return 5, 90 * time.Second, true },
		Reconciled: func() (Reconciled, bool) {
			return Reconciled{time.UnixMilli(1_800_000_000_500), time.Unix(1_800_129_600, 0), ReconciledBeyond, 0.0374}, true
		},
		Accounts: func() []Account { return accounts },
	})
	if err != nil {
		t.Fatal(err)
	}
	page := pageOf(m)
	const gen = `gen_ai_operation_name="chat",gen_ai_provider_name="service",gen_ai_request_model="m*"`
	const fetch = `error_type="503",gen_ai_operation_name="fetch_response",gen_ai_provider_name="service",gen_ai_request_model="m*"`
	for _, want := range []string{
		`http_server_active_requests 1`,
		`sluice_events_dropped_total 11`,
		`sluice_event_streams{team="a"} 12`,
		`sluice_hook_ended{hook="jobs"} 1`, `sluice_hook_ended{hook="ops"} 0`,
		`http_server_request_duration_seconds_sum{http_request_method="POST",http_response_status_code="429",http_route="/r",sluice_team="a"} 3`,
		`sluice_overhead_seconds_sum 0.002`,
		`sluice_refusals_total{reason="rate",stage="admit",team="a"} 1`,
		`gen_ai_client_operation_duration_seconds_sum{` + gen + `,sluice_team="a"} 4`,
		`gen_ai_client_operation_duration_seconds_count{` + gen + `,sluice_team="a"} 1`,
		`gen_ai_client_operation_duration_seconds_sum{` + fetch + `,sluice_team="a"} 0.5`,
		`gen_ai_client_operation_time_to_first_chunk_seconds_sum{` + gen + `,sluice_team="a"} 1`,
		`gen_ai_client_operation_time_per_output_chunk_seconds_sum{` + gen + `,sluice_team="a"} 2.5`,
		`gen_ai_client_operation_time_per_output_chunk_seconds_count{` + gen + `,sluice_team="a"} 2`,
		`gen_ai_client_token_usage_sum{` + gen + `,gen_ai_token_type="input",sluice_team="a"} 20`,
		`gen_ai_client_token_usage_sum{` + gen + `,gen_ai_token_type="output",sluice_team="a"} 140`,
		`gen_ai_client_token_usage_bucket{` + gen + `,gen_ai_token_type="input",sluice_team="a",le="16"} 0`,
		`gen_ai_client_token_usage_bucket{` + gen + `,gen_ai_token_type="input",sluice_team="a",le="64"} 1`,
		`sluice_images_total{model="m*",team="a"} 3`,
		`sluice_spend_total{model="m*",team="a"} 2.5`,
		`sluice_polls_total{source="stale"} 1`,
		`sluice_settlements_total{outcome="estimated"} 1`,
		`sluice_upstream_alarms_total{code="Arrearage"} 1`,
		`sluice_upstream_surplus_total 1`,
		`sluice_warnings_total{rule="text.top_p"} 1`,
		`sluice_replicas{source="alive"} 2`,
		`sluice_reconcile_last_timestamp_seconds{outcome="beyond"} 1.8000000005e+09`,
		`sluice_reconcile_due_timestamp_seconds 1.8001296e+09`,
		`sluice_reconcile_difference_ratio 0.0374`,
		`sluice_replicas{source="set"} 3`,
		`sluice_reloads_total{outcome="ok"} 1`,
		`sluice_reloads_total{outcome="faulty"} 2`,
		`db_client_operation_duration_seconds_sum{db_operation_name="evalsha",db_system_name="redis",error_type="timeout"} 0.05`,
		`sluice_quota_used_ratio{period="day",team="a",unit="images"} 0.25`,
		`sluice_quota_used_ratio{period="month",team="a",unit="spend"} 1.5`,
		`sluice_quota_used_ratio{period="month",shadow="true",team="trial",unit="spend"} 2.5`,
		`sluice_state_degraded 1`, `sluice_teams_faulty 1`, `sluice_log_dropped_total 7`, `sluice_holds_open 5`, `sluice_holds_oldest_seconds 90`,
		`sluice_build_info{go_version="go1",revision="abc",version="v1"} 1`,
		`sluice_account_state{account="main",state="ok"} 1`, `sluice_account_state{account="main",state="out"} 0`,
		`sluice_account_state{account="spare",state="cooling"} 1`, `sluice_account_state{account="spare",state="ok"} 0`,
		`sluice_account_state{account="spare",state="draining"} 0`,
		`sluice_account_in_flight{account="main"} 3`, `sluice_account_in_flight{account="spare"} 0`,
		`sluice_account_failovers_total{account="spare",reason="throttled"} 9`,
		`sluice_account_failovers_total{account="spare",reason="refused"} 1`,
	} {
		if !strings.Contains(page, want+"\n") {
			t.Errorf("want %s", want)
		}
	}
	for _, never := range []string{`gen_ai_client_token_usage_sum{` + fetch, `team="b"`,
		`token_usage_sum{gen_ai_operation_name="fetch_response"`} {
		if strings.Contains(page, never) {
			t.Errorf("the page has %s", never)
		}
	}
	if t.Failed() {
		t.Log(page)
	}
	accounts = accounts[:1] // the other one was removed from the file
	if degraded = false; !strings.Contains(pageOf(m), "sluice_state_degraded 0\n") || strings.Contains(pageOf(m), "spare") {
		t.Error("the gauges do not follow their sources")
	}
}

// A service may answer any number. A status without a name in HTTP is counted by its hundred, in requests and in calls
// alike. 499 is Sluice's own.
func TestUnknownStatusesAreFewSeries(t *testing.T) {
	m := openMetrics(t)
	var call Exchange
	for status := 200; status < 1000; status++ {
		m.Served(&Record{Method: "POST", Route: "/r", Status: status})
		call.Begin(nil, m, SpanInfo{Operation: OperationChat}, noon)
		call.End(Result{Status: status}, noon)
	}
	for series, label := range map[string]string{
		"http_server_request_duration_seconds_count": "http_response_status_code", "gen_ai_client_operation_duration_seconds_count": "error_type",
	} {
		seen := map[string]bool{}
		for _, m := range regexp.MustCompile(series+`\{[^}]*`+label+`="(\d+)"`).FindAllStringSubmatch(pageOf(m), -1) {
			seen[m[1]] = true
			if status, _ := strconv.Atoi(m[1]); status != statusClientLeft && http.StatusText(status) == "" && status%100 != 0 {
				t.Errorf("%s has a separate series for %d", series, status)
			}
		}
		if !seen["404"] || !seen["499"] || !seen["700"] || !seen["500"] {
			t.Errorf("%s counts only %v", series, seen)
		}
	}
}

func openMetrics(t *testing.T) *Metrics {
	t.Helper()
	tells, err := Open(t.Context(), Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tells.Close(t.Context()) }) // nothing is sent
	return tells.Metrics
}

// Concurrent measurements are all counted.
func TestHistogramCountsAll(t *testing.T) {
	m := openMetrics(t)
	var measuring sync.WaitGroup
	for range 8 {
		measuring.Go(func() {
			for range 1000 {
				m.Redis("get", "", 500*time.Millisecond)
			}
		})
	}
	measuring.Wait()
	const labels = `{db_operation_name="get",db_system_name="redis"}`
	for _, want := range []string{"_sum" + labels + " 4000\n", "_count" + labels + " 8000\n"} {
		if page := pageOf(m); !strings.Contains(page, "db_client_operation_duration_seconds"+want) {
			t.Errorf("want %s in\n%s", want, page)
		}
	}
}

// However many sets of attributes there are, the series are bounded, and further ones are counted together.
func TestHistogramIsBounded(t *testing.T) {
	m := openMetrics(t)
	for i := range 2 * maxSeries {
		m.Redis(fmt.Sprint(i), "", time.Millisecond)
	}
	page := pageOf(m)
	series := regexp.MustCompile(`(?m)^db_client_operation_duration_seconds_count\{.*\} (\d+)$`).FindAllStringSubmatch(page, -1)
	if len(series) > maxSeries+1 || len(series) < maxSeries-1 {
		t.Errorf("%d series", len(series))
	}
	overflow := fmt.Sprintf(`_count{otel_metric_overflow="true"} %d`, 2*maxSeries-len(series)+1)
	if !strings.Contains(page, "db_client_operation_duration_seconds"+overflow+"\n") {
		t.Errorf("want %s", overflow)
	}
}
