package pages_test

import (
	"context"
	"testing"

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
	browsertest.Evaluate[bool](p.ctx, p, `([...document.querySelectorAll(`+"`"+selector+"`"+`)].find(a => a.textContent.includes(`+"`"+words+"`"+`)).click(), true)`)
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
		browsertest.Evaluate[bool](p.ctx, t, `(document.activeElement.blur(), document.body.dispatchEvent(new KeyboardEvent("keydown", {...`+key+`, bubbles: true, cancelable: true})), true)`)
		if got := browsertest.Evaluate[string](p.ctx, t, `document.activeElement.id`); got != "find" {
			t.Errorf("%s goes to %q", key, got)
		}
	}
	browsertest.Evaluate[bool](p.ctx, t, `(document.activeElement.value = "`+g.requests[4].ID+`", document.querySelector("form.find").requestSubmit(), true)`)
	p.clicks++
	browsertest.Await(p.ctx, t, `location.pathname === "/requests/`+g.requests[4].ID+`"`)
	p.reads(g.requests[4].Reason)
	browsertest.Evaluate[bool](p.ctx, t, `(document.getElementById("find").value = "4bf92f3577b34da6", document.querySelector("form.find").requestSubmit(), true)`)
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
