package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"

	"sluice/gateway/admin"
	"sluice/gateway/simulator"
	"sluice/policy/unit"
)

// ofMicros is a teams file of a house that is too large for nine digits.
const ofMicros = "currency: IDR\ncurrency_digits: 6\nhouse: {quotas: {spend: {month: 9007199254}}}\n" + someTeams +
	"prices: [{model: \"llm-*\", input_per_million: 3.5, output_per_million: 1.000001}]\n"

// With currency_digits 6 a large quota, the charge of a request, the ledger by kind, its bill and the metrics agree, in memory and in
// Redis.
func TestAHouseThatCountsInMicros(t *testing.T) {
	for name, variables := range map[string][]string{"memory": nil, "Redis": {"SLUICE_REDIS_URL=" + startRedis(t).url()}} {
		t.Run(name, func(t *testing.T) {
			_, upstream := newService(t, simulator.Config{})
			h := serving(t, upstream.URL, append(variables, "SLUICE_TEAMS_FILE="+write(t, ofMicros))...)
			defer h.stop()
			if status, text, err := ask(newClient(t), "http://"+h.public, textURL, demoText); status != 200 || err != nil {
				t.Fatal(status, text, err)
			}
			environ := with(append(variables, "SLUICE_ADMIN_LISTEN="+h.admin, "SLUICE_TEAMS_FILE="+write(t, ofMicros))...)
			var report admin.UsageReport
			wait(t, "it is charged", func() bool {
				got := command(t.Context(), environ, "usage", "--kinds", "--json")
				must(t, json.Unmarshal([]byte(got.stdout), &report))
				return len(report.Rows) > 1
			})
			uses, err := report.Uses()
			must(t, err)
			var sum int64
			for i := range uses {
				rate, tokens := map[string]float64{"input": 3.5, "output": 1.000001}[uses[i].Kind], float64(uses[i].Used[unit.Tokens])
				if want := int64(math.Ceil(tokens * rate)); uses[i].Used[unit.Spend] != want {
					t.Errorf("%+v, want %d", uses[i], want)
				}
				sum += uses[i].Used[unit.Spend]
			}
			wait(t, "it is logged", func() bool { return strings.Contains(string(h.log.bytes()), `"msg":"request"`) })
			spent := unit.Micros.Written(unit.NameSpend, sum)
			bill := write(t, command(t.Context(), environ, "usage", "--focus").stdout)
			for text, want := range map[string]string{
				command(t.Context(), environ, "usage").stdout:           "spend IDR  " + spent,
				askOK(t, "http://"+h.admin+"/readyz?verbose"):           " of 9007199254 (0 %)",
				askOK(t, "http://"+h.admin+"/metrics"):                  "sluice_spend_total{",
				command(t.Context(), environ, "reconcile", bill).text(): "spend IDR                 " + spent + "  " + spent + "  0 (0%)",
				string(h.log.bytes()):                                   `"spend":` + spent,
			} {
				if !strings.Contains(text, want) {
					t.Errorf("%s\nwant %s", text, want)
				}
			}
			metric := regexp.MustCompile(`sluice_spend_total\{.*\} (\S+)`).FindStringSubmatch(askOK(t, "http://"+h.admin+"/metrics"))
			var shown float64
			if metric != nil {
				_, _ = fmt.Sscan(metric[1], &shown)
			}
			if math.Abs(shown-float64(sum)/1e6) > 1e-9 {
				t.Errorf("the metric has %v, the ledger %s", metric, spent)
			}
		})
	}
}

func askOK(t *testing.T, url string) string {
	t.Helper()
	text, err := askAdmin(t.Context(), url)
	must(t, err)
	return string(text)
}

// refusesOtherDigits expects a replica that lost the race of the first charge to say so: to the balancer, in the log once, and to clients.
func refusesOtherDigits(t *testing.T, h *house) {
	t.Helper()
	const fault = "currency_digits: got 9, allowed: 6"
	page := "http://" + h.admin + "/readyz?verbose"
	wait(t, "it is not ready", func() bool {
		text, err := askAdmin(t.Context(), page)
		return err != nil && strings.HasSuffix(err.Error(), " 503 Service Unavailable") && strings.HasPrefix(string(text), "not ready: ") &&
			strings.Count(string(text), fault) == 2
	})
	for range 2 {
		status, text, err := ask(newClient(t), "http://"+h.public, textURL, demoText)
		if status != 503 || err != nil || !strings.Contains(text, "currency_digits") {
			t.Error(status, text, err)
		}
	}
	wait(t, "the requests are logged", func() bool { return strings.Count(string(h.log.bytes()), `"msg":"request"`) == 2 })
	if n := strings.Count(string(h.log.bytes()), `"level":"ERROR","msg":"currency"`); n != 1 {
		t.Errorf("%d lines at error level: %s", n, h.log.bytes())
	}
}

// Another value than that of the first charge is a fault: of a reload, of a start and of sluice check.
func TestDigitsAreFixedOnceAnythingWasCharged(t *testing.T) {
	_, upstream := newService(t, simulator.Config{})
	redis, path := "SLUICE_REDIS_URL="+startRedis(t).url(), write(t, ofMicros)
	variables := []string{redis, "SLUICE_TEAMS_FILE=" + path, "SLUICE_TEAMS_POLL=10ms"}
	inNanos := strings.NewReplacer("currency_digits: 6\n", "", "9007199254", "9007199").Replace(ofMicros)
	nanos := []string{redis, "SLUICE_TEAMS_FILE=" + write(t, inNanos)}
	if got := command(t.Context(), with(nanos...), "check"); got.code != exitClean {
		t.Fatalf("nothing was charged: %+v", got)
	}
	h := serving(t, upstream.URL, variables...)
	defer h.stop()
	wait(t, "the house is looked at", func() bool {
		return strings.Contains(askOK(t, "http://"+h.admin+"/readyz?verbose"), " 0 of 9007199254")
	})
	if got := command(t.Context(), with(nanos...), "check"); got.code != exitClean {
		t.Fatalf("nothing was charged yet: %+v", got)
	}
	second := serving(t, upstream.URL, nanos...)
	defer second.stop()
	if status, text, err := ask(newClient(t), "http://"+h.public, textURL, demoText); status != 200 || err != nil {
		t.Fatal(status, text, err)
	}
	refusesOtherDigits(t, second)
	must(t, os.WriteFile(path, []byte(inNanos), 0o600))
	const fault = "SLUICE_TEAMS_FILE: currency_digits: got 9, allowed: 6, which is fixed once anything was charged, and while a process runs"
	if text := strings.Join(strings.Fields(readRoot(t, "docs/money.md")), " "); !strings.Contains(text,
		"`"+strings.Replace(fault, "got 9, allowed: 6", "got 6, allowed: 9", 1)+"`") {
		t.Error("docs/money.md has another text")
	}
	wait(t, "the reload is refused", func() bool {
		text := askOK(t, "http://"+h.admin+"/readyz?verbose")
		return strings.Contains(text, "teams: faulty, the previous content stays in force (") &&
			strings.Contains(text, " refused since the start): "+fault)
	})
	for _, args := range [][]string{{"check"}, {"serve"}} {
		environ := append(with(nanos...), "SLUICE_LISTEN=127.0.0.1:0", "SLUICE_ADMIN_LISTEN=127.0.0.1:0", "SLUICE_CONSOLE_LISTEN=off")
		if got := command(t.Context(), environ, args...); got.code != exitFaulty || !strings.Contains(got.stderr, fault) {
			t.Errorf("%s: %+v", args, got)
		}
	}
	if got := command(t.Context(), with(redis, "SLUICE_TEAMS_FILE="+write(t, ofMicros)), "check"); got.code != exitClean {
		t.Errorf("the same value: %+v", got)
	}
}

// sluice adjust takes the digits of what was charged, whatever its teams file says. Before the first charge it refuses, and leaves the
// choice to the house.
func TestAdjustLeavesTheDigitsToTheHouse(t *testing.T) {
	_, upstream := newService(t, simulator.Config{})
	server := startRedis(t)
	redis := "SLUICE_REDIS_URL=" + server.url()
	inNanos := strings.NewReplacer("currency_digits: 6\n", "", "9007199254", "9007199").Replace(ofMicros)
	none := append(with(redis), "SLUICE_TEAMS_FILE="+t.TempDir()+"/none")
	files := [][]string{none, with(redis, "SLUICE_TEAMS_FILE="+write(t, inNanos)), with(redis, "SLUICE_TEAMS_FILE="+write(t, ofMicros))}
	adjust := func(environ []string, unit, delta string) outcome {
		return command(t.Context(), environ, "adjust", "--team=search", "--unit="+unit, "--delta="+delta, "--reason=x")
	}
	for _, environ := range files {
		if got := adjust(environ, "requests", "1"); got.code != exitFailure ||
			!strings.Contains(got.stderr, "nothing was charged in this Redis yet: there is nothing to correct") {
			t.Errorf("nothing was charged: %+v", got)
		}
	}
	h := serving(t, upstream.URL, redis, "SLUICE_TEAMS_FILE="+write(t, ofMicros))
	defer h.stop()
	if status, text, err := ask(newClient(t), "http://"+h.public, textURL, demoText); status != 200 || err != nil {
		t.Fatal(status, text, err)
	}
	wait(t, "the team is named", func() bool { return server.do("SISMEMBER", "sl1:teams", "search") == int64(1) })
	for _, environ := range files {
		if got := adjust(environ, "spend", "9007199.5"); got.code != exitClean ||
			!strings.Contains(got.stdout, "spend of team search by 9007199.5: ") {
			t.Errorf("six digits hold it: %+v", got)
		}
		if got := adjust(environ, "spend", "0.0000001"); got.code != exitFaulty || !strings.Contains(got.stderr, "up to 6 decimals") {
			t.Errorf("a seventh digit: %+v", got)
		}
	}
}
