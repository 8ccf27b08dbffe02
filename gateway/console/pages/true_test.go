package pages_test

import (
	"slices"
	"strings"
	"testing"
)

// TestADoneTextFitsTheState: the address stays after a reload, when the state is another one.
func TestADoneTextFitsTheState(t *testing.T) {
	g := day(12)
	disabled := func(t teamLine) bool { return t.Disabled }
	off, on := "/teams/"+g.list[slices.IndexFunc(g.list, disabled)].ID, "/teams/"+g.list[slices.IndexFunc(g.list, func(l teamLine) bool { return !disabled(l) })].ID
	open, ended := g.tasks[0], g.tasks[2]
	if !open.Open || ended.Open {
		t.Fatal("other tasks")
	}
	for path, want := range map[string]bool{
		on + "?done=enabled": true, off + "?done=enabled": false, on + "?done=disabled": false, off + "?done=disabled": true, off + "?done=changed": true,
		"/teams/" + open.Team + "/tasks/" + open.ID + "?done=canceled": true, "/teams/" + ended.Team + "/tasks/" + ended.ID + "?done=canceled": false,
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
