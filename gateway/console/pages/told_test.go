package pages_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"sluice/gateway/console/access"
	"sluice/gateway/console/figures"
	"sluice/gateway/console/pages"
	"sluice/policy/limit"
	"sluice/telemetry/recent"
)

// TestAMemberIsNotToldThatNothingIsWrong: only people who see all teams see the faults of the process.
func TestAMemberIsNotToldThatNothingIsWrong(t *testing.T) {
	for _, tt := range []struct {
		p    access.Person
		want bool
	}{{operator, true}, {access.Person{Role: access.Viewer}, true}, {access.Person{Role: access.Member, Teams: []string{"search"}}, false}} {
		g := day(12)
		g.now.Faults = nil // a member gets none
		text := textOf(parse(t, get(t, g.handler(tt.p), "/now")))
		if strings.Contains(text, "What is wrong") != tt.want || strings.Contains(text, "Nothing is wrong, as far as") != tt.want {
			t.Errorf("role %d: %s", tt.p.Role, text)
		}
	}
}

// TestRefusalsOfTodayLeadToThose: a total's link leads to its rows, and not to those of yesterday.
func TestRefusalsOfTodayLeadToThose(t *testing.T) {
	g := day(12)
	for i := range g.list {
		if g.list[i].Refused == 0 {
			continue
		}
		links := 0
		for _, a := range all(all(parse(t, get(t, g.handler(operator), "/teams/"+g.list[i].ID)), "main")[0], "a") {
			to, err := url.Parse(attribute(a, "href"))
			if err != nil || to.Path != "/requests" {
				continue
			}
			links++
			if q := to.Query(); q.Get("from") != "2026-11-22T00:00:00Z" || q.Get("team") != g.list[i].ID || q.Get("refusal") == "" {
				t.Errorf("%s leads to %s", textOf(a), to)
			}
		}
		if page := get(t, g.handler(operator), "/teams/"+g.list[i].ID).Body.String(); !strings.Contains(page, `&amp;refusal=all&amp;from=`) {
			t.Error("the failed ones are counted, and not listed")
		}
		if links != 4 {
			t.Errorf("%d links to requests", links)
		}
	}
}

// failing has requests that failed at the service, which no refusal counts.
type failing struct {
	pages.Figures
	failed int64
}

func (f failing) Team(ctx context.Context, p access.Person, id string) (figures.TeamFigures, error) {
	t, err := f.Figures.Team(ctx, p, id)
	t.Refusals, t.Failed = nil, f.failed
	return t, err
}

// TestFailuresOfTodayAreTold: a team of which nothing was refused may have failed at the service all day.
func TestFailuresOfTodayAreTold(t *testing.T) {
	const nothing = "Nothing was refused, and nothing failed."
	for failed, want := range map[int64]string{0: nothing, 1234: "failed at the service1,234"} {
		g := day(12)
		deps := g.deps()
		deps.Figures = failing{deps.Figures, failed}
		root := parse(t, get(t, as(pages.New(deps), operator), "/teams/search"))
		if text := textOf(root); !strings.Contains(text, want) || strings.Contains(text, nothing) != (failed == 0) {
			t.Errorf("%d failed: %s", failed, text)
		}
		for _, a := range all(root, "a") {
			const to = "/requests?team=search&status=failed&refusal=none&from=2026-11-22T00%3a00%3a00Z"
			if textOf(a) == "failed at the service" && attribute(a, "href") != to {
				t.Errorf("it leads to %s", attribute(a, "href"))
			}
		}
	}
}

// TestAnErrorInsideAStreamIsTold: the answer's own status is that of a success.
func TestAnErrorInsideAStreamIsTold(t *testing.T) {
	for _, tt := range []struct {
		r                recent.Request
		list, one, start string
	}{
		{recent.Request{Status: 200, Upstream: 200}, "200", "Log line", "It was answered"},
		{recent.Request{Status: 200, Upstream: 200, Inner: 500, Code: "InternalError"}, "200 → 500 InternalErrorInternalError",
			"The service began its answer with status 200", "It failed: The service began its answer with status 200 and reported the error 500"},
		{recent.Request{Status: 200, Upstream: 200, Inner: 400}, "200 → 400", "in it", "It failed: The service began its answer"},
		{recent.Request{Status: 500, Upstream: 500, Code: "InternalError"}, "500 InternalErrorInternalError", "passed it on",
			"It failed: The service answered 500 itself"},
		{recent.Request{Status: 499}, "499", "The client left", "It failed: The client left before the answer was written."},
		{recent.Request{Status: 502, Upstream: 200, Inner: 401, Refusal: "forward/key", Code: "InvalidApiKey", Reason: "Refused."},
			"502 forward/keyforward/key Refused.", "Refused.", "It failed: Refused."},
		{recent.Request{Status: 429, Refusal: "admit/rate", Reason: "Too fast."}, "429 admit/rateadmit/rate Too fast.", "Too fast.",
			"It was refused: Too fast."},
	} {
		g := day(12)
		tt.r.ID, tt.r.Team, tt.r.Key, tt.r.At = "r1", "search", "7f3k9q2m4x00", noon
		g.requests = []recent.Request{tt.r}
		h := g.handler(operator)
		row := all(all(parse(t, get(t, h, "/requests")), "tbody")[0], "td")
		if got := textOf(row[2]) + textOf(row[3]); got != tt.list {
			t.Errorf("the list has %q, want %q", got, tt.list)
		}
		for path, want := range map[string]string{"/requests/r1": tt.one, keyPage + "/start": tt.start} {
			root := parse(t, get(t, h, path))
			if text := textOf(root); !strings.Contains(text, want) {
				t.Errorf("%s of %q says %s", path, tt.list, text)
			}
			statuses := []string{}
			for _, n := range all(root, "span") {
				if class := attribute(n, "class"); strings.HasPrefix(class, "status") {
					statuses = append(statuses, textOf(n))
				}
			}
			if got := strings.Join(statuses, " → "); !strings.HasPrefix(tt.list, got) ||
				strings.Contains(tt.list, "→") != strings.Contains(got, "→") {
				t.Errorf("%s of %q has the statuses %s", path, tt.list, got)
			}
		}
	}
}

// withLedger serves the pages of a day to an operator, with figures of Money.
func withLedger(m figures.Money) http.Handler {
	g := day(12)
	deps := g.deps()
	deps.Figures = ledgerOf{galleryFigures{g}, m}
	return as(pages.New(deps), operator)
}

// money is a page of Money with these rows.
func money(t *testing.T, path string, m figures.Money) (text string, links []string) {
	t.Helper()
	root := parse(t, get(t, withLedger(m), path))
	for _, a := range all(all(root, "main")[0], "a") {
		links = append(links, attribute(a, "href"))
		if textOf(a) == "" {
			t.Errorf("a link without a text leads to %s", attribute(a, "href"))
		}
	}
	return textOf(all(root, "main")[0]), links
}

// TestARowWithoutAModelLeadsNowhere: an empty filter would select all requests.
func TestARowWithoutAModelLeadsNowhere(t *testing.T) {
	use := figures.Use{Used: limit.Amounts{1, 0, 0, 5}}
	text, links := money(t, "/money?by=model", figures.Money{Rows: []figures.Row{{Name: "", Use: use}, {Name: "llm", Use: use}},
		Total: use.Plus(use)})
	found := 0
	for _, to := range links {
		if strings.HasPrefix(to, "/requests") {
			found++
		}
	}
	if found != 1 || !strings.Contains(text, "none") {
		t.Errorf("%d links to requests: %s", found, text)
	}
}

// TestTheCommandPrintsTheSame: by tag it has an option.
func TestTheCommandPrintsTheSame(t *testing.T) {
	use := figures.Use{Used: limit.Amounts{1, 0, 0, 5}}
	for query, want := range map[string]string{
		"by=tag&team=search":                   "sluice usage --by tag --from 2026-11-01 --to 2026-11-22 --team search",
		"by=key":                               "sluice usage --by key --from 2026-11-01 --to 2026-11-22",
		"by=kind":                              "sluice usage --kinds --from 2026-11-01 --to 2026-11-22",
		"by=model":                             "sluice usage --from 2026-11-01 --to 2026-11-22",
		"by=day&from=2025-12-01&to=2026-11-20": "sluice usage --from 2025-12-01 --to 2026-11-20",
		"by=team&team=" + url.QueryEscape("a b;$c"): "sluice usage --from 2026-11-01 --to 2026-11-22 --team 'a b;$c'",
		"by=team&team=" + url.QueryEscape("a'b"):    `sluice usage --from 2026-11-01 --to 2026-11-22 --team 'a'\''b'`,
	} {
		text, _ := money(t, "/money?"+query, figures.Money{Rows: []figures.Row{{Name: "x", Use: use}}, Total: use})
		if !strings.Contains(text, "The same from a shell: "+want+".") {
			t.Errorf("%s: %s", query, text)
		}
	}
}

// TestWhatAMemberIsTold: which tag counts, how to begin, and no command that only operators can run.
func TestWhatAMemberIsTold(t *testing.T) {
	h := day(12).handler(access.Person{Role: access.Member, Teams: []string{"search"}})
	for path, want := range map[string]string{
		"/teams/search": "Sluice-Tag: project=…", "/teams/search/keys/7f3k9q2m4x00/start": "put a model that the team may use",
		"/money": "An amount’s tooltip",
	} {
		text := textOf(parse(t, get(t, h, path)))
		if !strings.Contains(text, want) || strings.Contains(text, "The same from a shell") {
			t.Errorf("%s: %s", path, text)
		}
	}
}

// TestRequestsAreOfNoKind: by kind they have no column, and their sum stands above the table.
func TestRequestsAreOfNoKind(t *testing.T) {
	use := figures.Use{Used: limit.Amounts{0, 77, 0, 5}}
	m := figures.Money{Rows: []figures.Row{{Name: "cached", Use: use}}, Total: figures.Use{Used: limit.Amounts{31, 77, 0, 5}}}
	for by, columns := range map[string]string{"kind": "Kind Beside the largest Spend, CNY Estimated Tokens Images ",
		"model": "Model Beside the largest Spend, CNY Estimated Requests Tokens Images "} {
		text, _ := money(t, "/money?by="+by, m)
		head := ""
		for _, th := range all(all(parse(t, get(t, withLedger(m), "/money?by="+by)), "thead")[0], "th") {
			head += textOf(th) + " "
		}
		if head != columns || !strings.Contains(text, "31 requests") || strings.Contains(text, "Requests are of no kind") != (by == "kind") {
			t.Errorf("by %s: %q %s", by, head, text)
		}
	}
}

// TestSizesOfPicturesAreWrittenForPeople on the page; the CSV has them as the ledger does.
func TestSizesOfPicturesAreWrittenForPeople(t *testing.T) {
	m := figures.Money{Rows: []figures.Row{{Name: "image 1048576", Use: figures.Use{Used: limit.Amounts{0, 0, 2, 5}}}, {Name: "image 1K"},
		{Name: "cache_creation"}}}
	names := ""
	for _, th := range all(all(parse(t, get(t, withLedger(m), "/money?by=kind")), "tbody")[0], "th") {
		names += textOf(th) + ", "
	}
	if names != "image up to 1024 × 1024, image 1K, cache_creation, " {
		t.Errorf("the rows are %s", names)
	}
	if text := get(t, withLedger(m), "/money.csv?by=kind").Body.String(); !strings.Contains(text, "\nimage 1048576,") {
		t.Errorf("the CSV is %s", text)
	}
}

// TestDaysOfAnotherYearHaveTheirYear: otherwise twelve months look like a day.
func TestDaysOfAnotherYearHaveTheirYear(t *testing.T) {
	for query, want := range map[string]string{
		"": "Spent, 1 Nov to 22 Nov 2026", "from=2025-11-23": "Spent, 23 Nov 2025 to 22 Nov 2026", "from=2026-11-22": "Spent on 22 Nov 2026",
	} {
		if text, _ := money(t, "/money?"+query, figures.Money{Month: figures.Month{Spent: 1}}); !strings.Contains(text, want) {
			t.Errorf("%s: %s", query, text)
		}
	}
}

// TestMoneysChartIsStackedByWhatIsChosen: one path for each of the five that cost most, and one for the rest; by day, what is estimated is
// apart.
func TestMoneysChartIsStackedByWhatIsChosen(t *testing.T) {
	h := day(12).handler(operator)
	for by, want := range map[string]string{"team": "s1 s2 s3 s4 s5 f", "day": "a e"} {
		root := parse(t, get(t, h, "/money?from=2026-11-01&by="+by))
		series := []string(nil)
		for _, path := range all(all(root, "figure")[0], "path") {
			if class, drawn := strings.CutPrefix(attribute(path, "class"), "series "); drawn && class != "ghost" {
				series = append(series, class)
			}
		}
		if got := strings.Join(series, " "); got != want {
			t.Errorf("by %s: %s, want %s", by, got, want)
		}
	}
	root := parse(t, get(t, h, "/money?from=2026-11-22&by=team"))
	if title := textOf(all(all(root, "figure")[0], "title")[0]); !strings.Contains(title, ", search ") ||
		!strings.Contains(title, ", others ") {
		t.Errorf("a column says %q", title)
	}
}

// TestAChartOfTwoYearsHasThem: otherwise its ends look adjacent, and 400 days have duplicate names.
func TestAChartOfTwoYearsHasThem(t *testing.T) {
	for first, want := range map[string][]string{
		"2025-11-23": {"23 Nov 2025: ", "23 Nov 2025", "22 Nov 2026"}, "2026-01-01": {"1 Jan: ", "1 Jan", "22 Nov"},
	} {
		m := figures.Money{Rows: []figures.Row{{Name: "x", Use: figures.Use{Used: limit.Amounts{1, 0, 0, 5}}}}}
		m.Total = m.Rows[0].Use
		for _, day := range []string{first, "2026-05-01", "2026-11-22"} {
			m.Days = append(m.Days, figures.Row{Name: day, Use: m.Rows[0].Use})
		}
		g := day(12)
		deps := g.deps()
		deps.Figures = ledgerOf{galleryFigures{g}, m}
		root := parse(t, get(t, as(pages.New(deps), operator), "/money?from="+first))
		got := []string{textOf(all(all(root, "figure")[0], "title")[0])}
		for _, div := range all(root, "div") {
			if attribute(div, "class") == "axis each" {
				ends := all(div, "span")
				got = append(got, textOf(ends[0]), textOf(ends[len(ends)-1]))
			}
		}
		if len(got) != 3 || !strings.HasPrefix(got[0], want[0]) || got[1] != want[1] || got[2] != want[2] {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestTheForecastSaysWhatItRestsOn: a team of three days has no mean of seven, and one of today has no forecast.
func TestTheForecastSaysWhatItRestsOn(t *testing.T) {
	for days, want := range map[int]string{
		0: "Forecast for November–It needs one whole day of spend.",
		1: "Forecast for November9.00 CNY0.50 a day, as on the last day, for the rest of the month",
		3: "Forecast for November9.00 CNY0.50 a day, the mean of the last 3 days, for the rest of the month",
		7: "Forecast for November9.00 CNY0.50 a day, the mean of the last 7 days, for the rest of the month",
	} {
		text, _ := money(t, "/money", figures.Money{Month: figures.Month{Name: "2026-11", Spent: 5e9, PerDay: 5e8, Forecast: 9e9, Days: days}})
		if !strings.Contains(text, want) {
			t.Errorf("%d days: %s", days, text)
		}
	}
}

// TestAChartsValuesAreThereWithoutPointing, and its total links to the requests that it shows.
func TestAChartsValuesAreThereWithoutPointing(t *testing.T) {
	h := day(12).handler(operator)
	for path, want := range map[string]struct {
		values int
		first  string
	}{"/now": {60, "11:35 UTC: "}, "/money": {22, "1 Nov: "}, "/teams/search": {60, "24 Oct: "}} {
		values := []string(nil)
		for _, d := range all(parse(t, get(t, h, path)), "details") {
			if attribute(d, "class") == "values" {
				for _, li := range all(d, "li") {
					values = append(values, textOf(li))
				}
			}
		}
		if len(values) != want.values || !strings.HasPrefix(values[0], want.first) {
			t.Errorf("%s: %d values: %.60q", path, len(values), values)
		}
	}
	if text := get(t, h, "/now").Body.String(); !strings.Contains(text, `href="/requests?from=2026-11-22T11%3A35%3A00Z&amp;polls=true"`) {
		t.Error("the chart's total does not lead to its requests")
	}
}
