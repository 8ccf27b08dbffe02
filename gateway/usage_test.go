package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/gateway/stores"
	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// A team sees its standing in every limit, and its requests in flight.
func TestUsage(t *testing.T) {
	h := build(t, limited("models: [\"llm-*\", \"gen2.6-*\"]", "rates: {requests: {per: 1m, limit: 60, burst: 20}}",
		"quotas: {images: {day: 8}, requests: {month: 100}}", "concurrent: 4", "open_tasks: 3"))
	task := h.ask("POST", imagePath, imageBody, "X-Service-Async", "enable").member(t, "output", "task_id")
	got := h.ask("GET", "/sluice/v1/usage", "")
	id := got.header.Get("Sluice-Request-Id")
	if got.status != 200 || !strings.HasPrefix(got.body, `{"request_id":"`+id+
		`","team":"search","models":["llm-*","gen2.6-*"],"endpoints":["text","multimodal","image","tasks","embeddings"],`+
		`"limits":[{"unit":"requests","period":"1m","limit":60,"used":1,"held":0,"left":19,"reset":"`) {
		t.Fatalf("%d %s", got.status, got.body)
	}
	for _, want := range []string{
		`{"unit":"requests","period":"month","limit":100,"used":0,"held":1,"left":99,"reset":"`,
		`{"unit":"images","period":"day","limit":8,"used":0,"held":1,"left":7,"reset":"`,
		`"concurrent":{"limit":4,"used":0}`, `"open_tasks":{"limit":3,"used":1,"tasks":[{"task_id":"` + task +
			`","model":"gen2.6-image","status":"PENDING"}]}}`,
	} {
		if !strings.Contains(got.body, want) {
			t.Errorf("%s is missing in %s", want, got.body)
		}
	}
	if !json.Valid([]byte(got.body)) {
		t.Errorf("no JSON: %s", got.body)
	}
	h.ask("GET", "/sluice/v1/usage", "", "Authorization", "Bearer nobody").wants(t, 401, "authenticate/key", "InvalidApiKey")
	h.ask("POST", "/sluice/v1/usage", "{}").wants(t, 405, "route/method", "InvalidParameter")
	h.ask("GET", "/sluice/v1/other", "").wants(t, 404, "route/path", "NotFound")
}

// TestNoLimitIsNull: a missing limit is null, not 0: a quota of 0 admits nothing.
func TestNoLimitIsNull(t *testing.T) {
	h := build(t, limited("quotas: {images: {day: 0}}"))
	for team, limits := range map[string]string{"shop": `[]`, "search": `[{"unit":"images","period":"day","limit":0,"used":0,"held":0,` +
		`"left":0,"reset":"`} {
		got := h.ask("GET", "/sluice/v1/usage", "", "Authorization", "Bearer "+h.keys[team])
		if !strings.Contains(got.body, `"limits":`+limits) || !strings.Contains(got.body,
			`"concurrent":{"limit":null,"used":0},"open_tasks":{"limit":null,"used":0,"tasks":[]}`) {
			t.Errorf("team %s: %s", team, got.body)
		}
	}
}

// A key that sends broken requests without end must wait; its team's other keys and the well-formed requests of other teams are
// not.
func TestBroken(t *testing.T) {
	at := time.Now() // the clock stands still: on a slow machine the requests take seconds, in which others may be admitted
	h := build(t, func(p *plan) { p.now = func() time.Time { return at } })
	refused := 0
	for range 260 {
		if got := h.ask("POST", textPath, "{"); got.status == 429 {
			got.wants(t, 429, "throttle/broken", "Throttling.RateQuota")
			refused++
		}
	}
	if refused == 0 {
		t.Error("260 broken requests at once, and none was too many")
	}
	if got := h.ask("POST", textPath, textBody, "Authorization", "Bearer "+h.keys["shop"]); got.status != 200 {
		t.Errorf("another team: %d %s", got.status, got.body)
	}
}

// Broken requests are those refused for their content, not for their team or their time.
func TestWhatCountsAsBroken(t *testing.T) {
	at := time.Now() // the clock stands still, so that two hundred are admitted and no more
	for name, tt := range map[string]struct {
		path, body string
		header     []string
		want       bool
	}{
		"media type": {textPath, textBody, []string{"Content-Type", "text/plain"}, true},
		"encoding":   {textPath, textBody, []string{"Content-Encoding", "gzip"}, true},
		"size":       {textPath, textBody + strings.Repeat(" ", 500), nil, true},
		"body":       {textPath, "{", nil, true},
		"rules":      {textPath, `{"model":"llm-max"}`, nil, true},
		"path":       {"/x", textBody, nil, false},
		"model":      {textPath, strings.Replace(textBody, "llm-max", "llm-min", 1), nil, false},
		"good":       {textPath, textBody, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := build(t, limited("models: [llm-max]"), func(p *plan) { p.now, p.config.MaxBody = func() time.Time { return at }, 500 })
			for range 200 {
				h.ask("POST", tt.path, tt.body, tt.header...)
			}
			h.records.await(t, 200)
			got := h.ask("POST", textPath, textBody)
			if tt.want {
				got.wants(t, 429, "throttle/broken", "Throttling.RateQuota")
			} else if got.status != 200 {
				t.Errorf("the next is answered %d %s", got.status, got.body)
			}
		})
	}
}

// ledgerOf requests a team's ledger, and returns its rows without the amounts.
func (h *harness) ledgerOf(t *testing.T, team, query string) (rows []string, got reading) {
	t.Helper()
	got = h.ask("GET", "/sluice/v1/usage"+query, "", "Authorization", "Bearer "+h.keys[team])
	var body struct {
		Ledger []map[string]any `json:"ledger"`
	}
	if err := json.Unmarshal([]byte(got.body), &body); got.status != 200 || err != nil {
		t.Fatalf("%s: %d %s (%v)", query, got.status, got.body, err)
	}
	for _, row := range body.Ledger {
		rows = append(rows, fmt.Sprint(row["day"], " ", row["model"], " ", row["endpoint"], " ", row["unit"]))
		if len(row) != 6 {
			t.Errorf("a row is %v", row)
		}
	}
	return rows, got
}

// dayFrom names a day by its distance from the given time.
func dayFrom(at time.Time) func(n int) string {
	return func(n int) string { return at.UTC().AddDate(0, 0, n).Format(time.DateOnly) }
}

// TestLedgerOfTheTeam: a team reads its own ledger by day, model, endpoint and unit, with estimates apart, and no
// other team's.
func TestLedgerOfTheTeam(t *testing.T) {
	clock := &handClock{at: time.Now()}
	day := dayFrom(clock.now())
	h := build(t, func(p *plan) { p.now = clock.now })
	for n := range 3 {
		if n > 0 {
			clock.move(24 * time.Hour)
		}
		h.ask("POST", textPath, strings.Replace(textBody, "llm-max", fmt.Sprintf("llm-%d", n), 1))
		h.ask("POST", multimodalPath, syncBody, "Authorization", "Bearer "+h.keys["shop"])
	}
	h.records.await(t, 6)
	var want []string
	for n := range 3 {
		for _, unit := range []string{"requests", "tokens"} {
			want = append(want, fmt.Sprintf("%s llm-%d text %s", day(n), n, unit))
		}
	}
	for query, want := range map[string][]string{
		"?days=1": want[4:], "?days=2": want[2:], "?days=400": want, "?from=" + day(0): want, "?to=" + day(1): want[2:4],
		"?from=" + day(0) + "&to=" + day(1): want[:4], "?days=3&team=shop&x=": want, "?from=" + day(-9) + "&to=" + day(-1): nil, "": nil,
	} {
		rows, got := h.ledgerOf(t, "search", query)
		if diff := cmp.Diff(want, rows); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
		if empty := strings.Contains(got.body, `"ledger":[]`); empty != (want == nil && query != "") ||
			query == "" && strings.Contains(got.body, "ledger") {
			t.Errorf("%s: %s", query, got.body)
		}
	}
	rows, err := h.balances.Rows(t.Context(), limit.Query{Teams: []string{"search"}, Days: days(clock.now(), 1)})
	if err != nil || len(rows) != 1 {
		t.Fatalf("%v, %v", rows, err)
	}
	_, got := h.ledgerOf(t, "search", "?days=1")
	if end := fmt.Sprintf(`"ledger":[{"day":"%[1]s","model":"llm-2","endpoint":"text","unit":"requests","used":1,"estimated":0},`+
		`{"day":"%[1]s","model":"llm-2","endpoint":"text","unit":"tokens","used":%[2]d,"estimated":0}]}`, day(2),
		rows[0].Used[limit.Tokens]); !strings.HasSuffix(got.body, end) {
		t.Errorf("%s\nends not with\n%s", got.body, end)
	}
	if rows, _ := h.ledgerOf(t, "shop", "?days=1"); len(rows) != 2 || !strings.Contains(rows[1], "llm-image-2.0 multimodal images") {
		t.Errorf("the other team: %v", rows)
	}
}

// TestFaultyQueries: a faulty query is refused with the given and the allowed values.
func TestFaultyQueries(t *testing.T) {
	clock := &handClock{at: time.Now()}
	day := dayFrom(clock.now())
	h := build(t, func(p *plan) { p.now = clock.now })
	for query, want := range map[string]string{
		"?days=0":                             `days: given "0", allowed a whole number from 1 to 400`,
		"?days=401":                           `days: given "401", allowed a whole number from 1 to 400`,
		"?days=":                              `days: given "", allowed a whole number from 1 to 400`,
		"?days=1.5":                           `days: given "1.5", allowed a whole number from 1 to 400`,
		"?days=99999999999999999999":          `days: given "99999999999999999999", allowed a whole number from 1 to 400`,
		"?days=1&days=2":                      "days: given 2 times, allowed once",
		"?days=1&from=" + day(0):              "days: given beside from or to, allowed either",
		"?from=2026-02-30":                    `from: given "2026-02-30", allowed a day such as ` + day(0),
		"?to=today":                           `to: given "today", allowed a day such as ` + day(0),
		"?from=":                              `from: given "", allowed a day such as ` + day(0),
		"?from=" + day(1):                     `from: given "` + day(1) + `", allowed a day from ` + day(-399) + " to " + day(0),
		"?from=" + day(-400):                  `from: given "` + day(-400) + `", allowed a day from ` + day(-399) + " to " + day(0),
		"?from=" + day(0) + "&from=" + day(0): "from: given 2 times, allowed once",
		"?days=%zz":                           `days: given "days=%zz", allowed name=value, escaped`,
		"?days=%22" + strings.Repeat("9", 99) + "%0a": `days: given "\"` + strings.Repeat("9", 63) + `…", allowed a whole number from 1 to 400`,
	} {
		got := h.ask("GET", "/sluice/v1/usage"+query, "")
		got.wants(t, 400, "inspect/rules", "InvalidParameter")
		if said := got.member(t, "message"); said != want {
			t.Errorf("%s says %s\nwant %s", query, said, want)
		}
	}
}

// TestUnreadableQueries: an unknown parameter is dropped, readable or not; one that names days is refused if it
// cannot be read.
func TestUnreadableQueries(t *testing.T) {
	h := build(t)
	for query, want := range map[string]int{
		"?a;b": 200, "?%zz": 200, "?x=%zz&y": 200, "?%zz=days": 200, "?daysoff;x": 200, "?" + strings.Repeat("a&", 10_001): 200,
		"?a;b&days=1": 200, "?days=1&%zz": 200, "?" + strings.Repeat("&", 10_001) + "days=1": 200,
		"?days=%zz": 400, "?days=1;x": 400, "?from=%": 400, "?x&to=1;2": 400, "?a;days=3": 400, "?%64ays=%zz": 400, "?days;": 400,
		"?" + strings.Repeat("&", 10_001) + "days=0": 400,
	} {
		got := h.ask("GET", "/sluice/v1/usage"+query, "")
		if got.status != want {
			t.Errorf("%.40s: %d %s", query, got.status, got.body)
		}
		if asks := strings.Contains(query, "days=1"); want == 200 && strings.Contains(got.body, `"ledger":[`) != asks {
			t.Errorf("%.40s: %s", query, got.body)
		}
	}
}

// ledgerReader counts readings of the ledger, and how many run concurrently. Each waits until the test releases it.
type ledgerReader struct {
	stores.Balances
	reads, now, most atomic.Int64
	wait             chan struct{}
	rows             []limit.Row
	err              error
}

func (c *ledgerReader) Rows(ctx context.Context, q limit.Query) ([]limit.Row, error) {
	c.reads.Add(1)
	now := c.now.Add(1)
	defer c.now.Add(-1)
	for most := c.most.Load(); now > most && !c.most.CompareAndSwap(most, now); most = c.most.Load() {
	}
	<-c.wait
	if len(c.rows) > q.Most {
		return nil, limit.ErrRows
	}
	return c.rows, errors.Join(c.err, ctx.Err())
}

// TestLedgerIsReadWhenAskedFor: without a query nothing more is read than before; this process reads one ledger at a
// time for all teams, so that no team keeps the accounts busy; and a ledger that cannot be read is 503.
func TestLedgerIsReadWhenAskedFor(t *testing.T) {
	c := &ledgerReader{Balances: limit.NewMemory(time.Now), wait: make(chan struct{}), err: errors.New("away")}
	h := build(t, func(p *plan) { p.balances = c })
	h.ask("GET", "/sluice/v1/usage", "")
	if n := c.reads.Load(); n != 0 {
		t.Fatalf("read %d times without a query", n)
	}
	answers := make(chan reading, 5)
	for range 4 {
		go func() { answers <- h.ask("GET", "/sluice/v1/usage?days=1", "") }()
	}
	go func() {
		answers <- h.ask("GET", "/sluice/v1/usage?days=1", "", "Authorization", "Bearer "+h.keys["shop"])
	}()
	for c.reads.Load() < 1 {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(20 * time.Millisecond) // so that further ones would show
	if n := c.reads.Load(); n != 1 {
		t.Errorf("%d readings at once", n)
	}
	close(c.wait)
	for range 5 {
		(<-answers).wants(t, 503, "admit/state", "ServiceUnavailable")
	}
	if c.reads.Load() != 5 || c.most.Load() > 1 {
		t.Errorf("%d readings, %d at once", c.reads.Load(), c.most.Load())
	}
}

// TestLedgerWaitsForItsTurn: a request that has waited too long for another's reading is refused with Retry-After,
// and a slow reading harms no later one.
func TestLedgerWaitsForItsTurn(t *testing.T) {
	parallel(t)
	c := &ledgerReader{Balances: limit.NewMemory(time.Now), wait: make(chan struct{})}
	h := build(t, func(p *plan) { p.balances = c })
	first := make(chan reading, 1)
	go func() { first <- h.ask("GET", "/sluice/v1/usage?days=1", "") }()
	for c.reads.Load() < 1 {
		time.Sleep(time.Millisecond)
	}
	got := h.ask("GET", "/sluice/v1/usage?days=1", "", "Authorization", "Bearer "+h.keys["shop"])
	got.wants(t, 503, "admit/state", "ServiceUnavailable")
	if got.header.Get("Retry-After") == "" || c.reads.Load() != 1 {
		t.Errorf("%v after %d readings", got.header, c.reads.Load())
	}
	close(c.wait)
	<-first
	for range 3 {
		h.ledgerOf(t, "search", "?days=1")
		h.ledgerOf(t, "shop", "?days=1")
	}
}

// TestLedgerOfTooManyRows: a report is bounded, and a longer one is refused with the advice to request fewer days.
func TestLedgerOfTooManyRows(t *testing.T) {
	c := &ledgerReader{Balances: limit.NewMemory(time.Now), wait: make(chan struct{})}
	close(c.wait)
	for n := range 5000 {
		c.rows = append(c.rows, limit.Row{Day: 20261121, Model: fmt.Sprint("m", n), Endpoint: "text", Used: limit.Amounts{limit.Requests: 1}})
	}
	h := build(t, func(p *plan) { p.balances = c })
	if rows, _ := h.ledgerOf(t, "search", "?days=2"); len(rows) != 5000 {
		t.Errorf("%d rows", len(rows))
	}
	c.rows = append(c.rows, c.rows[0])
	for range 2 {
		got := h.ask("GET", "/sluice/v1/usage?days=30", "")
		got.wants(t, 400, "inspect/rules", "InvalidParameter")
		if said := got.member(t, "message"); said != "days: given 30 with more than 5000 rows of a day, a model and an endpoint, allowed "+
			"5000: ask for fewer days" {
			t.Error(said)
		}
	}
}

// A raised quota shows its limit with the raises, and beside it the limit without them and each raise.
func TestUsageOfARaisedTeam(t *testing.T) {
	h := build(t, limited("quotas: {images: {day: 8}, spend: {day: 2.5}}"))
	until := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	raised, _ := parse(t, h.teamsDoc).Raised([]teams.Raise{
		{ID: "a", Team: "search", Unit: unit.NameSpend, Period: teams.PeriodDay, Amount: teams.Nano / 2, Until: until, Reason: "launch"},
		{ID: "b", Team: "shop", Unit: unit.NameSpend, Period: teams.PeriodDay, Amount: 1, Until: until, Reason: "x"},
	}, time.Now())
	h.gateway.SetTeams(raised)
	body := regexp.MustCompile(`"reset":"[^"]+"`).ReplaceAllString(h.ask("GET", "/sluice/v1/usage", "").body, `"reset":"R"`)
	want := `"limits":[{"unit":"images","period":"day","limit":8,"used":0,"held":0,"left":8,"reset":"R"},{"unit":"spend","period":"day",` +
		`"limit":3,"used":0,"held":0,"left":3,"reset":"R","base":2.5,"raises":[{"amount":0.5,"until":"` + until.Format(time.RFC3339) +
		`","reason":"launch"}]}]`
	if !strings.Contains(body, want) {
		t.Errorf("%s is missing in %s", want, body)
	}
}
