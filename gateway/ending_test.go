package gateway_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/policy/event"
)

// hooked gives a team a hook for the ends of tasks.
func hooked(p *plan) {
	p.to = func(team string, of event.Type, _ string) []event.Target {
		if team != "search" || !event.Pattern("task.*").Matches(of) {
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
			ended("SUCCEEDED", `,"choices":[{"message":{"content":[{"image":"https://pictures/1.png?a=1&b=2","type":"image"}]}}]},"usage":{"image_count":1}}`),
			`task.succeeded {"task_id":"t1","request_id":"` + `%s` + `","model":"gen2.6-image","outcome":"succeeded","images":1,"usage":{"image_count":1},` +
				`"cost":{"requests":1,"tokens":0,"images":1,"spend":0,"flag":"exact"},`,
		},
		"failed":    {ended("FAILED", `},"code":"InternalError","message":"secret prompt"}`), `task.failed {"task_id":"t1","request_id":"%s","model":"gen2.6-image","outcome":"failed","images":0,`},
		"cancelled": {ended("CANCELED", `}}`), `task.cancelled {"task_id":"t1","request_id":"%s","model":"gen2.6-image","outcome":"cancelled","images":0,`},
		"unheard":   {created, `task.unheard {"task_id":"t1","request_id":"%s","model":"gen2.6-image","outcome":"unheard","images":1,`},
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

// A task that ends in its creation's stream is told, too.
func TestAnEndInAStreamIsTold(t *testing.T) {
	stream := events(interleaved(0, `null`, `"task_id":"t1",`), interleaved(1, `null`, `"task_id":"t1",`))
	h, clock := tasked(t, says(200, streamType, stream, nil), hooked)
	h.try(imagePath, interleavedBody, streamed()...)
	h.records.await(t, 1)
	clock.move(time.Minute)
	h.gateway.Finish(t.Context())
	if got := h.ends("search"); len(got) != 1 || !strings.HasPrefix(got[0], `task.succeeded {"task_id":"t1"`) {
		t.Errorf("told %q", got)
	}
}

// Nothing is written for a team without hooks.
func TestNothingIsWrittenForNobody(t *testing.T) {
	h, clock := tasked(t, says(200, "application/json", `{"output":{"task_id":"t1","task_status":"PENDING"}}`, map[string]string{"t1": task("t1", "SUCCEEDED", "")}), func(p *plan) {
		p.to = func(string, event.Type, string) []event.Target { return nil }
	})
	h.ask("POST", imagePath, imageBody, async...)
	clock.move(time.Minute)
	h.poll("t1")
	if got := h.ends("search"); got != nil {
		t.Errorf("told %q", got)
	}
}
