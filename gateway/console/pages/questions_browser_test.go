package pages_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"sluice/cmd/sluice/browsertest"
)

// person is somebody who has a question and begins at Now. Each click opens a page.
type person struct {
	*testing.T
	ctx    context.Context
	clicks int
}

// begins opens Now.
func begins(t *testing.T, g *gallery) *person {
	t.Helper()
	ctx, address := browse(t, g.handler(operator))
	browsertest.Open(ctx, t, address+"/now")
	return &person{t, ctx, 0}
}

// click follows the first link below a selector whose text holds some words.
func (p *person) click(selector, words string) {
	p.Helper()
	p.clicks++
	browsertest.Await(p.ctx, p, `[...document.querySelectorAll(`+"`"+selector+"`"+`)].some(a => a.textContent.includes(`+"`"+words+"`"+`))`)
	from := browsertest.Evaluate[string](p.ctx, p, `location.href`)
	browsertest.Evaluate[bool](p.ctx, p, `([...document.querySelectorAll(`+"`"+selector+"`"+`)].find(a => a.textContent.includes(`+"`"+words+
		"`"+`)).click(), true)`)
	browsertest.Await(p.ctx, p, `location.href !== `+"`"+from+"`"+` && document.readyState === "complete"`)
}

// reads expects words in the page's main part, within two clicks.
func (p *person) reads(words ...string) {
	p.Helper()
	if p.clicks > 2 {
		p.Errorf("it took %d clicks", p.clicks)
	}
	for _, w := range words {
		browsertest.Await(p.ctx, p, `document.querySelector("main").textContent.replace(/\s+/g, " ").includes(`+"`"+w+"`"+`)`)
	}
}

// TestWhyWasThisRefused: from what was refused today to the sentence that the client got, with the limit of that moment.
func TestWhyWasThisRefused(t *testing.T) {
	t.Parallel()
	g := day(12)
	p := begins(t, g)
	p.click(".stats a[href*='refusal=any']", "")
	p.click("tbody tr:has(td.wide code) th a", "")
	p.reads(g.requests[4].Reason, "412", "A limit refused it.", "sluice raise")
}

// TestWhyDoesATeamGet429: from the number beside the team to its newest refusal.
func TestWhyDoesATeamGet429(t *testing.T) {
	t.Parallel()
	g := day(12)
	team := g.requests[4].Team
	for i := range g.now.Teams {
		if g.now.Teams[i].ID == team {
			g.now.Teams[i].Refused = 3
		}
	}
	p := begins(t, g)
	p.click("#team-"+team+" td a[href*='refusal=any']", "")
	p.click("tbody tr:has(td.wide code) th a", "")
	p.reads("team "+team, "A limit refused it.", "The team’s limits now")
}

// TestWhatIsRefusedMost: the reasons over time.
func TestWhatIsRefusedMost(t *testing.T) {
	t.Parallel()
	p := begins(t, day(12))
	p.click("nav a", "Requests")
	p.click(".tabs a", "Refusals by reason")
	p.reads("admit/quota", "inspect/rules", "are kept")
}

// TestWhereIsTheRequestThatThisClientComplainsOf: a slash, the id, enter; the field does so without a script, too.
func TestWhereIsTheRequestThatThisClientComplainsOf(t *testing.T) {
	t.Parallel()
	g := day(12)
	p := begins(t, g)
	for _, key := range []string{"{key: '/'}", "{key: 'k', ctrlKey: true}"} {
		browsertest.Evaluate[bool](p.ctx, t, `(document.activeElement.blur(), document.body.dispatchEvent(new KeyboardEvent("keydown", {...`+key+
			`, bubbles: true, cancelable: true})), true)`)
		if got := browsertest.Evaluate[string](p.ctx, t, `document.activeElement.id`); got != "find" {
			t.Errorf("%s goes to %q", key, got)
		}
	}
	browsertest.Evaluate[bool](p.ctx, t, `(document.activeElement.value = "`+g.requests[4].ID+
		`", document.querySelector("form.find").requestSubmit(), true)`)
	p.clicks++
	browsertest.Await(p.ctx, t, `location.pathname === "/requests/`+g.requests[4].ID+`"`)
	p.reads(g.requests[4].Reason)
	browsertest.Evaluate[bool](p.ctx, t, `(document.getElementById("find").value = "4bf92f3577b34da6",`+
		` document.querySelector("form.find").requestSubmit(), true)`)
	browsertest.Await(p.ctx, t, `location.pathname === "/search"`)
	p.reads("not among the newest 10,000")
}

// TestIsTheServiceSlowOrSluice: both times beside each other, by model.
func TestIsTheServiceSlowOrSluice(t *testing.T) {
	t.Parallel()
	p := begins(t, day(12))
	p.click(".stats a[href='/latency']", "")
	p.reads("the service took", "and Sluice", "Service p50, ms")
}

// TestHowLongDoImageTasksQueue: on Tasks, by model.
func TestHowLongDoImageTasksQueue(t *testing.T) {
	t.Parallel()
	p := begins(t, day(12))
	p.click("nav a", "Tasks")
	p.reads("Queue p50", "4.0 s")
}

// TestIsSomethingWrong: the first line of Now is about the service, from the traffic, and leads to the requests that failed.
func TestIsSomethingWrong(t *testing.T) {
	t.Parallel()
	p := begins(t, day(12))
	p.reads("The service 25 of the last 25 requests failed, could not be reached, since")
	p.click(".faults li:first-child a", "failed")
	if got := browsertest.Evaluate[string](p.ctx, t, `location.search`); got != "?status=failed" {
		t.Errorf("it leads to %s", got)
	}
}

// TestWhoIsNearALimit: Teams by the nearest limit, with per cent, the fullest first.
func TestWhoIsNearALimit(t *testing.T) {
	t.Parallel()
	p := begins(t, day(12))
	p.click("nav a", "Teams")
	p.click("thead a", "Nearest limit")
	p.reads("%", "80 % of a limit")
	if got := browsertest.Evaluate[bool](p.ctx, t, `(() => { const all = [...document.querySelectorAll("td.bars small")].map(e => `+
		`parseInt(e.textContent)).filter(n => !isNaN(n)); return all.length > 3 && all.every((n, i) => i === 0 || n <= all[i - 1]) })()`); !got {
		t.Error("the list is not in order")
	}
}

// TestWhichJobWhichKey: the requests of a key, with the keys that there are as suggestions.
func TestWhichJobWhichKey(t *testing.T) {
	t.Parallel()
	g := day(12)
	p := begins(t, g)
	p.click("nav a", "Requests")
	key := browsertest.Evaluate[string](p.ctx, t, `document.querySelector("#key-names option").value`)
	browsertest.Evaluate[bool](p.ctx, t, `(document.querySelector("form.filter input[name=key]").value = "`+key+
		`", document.querySelector("form.filter button").click(), true)`)
	p.clicks++
	browsertest.Await(p.ctx, t, `new URLSearchParams(location.search).get("key") === "`+key+`"`)
	p.reads("Show all")
}

// TestGiveThemMoreToday: beside each limit of a team.
func TestGiveThemMoreToday(t *testing.T) {
	t.Parallel()
	p := begins(t, day(12))
	p.click("tbody a.team", "search")
	browsertest.Evaluate[bool](p.ctx, t, `(document.querySelector("tr.under summary").click(), true)`)
	p.clicks++
	p.reads("It ends by itself, with the day at the latest")
	if got := browsertest.Evaluate[bool](p.ctx, t, `document.querySelector("tr.under [name=reason]").checkVisibility()`); !got {
		t.Error("the form of a raise is not to be seen")
	}
}

// TestHowDoesThisMonthCompare: with as many days of the month before, in all, by row and by day.
func TestHowDoesThisMonthCompare(t *testing.T) {
	t.Parallel()
	p := begins(t, day(12))
	p.click("nav a", "Money")
	p.click(".presets a", "7 days")
	p.reads("10 Nov to 15 Nov 2026", "since, without today", "Change", "the days before")
}

// TestHowDoIStart: what to paste, with the gateway's address, and the first request once it is there.
func TestHowDoIStart(t *testing.T) {
	t.Parallel()
	p := begins(t, day(12))
	p.click("tbody a.team", "search")
	p.click("a", "How a program begins")
	p.reads("curl", "/v1/chat/completions", "Python", "JavaScript", "The first request")
}

// TestAChartIsReadInLocalTimeAndLeadsToItsRequests, by the pointer, by the keys, and over several columns.
func TestAChartIsReadInLocalTimeAndLeadsToItsRequests(t *testing.T) {
	t.Parallel()
	p := begins(t, day(12))
	local := `new Intl.DateTimeFormat("en-GB", {hour: "2-digit", minute: "2-digit",` +
		` hourCycle: "h23"}).format(new Date("2026-11-22T12:33:00Z"))`
	browsertest.Evaluate[bool](p.ctx, t, `(document.querySelector(".plot [data-at='2026-11-22T12:33:00Z'] .hit").dispatchEvent(new `+
		`PointerEvent("pointerover", {bubbles: true})), true)`)
	read := `document.querySelector(".reading").textContent`
	browsertest.Await(p.ctx, t, read+`.startsWith(`+local+` + ": ")`)
	for range 2 {
		browsertest.Evaluate[bool](p.ctx, t, `(document.querySelector(".plot svg").focus(),`+
			` document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowLeft", bubbles: true, cancelable: true})), true)`)
	}
	browsertest.Await(p.ctx, t, `document.querySelector(".column.read").dataset.at === "2026-11-22T12:31:00Z"`)
	if got := browsertest.Evaluate[string](p.ctx, t, `document.querySelectorAll(".column.runs").length + " " + `+
		`document.querySelector(".column.runs").dataset.at`); got != "1 2026-11-22T12:34:00Z" {
		t.Errorf("still running: %s", got)
	}
	browsertest.Evaluate[bool](p.ctx, t, `(document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter",`+
		` bubbles: true})), true)`)
	browsertest.Await(p.ctx, t, `location.pathname + location.search === `+
		`"/requests?from=2026-11-22T12%3A31%3A00Z&polls=true&to=2026-11-22T12%3A32%3A00Z"`)
	p.click("nav a", "Now")
	browsertest.Evaluate[bool](p.ctx, t,
		`(() => { const hit = at => document.querySelector(".plot [data-at='2026-11-22T" + at + ":00Z'] .hit");
		hit("12:20").dispatchEvent(new PointerEvent("pointerdown", {bubbles: true}));
		hit("12:10").dispatchEvent(new PointerEvent("pointerup", {bubbles: true})); return true })()`)
	browsertest.Await(p.ctx, t, `location.pathname === "/requests" && new URLSearchParams(location.search).get("from") === `+
		`"2026-11-22T12:10:00Z" && new URLSearchParams(location.search).get("to") === "2026-11-22T12:21:00Z"`)
}

// TestTimesOfAFilterAreInThePersonsZone, as the list's are; the address has them in UTC.
func TestTimesOfAFilterAreInThePersonsZone(t *testing.T) {
	t.Parallel()
	ctx, address := browse(t, day(12).handler(operator))
	tokyo := func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Asia/Tokyo"})
		return err
	}
	if err := chromedp.Do(ctx, chromedp.Func(tokyo)); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{"2026-11-22T03:00:00Z", "2026-11-22T03:00:30Z", "2026-11-22T03:00"} {
		browsertest.Open(ctx, t, address+"/requests?from="+from)
		browsertest.Await(ctx, t, `document.querySelector("[name=from]").value === "2026-11-22T12:00`+
			map[bool]string{true: ":30"}[from == "2026-11-22T03:00:30Z"]+`"`)
	}
	browsertest.Evaluate[bool](ctx, t, `(document.querySelector("[name=from]").value = "2026-11-22T09:30",`+
		` document.querySelector("form.filter").requestSubmit(), true)`)
	browsertest.Await(ctx, t, `new URLSearchParams(location.search).get("from") === "2026-11-22T00:30:00.000Z"`)
}

// TestAMomentFitsItsField at every width, with its seconds; the example has none.
func TestAMomentFitsItsField(t *testing.T) {
	t.Parallel()
	ctx, address := browse(t, day(12).handler(operator))
	for _, width := range []int64{390, 900, 1440} {
		browsertest.Resize(ctx, t, width, "light")
		browsertest.Open(ctx, t, address+"/requests?to=2026-11-22T12:00:00Z")
		browsertest.Await(ctx, t, `/^\d{4}-\d\d-\d\dT\d\d:\d\d$/.test(document.querySelector("[name=from]").placeholder)`)
		if cut := browsertest.Evaluate[int](ctx, t, `[...document.querySelectorAll("[data-moment]")].filter((input) => {`+
			` input.value = "2026-12-28T20:48:48"; return input.scrollWidth > input.clientWidth; }).length`); cut > 0 {
			t.Errorf("at %d pixels %d moments are cut", width, cut)
		}
		browsertest.Screenshot(ctx, t, fmt.Sprint("moment", width))
	}
}
