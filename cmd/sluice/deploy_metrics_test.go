package main

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"sluice/gateway/simulator"
)

// unseen are the metrics, and the labels as metric{label}, that alerts or dashboard name and that are not on the page of
// scrapedPage, with the reason. A row that is on the page fails the test, so the table always lists exactly the untested
// names.
var unseen = map[string]string{
	"sluice_telemetry_dropped_total":                         "nothing is sent there: OTEL_* is not set",
	"go_memory_limit_bytes":                                  "GOMEMLIMIT is not set there",
	"sluice_quota_used_ratio{shadow}":                        "no team is in shadow mode there",
	"sluice_house_alerts_total":                              "the house has no alerts there",
	"sluice_account_failovers_total":                         "no request leaves its account there",
	"sluice_hook_deliveries_total":                           "no team has hooks there",
	"sluice_hook_oldest_seconds":                             "no team has hooks there",
	"sluice_hook_ended":                                      "no team has hooks there",
	"sluice_queue_seconds":                                   "no request waits for its turn there",
	"db_client_operation_duration_seconds_count{error_type}": "no call to Redis fails there, but for what a busy machine makes too slow",
}

// expressions are those of the alerts and the dashboard, by file and place.
func expressions(t *testing.T) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for _, group := range readYAML[rules](t, "chart/files/alerts.yml").Groups {
		for _, rule := range group.Rules {
			all["alert "+rule.Alert] = rule.Expr
		}
	}
	for _, panel := range readDashboard(t).Panels {
		for _, target := range panel.Targets {
			all[fmt.Sprintf("panel %d, %s, query %s", panel.ID, panel.Title, target.RefID)] = variables.Replace(target.Expr)
		}
	}
	return all
}

type rules struct {
	Groups []struct {
		Rules []struct {
			Alert, Expr string
			Labels      map[string]string
		}
	}
}

// Everything in a PromQL expression that looks like a metric's name but is not.
var (
	quoted   = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	matchers = regexp.MustCompile(`\{[^}]*\}|\[[^]]*\]`)
	clauses  = regexp.MustCompile(`\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)`)
	offsets  = regexp.MustCompile(`\boffset\s+\w+`)
	words    = regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*(\s*\()?`)
	keywords = []string{"and", "or", "unless", "bool"}
	numbers  = regexp.MustCompile(`\b[0-9][0-9a-zA-Z.]*`)
	parts    = regexp.MustCompile(`_(?:bucket|sum|count)$`)
)

// metricsIn are the names of metrics in an expression.
func metricsIn(expr string) (names []string) {
	for _, pattern := range []*regexp.Regexp{quoted, matchers, clauses, offsets, numbers} {
		expr = pattern.ReplaceAllString(expr, " ")
	}
	for _, word := range words.FindAllString(expr, -1) {
		if !strings.HasSuffix(word, "(") && !slices.Contains(keywords, word) && word != "up" { // up is Prometheus's own
			names = append(names, word)
		}
	}
	return names
}

var (
	selector = regexp.MustCompile(`([a-zA-Z_:][a-zA-Z0-9_:]*)\{([^}]*)\}`)
	matcher  = regexp.MustCompile(`(\w+)(?:=~|!~|!=|=)"`)
)

// strangers returns the labels that an expression matches but no series of the metric on the page has. Labels that Prometheus
// adds are never on the page.
func strangers(expr, page string) (labels []string) {
	for _, selected := range selector.FindAllStringSubmatch(expr, -1) {
		for _, label := range matcher.FindAllStringSubmatch(selected[2], -1) {
			shown := regexp.MustCompile(`(?m)^` + selected[1] + `\{[^\n]*\b` + label[1] + `="`)
			if label[1] != "job" && label[1] != "instance" && !shown.MatchString(page) {
				labels = append(labels, selected[1]+"{"+label[1]+"}")
			}
		}
	}
	return labels
}

func TestLabelsThatNoSeriesHas(t *testing.T) {
	page := "a_total{team=\"search\",unit=\"x\"} 1\nb{code=\"y\"} 1\n"
	for expr, want := range map[string]string{
		`rate(a_total{unit=~"x.*",team="search",instance="i"}[5m])`: "",
		`a_total{tean="search"} / b{code!=""}`:                      "a_total{tean}",
		`b{unit="x"}`:                                               "b{unit}",
	} {
		if got := strings.Join(strangers(expr, page), " "); got != want {
			t.Errorf("%s: %q, want %q", expr, got, want)
		}
	}
}

func TestMetricsInAnExpression(t *testing.T) {
	for expr, want := range map[string]string{
		`up{job="sluice"} == 0`: "",
		`histogram_quantile(0.99, sum by (team, le) (rate(a_seconds_bucket{x=~"b(c)"}[5m]))) > 1e3`: "a_seconds_bucket",
		`sum by (code) ((a_total unless a_total offset 10m) or increase(b[10m]))`:                   "a_total a_total b",
		`a / on (job) group_left (x) b_count * bool_total`:                                          "a b_count bool_total",
		`sum(a{b="} c"}) without (d)`:                                                               "a",
		`label_replace(rate(a:b[15m]), "team", "$1", "x", "(.+)")`:                                  "a:b",
	} {
		if got := strings.Join(metricsIn(expr), " "); got != want {
			t.Errorf("%s names %q, want %q", expr, got, want)
		}
	}
}

// scrapedPage is the metrics page of a gateway after requests of all kinds.
func scrapedPage(t *testing.T) string {
	t.Helper()
	service, upstream := newService(t, simulator.Config{TaskRate: -1})
	teams := write(t, someTeams+
		"    quotas: {images: {day: 100}, spend: {day: 100}}\nprices: [{model: \"*\", image: 1, input_per_million: 1}]\nhouse: {quotas: "+
		"{images: {day: 1000}}}\n")
	redis := "SLUICE_REDIS_URL=" + startRedis(t).url()
	columns, bill := write(t, "date: {column: d}\nmodel: {column: m}\namount: {column: a}\n"), write(t, "d,m,a\n2020-01-01,llm-max,1\n")
	if got := command(t.Context(), []string{redis}, "reconcile", bill, "--map", columns, "--report", "36h"); got.code != exitFailure {
		t.Fatalf("%+v", got)
	}
	h := serving(t, upstream.URL, "SLUICE_TEAMS_FILE="+teams, "SLUICE_TEAMS_POLL=10ms", redis, "SLUICE_POLL_INTERVAL=100ms")
	client := newClient(t)
	base := "http://" + h.public
	send := func(method, path, body string, headers ...string) string {
		t.Helper()
		request, err := http.NewRequest(method, base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer test")
		request.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(headers); i += 2 {
			request.Header.Set(headers[i], headers[i+1])
		}
		return answerOf(t, client, request)
	}
	send(http.MethodPost, textURL, demoText)
	send(http.MethodPost, textURL, demoText, "X-Service-SSE", "enable")
	send(http.MethodPost, textURL, demoText, "Authorization", "Bearer wrong")
	send(http.MethodPost, textURL, "{}")
	task := regexp.MustCompile(`"task_id":"([^"]+)"`).FindStringSubmatch(
		send(http.MethodPost, imageURL, fmt.Sprintf(imageTask, 1), "X-Service-Async", "enable"))
	if task == nil {
		t.Fatal("no task was made")
	}
	for tries := 0; !strings.Contains(send(http.MethodGet, "/api/v1/tasks/"+task[1], "", "Prefer", "wait=10"), `"SUCCEEDED"`); tries++ {
		if tries == 10 {
			t.Fatal("the task did not end")
		}
	}
	service.SetFault(simulator.Fault{Times: 1, Error: &simulator.FaultError{Status: http.StatusBadRequest, Code: "Arrearage"}})
	send(http.MethodPost, textURL, demoText)
	rewrite(t, teams, "faulty")
	if _, err := h.log.find(t.Context(), regexp.MustCompile("teams file refused")); err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequest(http.MethodGet, "http://"+h.admin+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	page := answerOf(t, client, request)
	if code := h.stop(); code != exitClean {
		t.Errorf("exit code %d", code)
	}
	return page
}

// answerOf sends a request and reads the answer, whatever its status.
func answerOf(t *testing.T, client *http.Client, request *http.Request) string {
	t.Helper()
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// slowCalls are the series of calls to Redis that failed.
var slowCalls = regexp.MustCompile(`(?m)^db_client_operation_duration_seconds\w*\{[^\n]*\berror_type="[^\n]*\n`)

// TestEveryMetricNamedIsScraped checks alerts and dashboard against a page of the process itself.
func TestEveryMetricNamedIsScraped(t *testing.T) {
	page := slowCalls.ReplaceAllString(scrapedPage(t), "")
	scraped := make(map[string]bool)
	for _, match := range regexp.MustCompile(`(?m)^# TYPE (\S+) `).FindAllStringSubmatch(page, -1) {
		scraped[match[1]] = true
	}
	named, missing := make(map[string]bool), make(map[string]bool)
	for where, expr := range expressions(t) {
		for _, name := range metricsIn(expr) {
			if whole := parts.ReplaceAllString(name, ""); scraped[whole] || unseen[whole] != "" {
				name = whole // a part of a histogram
			}
			named[name] = true
			if !scraped[name] {
				missing[name] = true
				if unseen[name] == "" {
					t.Errorf("%s names %s, which is not on the page", where, name)
				}
			}
		}
		for _, label := range strangers(expr, page) {
			missing[label] = true
			name, _, _ := strings.Cut(label, "{")
			if unseen[label] == "" && unseen[name] == "" && unseen[parts.ReplaceAllString(name, "")] == "" {
				t.Errorf("%s matches by %s, a label of no series", where, label)
			}
		}
	}
	for name := range unseen {
		if !missing[name] {
			t.Errorf("%s is scraped, or nothing names it: take its row out of the table", name)
		}
	}
	if len(named) < 25 || len(scraped) == 0 {
		t.Errorf("%d metrics are named, %d scraped", len(named), len(scraped))
	}
	if t.Failed() {
		t.Log(page)
	}
}

// TestPrometheusReadsEveryExpression passes them to Prometheus's own parser, as rules.
func TestPrometheusReadsEveryExpression(t *testing.T) {
	promtool := deployTool(t, "promtool")
	type rule struct{ Record, Expr string }
	var list []rule
	for where, expr := range expressions(t) {
		list = append(list, rule{fmt.Sprintf("x%d:%s", len(list), regexp.MustCompile(`\W`).ReplaceAllString(where, "_")), expr})
	}
	doc, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "all", "rules": list}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := promtool("check", "rules", write(t, string(doc))); err != nil {
		t.Error(err)
	}
}

// Every alert has a test in which it fires, and is on the operators' page in the row of its severity.
func TestEveryAlertIsTriedAndTold(t *testing.T) {
	tried, page := readRoot(t, "deploy/alerts_test.yml"), readRoot(t, "docs/operating.md")
	for _, group := range readYAML[rules](t, "chart/files/alerts.yml").Groups {
		for _, rule := range group.Rules {
			if !strings.Contains(tried, `alertname="`+rule.Alert+`"`) {
				t.Errorf("%s fires in no test", rule.Alert)
			}
			if !regexp.MustCompile(`(?m)^\| ` + rule.Labels["severity"] + `: .*` + "`" + rule.Alert + "`").MatchString(page) {
				t.Errorf("docs/operating.md does not name %s as %s", rule.Alert, rule.Labels["severity"])
			}
		}
	}
}
