package pages_test

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/html"

	"sluice/gateway/console/access"
	"sluice/gateway/console/figures"
	"sluice/gateway/console/pages"
	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/telemetry/recent"
)

// TestAFormMakesOneKey: sent again, as by a reload, it makes none and says where to look.
func TestAFormMakesOneKey(t *testing.T) {
	g := day(12)
	h := g.handler(operator)
	root := parse(t, get(t, h, "/teams/search"))
	for _, action := range []string{"/teams/search/keys", "/teams/search/keys/7f3k9q2m4x00/rotate"} {
		form := formOf(t, root, action)
		form.Set("ends", "day")
		if g.elsewhere = false; post(t, h, action, form).Code != http.StatusCreated {
			t.Errorf("%s makes no key", action)
		}
		g.elsewhere = true // the key has changed the team
		if w := post(t, h, action, form); w.Code != http.StatusPreconditionFailed ||
			!strings.Contains(textOf(parse(t, w)), "No key was made: the form is older than the team.") {
			t.Errorf("%s again: %d", action, w.Code)
		}
	}
	if !slices.Equal(g.changed, []string{"mint search", "rotate search 7f3k9q2m4x00 2026-11-23"}) {
		t.Errorf("%q", g.changed)
	}
}

// TestTeamsAreSortedAndChosenByTheAddress, in columns that say so.
func TestTeamsAreSortedAndChosenByTheAddress(t *testing.T) {
	h := day(12).handler(operator)
	first := func(path string) string { return textOf(all(all(parse(t, get(t, h, path)), "tbody")[0], "th")[0]) }
	if a, b := first("/teams?sort=spend"), first("/teams?sort=near"); a != "search" || b == "" {
		t.Errorf("the first by spend is %s, by its nearest limit %s", a, b)
	}
	for _, th := range all(all(parse(t, get(t, h, "/teams")), "thead")[0], "th") {
		if to := attribute(all(th, "a")[0], "href"); to != "/teams?" && !strings.HasPrefix(to, "/teams?sort=") {
			t.Errorf("the column %s leads to %q", textOf(th), to)
		}
	}
	root := parse(t, get(t, h, "/teams?sort=refused&only=refused"))
	sorted := ""
	for _, th := range all(root, "th") {
		if attribute(th, "aria-sort") != "" {
			sorted += textOf(th) + " " + attribute(th, "aria-sort")
		}
	}
	if sorted != "Refused descending" || rows(root) == 0 || rows(root) == 12 {
		t.Errorf("sorted by %q, %d rows", sorted, rows(root))
	}
	for _, a := range all(root, "a") {
		if textOf(a) == "Spend" && attribute(a, "href") != "/teams?only=refused&sort=spend" {
			t.Errorf("Spend leads to %s", attribute(a, "href"))
		}
	}
}

// refusedMore has more refusals than are kept.
type refusedMore struct{ pages.Figures }

func (refusedMore) Refused(_ context.Context, _ access.Person, q figures.RefusedQuery) (figures.Refused, error) {
	if q.Failed {
		return figures.Refused{Kept: 970, All: 4000, Groups: []figures.RefusedGroup{{Name: "admit/quota", Count: 9, All: 12},
			{Name: "forward/unreachable", Count: 2, All: 700}}}, nil
	}
	return figures.Refused{Kept: 968, All: 3239, Groups: []figures.RefusedGroup{{Name: "admit/quota", Count: 9, All: 12}}}, nil
}

// TestATotalThatIsNotAllKeptSaysSo, if the filter asks for nothing else.
func TestATotalThatIsNotAllKeptSaysSo(t *testing.T) {
	g := day(12)
	deps := g.deps()
	deps.Figures = refusedMore{deps.Figures}
	h := as(pages.New(deps), operator)
	for query, want := range map[string]string{
		"refusal=any&from=2026-11-22T00:00":                 "968 of 3,239 such requests are kept",
		"refusal=admit/quota&from=2026-11-22T00:00":         "9 of 12 such requests are kept",
		"refusal=all&from=2026-11-22T00:00":                 "970 of 4,000 such requests are kept",
		"refusal=forward/unreachable&from=2026-11-22T00:00": "2 of 700 such requests are kept",
		"refusal=any&polls=true&from=2026-11-22T00:00":      "968 of 3,239 such", "refusal=any&polls=false&from=2026-11-22T00:00": "",
		"refusal=any": "", "refusal=any&from=2026-11-22T00:00&model=llm": "", "from=2026-11-22T00:00": "",
	} {
		text := textOf(parse(t, get(t, h, "/requests?"+query)))
		if want == "" && strings.Contains(text, "are kept, and listed") || !strings.Contains(text, want) {
			t.Errorf("%s: %s", query, text)
		}
	}
}

// TestMoneyIsComparedWithTheDaysBefore: as many days of the month before, or as many as there are. The running day is left out of both.
func TestMoneyIsComparedWithTheDaysBefore(t *testing.T) {
	g := day(12)
	before := map[string][]string{
		"":                              {"2026-10-01 2026-10-21", "+33 % since, without today", "llm-max6.00+25 %", "Changes leave out today"},
		"from=2026-10-01&to=2026-10-31": {"2026-09-01 2026-09-30", "+50 % since", "llm-max6.00+50 %", "gen3.00new"},
		"from=2026-11-16&to=2026-11-22": {"2026-11-10 2026-11-15", "+33 % since, without today"},
		"from=2026-11-15&to=2026-11-21": {"2026-11-08 2026-11-14", "+50 % since"},
		"from=2026-03-01&to=2026-03-30": {"2026-02-01 2026-02-28", "+50 % since"},
		"from=2026-11-22&to=2026-11-22": {"2026-11-21 2026-11-21", "today is not over"},
	}
	var asked sync.Map
	deps := g.deps()
	deps.Figures = compared{deps.Figures, &asked}
	h := as(pages.New(deps), operator)
	for query, want := range before {
		text := textOf(parse(t, get(t, h, "/money?by=model&"+query)))
		if _, was := asked.LoadAndDelete(want[0]); !was || slices.ContainsFunc(want[1:],
			func(w string) bool { return !strings.Contains(text, w) }) ||
			strings.Contains(text, "since, ") != (query == "" || strings.Contains(query, "16&to")) {
			t.Errorf("%s is not compared with %q: %s", query, want, text)
		}
	}
	for query, begins := range map[string]bool{"from=2025-11-23&to=2026-11-22": false, "from=2025-01-01&to=2025-12-31": true} {
		text := textOf(parse(t, get(t, h, "/money?by=model&"+query)))
		if strings.Contains(text, " since") || strings.Contains(text, "it has these from 2025-10-19 on") != begins {
			t.Errorf("%s, of which the ledger has forgotten days: %s", query, text)
		}
	}
	root := parse(t, get(t, h, "/money?by=model&from=2026-11-16&to=2026-11-22"))
	for _, a := range all(root, "a") {
		if textOf(a) == "gen" && attribute(a, "href") != "/requests?from=2026-11-16T00%3A00%3A00Z&model=gen&to=2026-11-23T00%3A00%3A00Z" {
			t.Errorf("a model leads to %s", attribute(a, "href"))
		}
	}
}

// compared has another spend for the days before, and notes which are asked for.
type compared struct {
	pages.Figures
	asked *sync.Map
}

func (c compared) Money(_ context.Context, _ access.Person, q figures.MoneyQuery) (figures.Money, error) {
	use := func(spend int64) figures.Use { return figures.Use{Used: limit.Amounts{1, 0, 0, spend * 1e9}} }
	m := figures.Money{Rows: []figures.Row{{Name: "llm-max", Use: use(6)}, {Name: "gen", Use: use(3)}}, Total: use(9)}
	if q.Before != nil {
		c.asked.Store(q.Before.From+" "+q.Before.To, true)
		m.Was = &figures.Money{Rows: []figures.Row{{Name: "llm-max", Use: use(4)}, {Name: "old", Use: use(2)}}, Total: use(6)}
		if q.To >= "2026-11-22" {
			m.Running = &figures.Money{Rows: []figures.Row{{Name: "llm-max", Use: use(1)}}, Total: use(1)}
		}
	}
	return m, nil
}

// TestWhatAMemberReadsIsPossible: the members of a team of the file are not told to do what operators do.
func TestWhatAMemberReadsIsPossible(t *testing.T) {
	g := day(12)
	g.elsewhere = true // it has self_service
	text := textOf(parse(t, get(t, g.handler(access.Person{Name: "m", Role: access.Member, Teams: []string{"ads"}}), "/teams/ads")))
	for _, word := range []string{"change it there", "Members make keys", "sluice key --team"} {
		if strings.Contains(text, word) {
			t.Errorf("a member reads %q: %s", word, text)
		}
	}
	if !strings.Contains(text, "Operators change it, in the teams file.") {
		t.Error(text)
	}
}

// TestWarningsAreGroupedBySetting, and many of one are folded above the settings.
func TestWarningsAreGroupedBySetting(t *testing.T) {
	g := day(12)
	g.config.Warnings = []string{"SLUICE_ADMIN_LISTEN: open", "something else"}
	for range 290 {
		g.config.Warnings = append(g.config.Warnings, "SLUICE_TEAMS_FILE: team x has no limit")
	}
	got := ""
	for _, d := range all(parse(t, get(t, g.handler(operator), "/config")), "details") {
		got += textOf(all(d, "summary")[0])
		if slices.ContainsFunc(d.Attr, func(a html.Attribute) bool { return a.Key == "open" }) {
			got += " open"
		}
		got += "; "
	}
	if got != "SLUICE_ADMIN_LISTEN 1 warning open; Settings 1 warning open; SLUICE_TEAMS_FILE 290 warnings; " {
		t.Error(got)
	}
}

// TestANewTeamIsFourFieldsAndATable: the rest is folded, the defaults in force stand in empty fields, and a rate without a time is a
// minute's.
func TestANewTeamIsFourFieldsAndATable(t *testing.T) {
	g := day(12)
	deps := g.deps()
	file, err := teams.Parse([]byte("prices: [{model: \"*\", output_per_million: 1}]\ndefaults: {rates: {requests: {per: 10s, limit: " +
		"100}}, quotas: {spend: {day: 5}}}\nteams: []"))
	if err != nil {
		t.Fatal(err)
	}
	deps.File = func() *teams.File { return file }
	h := as(pages.New(deps), operator)
	root := parse(t, get(t, h, "/new-team"))
	for id, want := range map[string]string{"f-rates-requests-limit": "100 per 10s", "f-quotas-spend-day": "5", "f-quotas-images-day": ""} {
		if got := attribute(byID(t, root, id), "placeholder"); got != want {
			t.Errorf("%s has %q, want %q", id, got, want)
		}
	}
	folded := map[string]bool{}
	for _, d := range all(root, "details") {
		for _, n := range all(d, "") {
			folded[attribute(n, "name")] = true
		}
	}
	shown := []string{}
	for name := range formOf(t, root, "/teams") {
		if !folded[name] {
			shown = append(shown, name)
		}
	}
	slices.Sort(shown)
	if got := strings.Join(slices.DeleteFunc(shown, func(n string) bool { return strings.Contains(n, ".") }),
		" "); got != "description id members models reason version" {
		t.Errorf("the form shows %s", got)
	}
	post(t, h, "/teams", url.Values{"id": {"mill"}, "rates.requests.limit": {"60"}})
	if got := string(g.fields["rates"]); got != `{"requests":{"limit":60,"per":"1m"}}` {
		t.Errorf("the rate is %s", got)
	}
	g.refuse = &teams.Problem{Code: teams.CodeInvalid, Field: "quotas.images.day", Text: "got many"}
	if text := textOf(parse(t, post(t, h, "/teams", url.Values{"id": {"mill"}}))); !strings.Contains(text,
		"Nothing was changed. Images a day: Got many.") {
		t.Errorf("the fault names its member: %s", text)
	}
}

// TestHowAProgramBegins: beside a new key, and later without it.
func TestHowAProgramBegins(t *testing.T) {
	g := day(12)
	deps := g.deps()
	deps.Gateway = func(host string) string { return "https://" + host + ":8080" }
	h := as(pages.New(deps), operator)
	minted := post(t, h, "/teams/search/keys", url.Values{"note": {"indexer"}})
	file, err := teams.Parse([]byte("currency: CNY\nprices: [{model: gen, image: 1}, {model: llm-plus, input_per_million: 1, " +
		"output_per_million: 2}]\nteams: [{id: search}]"))
	if err != nil {
		t.Fatal(err)
	}
	deps.File = func() *teams.File { return file }
	if text := textOf(parse(t, get(t, as(pages.New(deps), operator), "/teams/search/keys/7f3k9q2m4x99/start"))); strings.Count(text,
		`"llm-plus"`) != 4 || strings.Contains(text, "MODEL") {
		t.Errorf("the model is to be filled in, although a price names one: %s", text)
	}
	for path, root := range map[string]string{"minted": textOf(parse(t, minted)),
		"start": textOf(parse(t, get(t, h, "/teams/search/keys/7f3k9q2m4x99/start")))} {
		for _, want := range []string{"curl https://example.com:8080/v1/chat/completions", "/api/v1/services/aigc/",
			`base_url="https://example.com:8080/v1"`, "baseURL:", "Waiting for the first request"} {
			if !strings.Contains(root, want) {
				t.Errorf("%s lacks %q: %s", path, want, root)
			}
		}
	}
	if text := minted.Body.String(); !strings.Contains(text, `hx-sse:connect="/teams/search/keys/7f3k9q2m4x99/start"`) {
		t.Error("the page of the new key does not follow its first request")
	}
	g.requests = append([]recent.Request{{ID: "r1", Team: "search", Key: "7f3k9q2m4x99", Status: 200, At: noon.Add(time.Second),
		Model: "llm-max"}}, g.requests...)
	if text := textOf(parse(t, get(t, h, "/teams/search/keys/7f3k9q2m4x99/start"))); strings.Contains(text, "Waiting") ||
		!strings.Contains(text, "The newest request") || !strings.Contains(text, "It was answered") {
		t.Error(text)
	}
}

// TestPeopleAndBrowsersAreNamedBriefly, with the whole in the tooltip.
func TestPeopleAndBrowsersAreNamedBriefly(t *testing.T) {
	for agent, want := range map[string]string{
		"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 " +
			"Safari/537.36": "Chrome 156 on Linux",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36 " +
			"Edg/156.0.0.0": "Edge 156 on Windows",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.0 Mobile/15E148 " +
			"Safari/604.1": "Safari 19 on iPhone",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 15.1; rv:140.0) Gecko/20100101 Firefox/140.0": "Firefox 140 on macOS",
		"curl/8.11.0": "curl/8.11.0", "": "",
	} {
		var b strings.Builder
		page := sessionsPage{operator, "operator", []session{{ID: "x", Who: "oidc:alice@example.com", Agent: agent}}}
		if err := pages.LoginTemplates().ExecuteTemplate(&b, "sessions", page); err != nil {
			t.Fatal(err)
		}
		if text := b.String(); !strings.Contains(text, `title="`+agent+`">`+want+"</td>") && agent != "" ||
			!strings.Contains(text, ">alice@example.com</bdi>") || strings.Contains(text, ">oidc:") {
			t.Errorf("%s: %s", agent, text)
		}
	}
}
