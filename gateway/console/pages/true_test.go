package pages_test

import (
	"slices"
	"strings"
	"testing"

	"sluice/cmd/sluice/browsertest"
	"sluice/policy/teams"
)

// TestADoneTextFitsTheState: the address stays after a reload, when the state is another one.
func TestADoneTextFitsTheState(t *testing.T) {
	g := day(12)
	disabled := func(t teamLine) bool { return t.Disabled }
	off, on := "/teams/"+g.list[slices.IndexFunc(g.list, disabled)].ID,
		"/teams/"+g.list[slices.IndexFunc(g.list, func(l teamLine) bool { return !disabled(l) })].ID
	g.list = append(g.list, teamLine{ID: "mill", Owner: teams.OwnerDirectory}, teamLine{ID: "many", Owner: teams.OwnerDirectory, Keys: 4})
	const key = "&key=7f3k9q2m4x"
	open, ended := g.tasks[0], g.tasks[2]
	if !open.Open || ended.Open {
		t.Fatal("other tasks")
	}
	for path, want := range map[string]bool{
		on + "?done=enabled": true, off + "?done=enabled": false, on + "?done=disabled": false, off + "?done=disabled": true,
		off + "?done=changed":                  true,
		on + "?done=raised&raise=5t8w1z4c7f0h": true, on + "?done=raised&raise=ended0000000": false,
		on + "?done=raised": true, "/teams/mill?done=raised": false, // by a replica of the previous version
		"/teams/" + open.Team + "/tasks/" + open.ID + "?done=canceled":   true,
		"/teams/" + ended.Team + "/tasks/" + ended.ID + "?done=canceled": false,
		"/teams/mill?done=created":                                       true, "/teams/many?done=created": false,
		"/teams/many?done=onkey" + key + "00": true, "/teams/many?done=offkey" + key + "00": false, "/teams/many?done=offkey": false,
		"/teams/many?done=onkey" + key + "03": false, // it has ended
		off + "?done=onkey" + key + "00":      false, "/teams/mill?done=offkey" + key + "00": false, "/teams/many?done=unkeyed": true,
		keyPage + "?done=onkey": true, keyPage + "?done=offkey": false, keyPage + "?done=limited": true,
	} {
		w := get(t, g.handler(operator), path)
		if got := strings.Contains(w.Body.String(), `<p class="note good" role="status">`); w.Code != 200 || got != want {
			t.Errorf("%s: %d, told %v", path, w.Code, got)
		}
	}
}

// TestTasksAreNotCalledRequests, nor corrections.
func TestTasksAreNotCalledRequests(t *testing.T) {
	h := day(12).handler(operator)
	for what, want := range map[string]string{"queue": "of 40 tasks", "run": "of 40 tasks", "service": "of 40 requests"} {
		if titles := textOf(all(parse(t, get(t, h, "/latency?of=gen2.6-image&what="+what)), "svg")[1]); !strings.Contains(titles, want) {
			t.Errorf("%s: %.200s", what, titles)
		}
	}
	if text := textOf(parse(t, get(t, h, "/now"))); !strings.Contains(text, "counted as used, with corrections") {
		t.Error(text)
	}
}

// TestAnOpenedEntryOfTheAuditHasTheWholeRow: in a cell its JSON would be broken in narrow lines. A closed one takes no room.
func TestAnOpenedEntryOfTheAuditHasTheWholeRow(t *testing.T) {
	t.Parallel()
	ctx, address := browse(t, day(12).handler(operator))
	browsertest.Open(ctx, t, address+"/audit")
	const widths = `(() => { const of = e => e ? e.getBoundingClientRect().width : 0; return of(document.querySelector(".audit pre")) / ` +
		`of(document.querySelector(".audit")) })()`
	if got := browsertest.Evaluate[float64](ctx, t, widths); got != 0 {
		t.Errorf("closed, it takes %.2f of the width", got)
	}
	browsertest.Evaluate[bool](ctx, t, `(document.querySelector(".audit summary").click(), true)`)
	browsertest.Await(ctx, t, widths+" > 0.4")
	if got := browsertest.Evaluate[int](ctx, t, `[...document.querySelectorAll(".audit pre")].filter(e => e.getBoundingClientRect().width `+
		`> 0).length`); got != 2 {
		t.Errorf("%d texts are open", got)
	}
}

// TestTheOrderOfRequestsIsSaid: they are listed by their ends, beside the times of their arrival.
func TestTheOrderOfRequestsIsSaid(t *testing.T) {
	root := parse(t, get(t, day(12).handler(operator), "/requests"))
	if text := textOf(root); textOf(all(root, "th")[0]) != "Arrived" || !strings.Contains(text, "By when they ended, newest first.") {
		t.Error(text)
	}
}
