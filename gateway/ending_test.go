package gateway_test

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/policy/event"
	"sluice/policy/limit"
)

// hooked gives a team a hook for the ends of tasks.
func hooked(p *plan) { p.to = hookFor("task.*") }

func hookFor(types event.Pattern) event.Routes {
	return func(team string, of event.Type, _ string) []event.Target {
		if team != "search" || !types.Matches(of) {
			return nil
		}
		return []event.Target{{Address: event.Address{Owner: team, Hook: "jobs"}}}
	}
}

// ends are the team's events.
func (h *harness) ends(team string) (all []string) {
	h.Helper()
	list, _, err := h.balances.Events.After(h.Context(), event.ID{Owner: team}, 100)
	if err != nil {
		h.Fatal(err)
	}
	for _, e := range list {
		all = append(all, string(e.Type)+" "+string(e.Data))
	}
	return all
}

// Each end of a task is told once, however it was learned, with what was charged and the addresses of the pictures.
func TestEachEndIsToldOnce(t *testing.T) {
	const created = `{"request_id":"r","output":{"task_id":"t1","task_status":"PENDING"}}`
	ended := func(status, more string) string {
		return `{"request_id":"r","output":{"task_id":"t1","task_status":"` + status + `"` + more
	}
	for about, tt := range map[string]struct {
		end  string
		want string
	}{
		"succeeded": {
			ended("SUCCEEDED", `,"choices":[{"message":{"content":[{"image":"https://pictures/1.png?a=1&b=2","type":"image"}]}}]},`+
				`"usage":{"image_count":1}}`),
			`task.succeeded {"task_id":"t1","request_id":"` + `%s` + `","model":"gen2.6-image","outcome":"succeeded","images":1,` +
				`"usage":{"image_count":1},` +
				`"cost":{"requests":1,"tokens":0,"images":1,"spend":0,"flag":"exact"},`,
		},
		"failed": {ended("FAILED", `},"code":"InternalError","message":"secret prompt"}`),
			`task.failed {"task_id":"t1","request_id":"%s","model":"gen2.6-image","outcome":"failed","images":0,`},
		"cancelled": {ended("CANCELED", `}}`),
			`task.cancelled {"task_id":"t1","request_id":"%s","model":"gen2.6-image","outcome":"cancelled","images":0,`},
		"unheard": {created, `task.unheard {"task_id":"t1","request_id":"%s","model":"gen2.6-image","outcome":"unheard","images":1,`},
	} {
		t.Run(about, func(t *testing.T) {
			h, clock := tasked(t, says(200, "application/json", created, map[string]string{"t1": tt.end}), hooked)
			h.ask("POST", imagePath, imageBody, async...)
			id := h.records.await(t, 1)[0].ID
			if got := h.ends("search"); got != nil {
				t.Errorf("before its end: %q", got)
			}
			clock.move(time.Minute)
			if about == "unheard" {
				clock.move(24 * time.Hour)
			} else {
				h.poll("t1")
			}
			for range 2 {
				h.gateway.Finish(t.Context())
				clock.move(time.Minute)
			}
			got := h.ends("search")
			if len(got) != 1 || !strings.HasPrefix(got[0], fmt.Sprintf(tt.want, id)) {
				t.Fatalf("told %q", got)
			}
			page, err := os.ReadFile("../docs/events.md")
			_, data, _ := strings.Cut(got[0], " ")
			_, example, _ := strings.Cut(string(page), "\ntask.succeeded ")
			if example, _, _ = strings.Cut(example, "\n"); err != nil || !slices.Equal(members(t, data), members(t, example)) {
				t.Errorf("%v, docs/events.md has no example of\n%s", err, data)
			}
			if strings.Contains(got[0], "prompt") || strings.Contains(got[0], "https://pictures/1.png?a=1&b=2") != (about == "succeeded") {
				t.Error(got[0])
			}
		})
	}
}

// A task that ends in its creation's stream is announced, too, with the addresses of its pictures, and these are stored. It costs the same,
// once, whoever waits for it.
func TestAnEndInAStreamIsTold(t *testing.T) {
	const results = `"results":[{"url":"https://pictures.example/1.png"}]`
	mirrored := func(p *plan) {
		p.limits = append(p.limits, "mirror: {keep: 720h}")
		p.result = func(http.ResponseWriter, *http.Request, string, string, int) error { return nil }
	}
	status := func(of string) string { return `"task_id":"t1","task_status":"` + of + `",` }
	for about, tt := range map[string]struct {
		change func(*plan)
		told   int
		stored int
		open   int // when the stream has ended
	}{
		"nobody":        {func(*plan) {}, 0, 0, 0},
		"a hook":        {hooked, 1, 0, 1},
		"the mirror":    {mirrored, 0, 1, 1},
		"both":          {func(p *plan) { hooked(p); mirrored(p) }, 0, 1, 1}, // it is announced once its pictures are stored
		"another event": {func(p *plan) { p.to = hookFor("task.failed") }, 0, 0, 0},
	} {
		t.Run(about, func(t *testing.T) {
			stream := events(interleaved(0, `null`, status("RUNNING")), interleaved(1, `"stop"`, status("SUCCEEDED")))
			ended := interleaved(1, `"stop"`, status("SUCCEEDED"))
			h, clock := tasked(t, says(200, streamType, stream, map[string]string{"t1": ended}), limited("quotas: {images: {day: 9}}"), tt.change)
			h.try(imagePath, interleavedBody, streamed()...)
			h.records.await(t, 1)
			h.stands(t, "images", fmt.Sprint(1-tt.open), fmt.Sprint(2*tt.open), tt.open)
			for range 3 {
				clock.move(time.Minute)
				h.gateway.Finish(t.Context())
				h.poll("t1")
			}
			h.stands(t, "images", "1", "0", 0)
			if lines := strings.Count(h.log.String(), `"cost":{"requests":1,"tokens":0,"images":1,"spend":0,"flag":"exact"}`); lines != 1 {
				t.Errorf("charged in %d lines of %s", lines, h.log.String())
			}
			told := h.ends("search")
			if len(told) != tt.told || tt.told == 1 && (!strings.HasPrefix(told[0], `task.succeeded {"task_id":"t1"`) ||
				!strings.Contains(told[0], results)) {
				t.Errorf("told %q", told)
			}
			works, _ := h.balances.Events.Works.TakeWork(t.Context(), 9)
			if len(works) != tt.stored || tt.stored == 1 && (len(works[0].Pictures) != 1 ||
				works[0].Pictures[0].URL != "https://pictures.example/1.png") {
				t.Errorf("to be stored: %+v", works)
			}
		})
	}
}

// Nothing is written for a team without hooks.
func TestNothingIsWrittenForNobody(t *testing.T) {
	h, clock := tasked(t, says(200, "application/json", `{"output":{"task_id":"t1","task_status":"PENDING"}}`,
		map[string]string{"t1": task("t1", "SUCCEEDED", "")}), func(p *plan) {
		p.to = func(string, event.Type, string) []event.Target { return nil }
	})
	h.ask("POST", imagePath, imageBody, async...)
	clock.move(time.Minute)
	h.poll("t1")
	if got := h.ends("search"); got != nil {
		t.Errorf("told %q", got)
	}
}

// What a stream counted is charged where somebody waits for the pictures and no query tells more: the task has succeeded, and costs no
// estimate.
func TestAStreamsCountIsKeptForTheEnd(t *testing.T) {
	status := func(of string) string { return `"task_id":"t1","task_status":"` + of + `",` }
	stream := events(interleaved(0, `null`, status("RUNNING")), interleaved(1, `"stop"`, status("SUCCEEDED")))
	for about, tt := range map[string]struct {
		query string
		by    string
	}{
		"the service does not know the task": {`{"request_id":"r","output":{"task_id":"t1","task_status":"UNKNOWN"}}`, "stream"},
		"it runs for ever":                   {task("t1", "RUNNING", ""), "stream"},
		"it succeeded, and nothing counted":  {task("t1", "SUCCEEDED", ""), "finisher"},
	} {
		t.Run(about, func(t *testing.T) {
			h, clock := tasked(t, says(200, streamType, stream, map[string]string{"t1": tt.query}), limited("quotas: {images: {month: 9}}"), hooked,
				func(p *plan) {
					p.teams, p.config.TaskTTL = "prices: [{model: \"*\", image: 0.5}]\n", 4*time.Hour
				})
			h.try(imagePath, interleavedBody, streamed()...)
			h.records.await(t, 1)
			for range 3 {
				clock.move(time.Minute)
				h.gateway.Finish(t.Context())
				clock.move(time.Minute)
				h.poll("t1")
			}
			clock.move(4 * time.Hour)
			for range 3 {
				h.gateway.Finish(t.Context())
				clock.move(time.Minute)
			}
			rows, err := h.balances.Rows(t.Context(), limit.Query{Teams: []string{"search"}, Days: days(clock.now().Add(-26*time.Hour), 3)})
			if err != nil || len(rows) != 1 || rows[0].Used != (limit.Amounts{1, 0, 1, 500_000_000}) || rows[0].Estimated != (limit.Amounts{}) ||
				rows[0].Kinds == "" {
				t.Errorf("%+v, %v", rows, err)
			}
			told := h.ends("search")
			if len(told) != 1 || !strings.HasPrefix(told[0], `task.succeeded {"task_id":"t1"`) || !strings.Contains(told[0], `"flag":"exact"`) {
				t.Errorf("told %q", told)
			}
			wantMembers(t, h.settled(t), map[string]any{"task": "t1", "outcome": "succeeded", "settled_by": tt.by})
			if log := h.log.String(); strings.Contains(log, "charged as held") {
				t.Error(log)
			}
		})
	}
}
