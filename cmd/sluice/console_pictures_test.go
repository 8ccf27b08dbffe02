package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"sluice/cmd/sluice/browsertest"
	"sluice/gateway/simulator"
	"sluice/policy/limit"
)

// TestPicturesOfALargeHouse draws every page of a gateway with 300 teams, 60 models and 400 days in SCREENSHOTS: full, without its
// service, and without Redis. ONLY chooses, such as full-money,redis-. The pictures are for people who look at them.
func TestPicturesOfALargeHouse(t *testing.T) {
	if !isLong() || os.Getenv("SCREENSHOTS") == "" {
		t.Skip("LONG=1 draws 500 pictures in the folder SCREENSHOTS")
	}
	store := startRedis(t)
	file := fillHouse(t, store, 300, func(team int) []string {
		return []string{fmt.Sprintf("llm-%d-preview-2026-09", team%59), "gen2.6-image"}
	})
	_, service := newService(t, simulator.Config{})
	h := serving(t, service.URL, "SLUICE_TEAMS_FILE="+file, "SLUICE_REDIS_URL="+store.url(), "SLUICE_CONSOLE_LISTEN=127.0.0.1:0",
		"SLUICE_CONSOLE_TOKEN_FILE="+write(t, operatorsToken))
	console, tab := consoleOf(t, h), browsertest.New(t)
	signIn := func() {
		browsertest.Open(tab, t, console+"/login")
		press(tab, t, "form button", map[string]string{"input[name=secret]": operatorsToken})
	}
	signIn()
	from := time.Now().UTC().AddDate(0, 0, 1-limit.LedgerDays).Format(time.DateOnly)
	browsertest.Open(tab, t, console+"/money?from="+from)
	for begun := time.Now(); strings.Contains(textIn(tab, t), "being added up"); time.Sleep(time.Second) {
		if time.Since(begun) > 5*time.Minute {
			t.Fatal("the sums of past days are not made")
		}
		browsertest.Open(tab, t, console+"/money?from="+from)
	}
	browsertest.Open(tab, t, console+"/new-team")
	press(tab, t, ".actions button", map[string]string{"#f-id": "mill"})
	press(tab, t, `form[action="/teams/mill/keys"] button`, map[string]string{`input[name="note"]`: "the indexer"})
	key := browsertest.Evaluate[string](tab, t, `document.getElementById("key").textContent`)
	client := newClient(t)
	ask := func(want int) {
		eventually(t, func() bool {
			status, _, err := askAs(client, key, "http://"+h.public, textURL, demoText)
			return err == nil && status == want
		})
	}
	ask(http.StatusOK)
	pages := map[string]string{
		"now": "/now", "teams": "/teams", "teams-near": "/teams?sort=near", "team": "/teams/team-007", "team-new": "/teams/mill",
		"tasks": "/tasks", "requests": "/requests", "refusals": "/refusals", "latency": "/latency",
		"accounts": "/accounts", "rules": "/rules", "audit": "/audit", "config": "/config", "deliveries": "/events",
		"search": "/search?q=team-00", "form": "/new-team",
		"money": "/money?from=" + from, "money-model": "/money?by=model&from=" + from, "money-kind": "/money?by=kind&from=" + from,
		"money-day": "/money?by=day&from=" + from, "money-month": "/money",
	}
	draw := func(state string) {
		for name, path := range pages {
			if about := state + "-" + name; chosen(about) {
				drawPage(tab, t, about, console+path)
			}
		}
	}
	time.Sleep(15 * time.Second) // until minutes are posted
	draw("full")
	service.Close()
	for range 5 {
		ask(http.StatusBadGateway)
	}
	time.Sleep(15 * time.Second)
	draw("service")
	store.kill()
	time.Sleep(3 * time.Second)
	if chosen("redis-login") {
		drawPage(tab, t, "redis-login", console+"/now")
	}
	signIn()
	draw("redis")
}

// chosen reports whether ONLY, if it is set, names a picture.
func chosen(about string) bool {
	for only := range strings.SplitSeq(cmp.Or(os.Getenv("ONLY"), about), ",") {
		if strings.HasPrefix(about, only) {
			return true
		}
	}
	return false
}

// drawPage draws a page in each look.
func drawPage(tab context.Context, t *testing.T, about, address string) {
	t.Helper()
	browsertest.Open(tab, t, address)
	for _, width := range []int64{1440, 1024, 390, 3840} {
		for _, scheme := range []string{"light", "dark"} {
			browsertest.Resize(tab, t, width, scheme)
			browsertest.Screenshot(tab, t, fmt.Sprintf("%s-%d-%s", about, width, scheme))
		}
	}
}
