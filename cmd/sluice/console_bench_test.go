package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sluice/gateway/simulator"
	"sluice/policy/limit"
	"sluice/telemetry/recent"
)

// The largest house: a thousand teams, four hundred days of three models each, and the last ten thousand requests.
const (
	benchTeams    = 1000
	benchRequests = 10_000
)

func benchModels(int) []string { return []string{"llm-plus", "llm-max", "gen2.6-image"} }

// BenchmarkConsole measures the heaviest pages over HTTP, from a serve with its accounts in a redis-server: the time to the first byte
// and to the last one, medians, least and most. The "first" are the first pages of a process that has just been started. BENCH_LOCK
// names a file that is locked while it measures, for machines that several share.
func BenchmarkConsole(b *testing.B) {
	store := startRedis(b)
	h := &benchHouse{B: b, teams: fillHouse(b, store, benchTeams, benchModels), store: store}
	_, service := newService(b, simulator.Config{})
	h.service = service.URL
	begun := time.Now()
	h.start()
	for h.visit(h.money("team")).status != http.StatusOK {
		time.Sleep(500 * time.Millisecond)
	}
	b.Logf("all sums were made %v after the start", time.Since(begun).Round(time.Second))
	if name := os.Getenv("BENCH_LOCK"); name != "" {
		file, err := os.Create(name)
		if err != nil || syscall.Flock(int(file.Fd()), syscall.LOCK_EX) != nil {
			b.Fatalf("%s: %v", name, err)
		}
		defer func() { _ = file.Close() }()
	}
	for _, path := range []string{"/now", "/teams", "/teams/team-007", "/tasks", "/requests", "/money", h.money("team"), h.money("model"),
		h.money("tag")} {
		b.Run(path+"/next", func(b *testing.B) { h.measure(b, path, func() { time.Sleep(2 * time.Second) }) })
	}
	for _, path := range []string{"/requests", "/money", h.money("team")} {
		b.Run(path+"/first", func(b *testing.B) { h.measure(b, path, func() { h.stop(); h.start() }) })
	}
	h.stop()
}

// benchHouse is a serve, and an operator's browser.
type benchHouse struct {
	*testing.B
	store          *redisServer
	teams, service string
	serve          *house
	console        string
	browser        *http.Client
}

func (h *benchHouse) start() {
	h.serve = serving(h, h.service, "SLUICE_TEAMS_FILE="+h.teams, "SLUICE_REDIS_URL="+h.store.url(), "SLUICE_CONSOLE_LISTEN=127.0.0.1:0",
		"SLUICE_CONSOLE_TOKEN_FILE="+write(h, operatorsToken))
	h.console, h.browser = consoleOf(h, h.serve), newBrowser(h)
	if status, body := visitPage(h, h.browser, h.console+"/login", url.Values{"secret": {operatorsToken}}); status != http.StatusOK {
		h.Fatalf("login: %d %s", status, body)
	}
	time.Sleep(100 * time.Millisecond)
}

func (h *benchHouse) stop() {
	h.browser.CloseIdleConnections()
	if code := h.serve.stop(); code != exitClean {
		h.Fatalf("exit code %d", code)
	}
}

// money is the page of all days, added up in one way.
func (h *benchHouse) money(by string) string {
	now := time.Now().UTC()
	return fmt.Sprintf("/money?by=%s&from=%s&to=%s", by, now.AddDate(0, 0, 1-limit.LedgerDays).Format(time.DateOnly),
		now.Format(time.DateOnly))
}

// visited is how a page came.
type visited struct {
	status      int
	first, last time.Duration
}

func (h *benchHouse) visit(path string) (v visited) {
	h.Helper()
	var begun time.Time
	ctx := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{GotFirstResponseByte: func() {
		v.first = time.Since(begun)
	}})
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, h.console+path, http.NoBody)
	if err != nil {
		h.Fatal(err)
	}
	begun = time.Now()
	answer, err := h.browser.Do(request)
	if err != nil {
		h.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		h.Fatal(err)
	}
	v.status, v.last = answer.StatusCode, time.Since(begun)
	return v
}

// measure visits a page repeatedly, and calls a function before each visit.
func (h *benchHouse) measure(b *testing.B, path string, before func()) {
	var firsts, lasts []time.Duration
	for b.Loop() {
		before()
		v := h.visit(path)
		if v.status != http.StatusOK {
			b.Fatalf("%s: %d", path, v.status)
		}
		firsts, lasts = append(firsts, v.first), append(lasts, v.last)
	}
	slices.Sort(firsts)
	slices.Sort(lasts)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	n := len(firsts)
	b.ReportMetric(ms(firsts[n/2]), "first-byte-ms")
	b.ReportMetric(ms(firsts[0]), "least-ms")
	b.ReportMetric(ms(firsts[n-1]), "most-ms")
	b.ReportMetric(ms(lasts[n/2]), "last-byte-ms")
	b.ReportMetric(0, "ns/op") // it has the wait
}

// fillHouse writes a ledger of some teams as the scripts do, and requests as a process does, and returns the path of the teams file. models
// are those of a team.
func fillHouse(b testing.TB, store *redisServer, count int, models func(team int) []string) string {
	b.Helper()
	file, now := &strings.Builder{}, time.Now().UTC()
	fmt.Fprintln(file, "teams:")
	for n := range count {
		team := fmt.Sprintf("team-%03d", n)
		fmt.Fprintf(file, "  - {id: %s, quotas: {tokens: {day: 1000000}}}\n", team)
		pipe := store.admin.Pipeline()
		pipe.SAdd(b.Context(), "sl1:teams", team)
		for ago := range limit.LedgerDays {
			day := now.AddDate(0, 0, -ago).Format("20060102")
			values := []any{"day", day}
			for m, model := range models(n) {
				name := model + "|text|"
				values = append(values, name+"requests", 100+n+m, name+"tokens", 90_000+n, name+"spend", 72_000_000+ago, name+"spend|estimated", m)
			}
			pipe.HSet(b.Context(), fmt.Sprintf("sl1:{%s}:use:%s", team, day), values...)
		}
		if _, err := pipe.Exec(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	post := &recent.Post{From: "benchmark"}
	for n := range benchRequests {
		at := now.Add(time.Duration(n-benchRequests) * 10 * time.Millisecond)
		post.Lines = append(post.Lines, recent.Line{At: at, Text: fmt.Sprintf(
			`{"time":%q,"level":"INFO","msg":"request","id":"req-%d","team":"team-%03d","model":"llm-plus","status":200,"ms":812.5,"tokens":950,`+
				`"spend":0.0019}`,
			at.Format(time.RFC3339Nano), n, n%count)})
	}
	if err := recent.NewRedis(store.admin, time.Now).Post(b.Context(), post); err != nil {
		b.Fatal(err)
	}
	return write(b, file.String())
}
