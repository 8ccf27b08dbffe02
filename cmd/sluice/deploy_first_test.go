package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"sluice/gateway/simulator"
)

// unbegun are the counters in increases that are not on the page of a process that has begun, and why.
var unbegun = map[string]string{
	"sluice_spend_total":             "the panel says so: a first value would hide what a process counted before it restarted",
	"sluice_telemetry_dropped_total": "nothing is sent there; it begins with 0, for each reason",
}

// TestIncreasesSeeTheFirstEvent: a series that appears with its first event has no increase, so counters of rare events are on the page
// before it, also those of a teams file that is read later.
func TestIncreasesSeeTheFirstEvent(t *testing.T) {
	_, upstream := newService(t, simulator.Config{})
	teams := write(t, someTeams)
	h := serving(t, upstream.URL, "SLUICE_TEAMS_FILE="+teams, "SLUICE_TEAMS_POLL=10ms", "SLUICE_HOOK_NETWORKS=127.0.0.0/8")
	rewrite(t, teams, someTeams+"    models: [llm-max]\n"+
		"    hooks: [{id: chat, url: \"https://127.0.0.1/x\", kind: slack, events: [key.expiring]}]\n"+
		"hooks: [{id: ours, url: \"https://127.0.0.1/x\", kind: slack, events: [key.expiring]}]\n"+
		"prices: [{model: \"llm-*\", input_per_million: 1}]\nhouse: {quotas: {images: {day: 10}, spend: {month: 10}}, alert: [50, 90]}\n")
	if _, err := h.log.find(t.Context(), regexp.MustCompile("teams file loaded")); err != nil {
		t.Fatal(err)
	}
	page := h.page(t)
	for _, want := range []string{
		`sluice_upstream_alarms_total{code="Arrearage"}`, `sluice_upstream_alarms_total{code="PostpaidBillOverdue"}`,
		`sluice_upstream_alarms_total{code="KeyPresented"}`, `sluice_upstream_alarms_total{code="KeyRefused"}`,
		`sluice_upstream_alarms_total{code="TaskUnknown"}`, `sluice_upstream_alarms_total{code="TaskStatus"}`,
		`sluice_requests_unpriced_total{model="llm-*"}`, `sluice_requests_unpriced_total{model="llm-max"}`,
		`sluice_requests_unpriced_total{model="other"}`,
		`sluice_hook_deliveries_total{hook="chat",outcome="given_up"}`, `sluice_hook_deliveries_total{hook="chat",outcome="ended"}`,
		`sluice_hook_deliveries_total{hook="ours",outcome="given_up"}`,
		`sluice_house_alerts_total{percent="50",period="day",unit="images"}`,
		`sluice_house_alerts_total{percent="90",period="month",unit="spend"}`,
		`sluice_reloads_total{outcome="faulty"}`,
	} {
		if !strings.Contains(page, "\n"+want+" 0\n") {
			t.Errorf("the page of a process that has begun lacks %s 0", want)
		}
	}
	for where, expr := range expressions(t) {
		for _, counter := range regexp.MustCompile(`increase\((\w+)`).FindAllStringSubmatch(expr, -1) {
			if name := counter[1]; unbegun[name] == "" && !regexp.MustCompile(`(?m)^`+name+`(?:\{.*\})? `).MatchString(page) {
				t.Errorf("%s misses the first event of %s", where, name)
			}
		}
	}
	if t.Failed() {
		t.Log(page)
	}
}

// TestAlertsSeeWhatWasCountedBeforeTheFirstScrape: an alert for any increase also takes the value of a process that has just begun, and
// no counter is compared with its past, which a failed scrape leaves out.
func TestAlertsSeeWhatWasCountedBeforeTheFirstScrape(t *testing.T) {
	seconds := map[string]string{"10m": "600", "15m": "900", "1h": "3600"}
	rising := regexp.MustCompile(`increase\((\w+(?:\{[^}]*\})?)\[(\w+)\]\) > 0`)
	var seen []string
	for where, expr := range expressions(t) {
		if strings.Contains(expr, " offset ") {
			t.Errorf("%s: a failed scrape is missing an offset later", where)
		}
		for _, of := range rising.FindAllStringSubmatch(expr, -1) {
			seen = append(seen, where)
			want := "or " + of[1] + " > 0 and on (job, instance) time() - process_start_time_seconds < " + seconds[of[2]]
			if !strings.Contains(expr, want) {
				t.Errorf("%s lacks %q", where, want)
			}
		}
	}
	if slices.Sort(seen); len(slices.Compact(seen)) < 10 {
		t.Errorf("only these were looked at: %v", seen)
	}
}
