package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"sluice/gateway/simulator"
)

// delivered is what a receiver of hooks got: the paths, by the event's id, and the events.
type delivered struct {
	mu     sync.Mutex
	paths  map[string][]string
	events map[string]string
}

// receiving starts a receiver that verifies what it gets and refuses the first try of each.
func receiving(t *testing.T) (*delivered, *httptest.Server) {
	t.Helper()
	d := &delivered{paths: map[string][]string{}, events: map[string]string{}}
	wh, err := standardwebhooks.NewWebhook(hookSecretText)
	must(t, err)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if err := wh.Verify(body, r.Header); err != nil {
			t.Errorf("%s: %v", r.URL, err)
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		id := r.Header.Get("Webhook-Id")
		if was, again := d.events[id]; again && was != string(body) {
			t.Errorf("%s came with other bytes", id)
		}
		d.paths[id], d.events[id] = append(d.paths[id], r.URL.RequestURI()), string(body)
	}))
	t.Cleanup(server.Close)
	return d, server
}

// of returns how often an event of a type arrived, and the last one's paths and text.
func (d *delivered) of(kind string) (times int, paths []string, text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, event := range d.events {
		if strings.Contains(event, `"type":"`+kind+`"`) {
			times++
			paths, text = d.paths[id], event
		}
	}
	return times, paths, text
}

// The end of a task, and a quota that is reached, arrive at the team's hook, and the end at the callback of its request, too.
func TestAnEndingReachesItsHook(t *testing.T) {
	for about, redis := range map[string][]string{"memory": nil, "Redis": {"SLUICE_REDIS_URL=" + startRedis(t).url()}} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			got, receiver := receiving(t)
			_, service := newService(t, simulator.Config{})
			dir := t.TempDir()
			must(t, os.WriteFile(filepath.Join(dir, "secret"), []byte(hookSecretText), 0o600))
			path := filepath.Join(dir, "teams.yaml")
			must(t, os.WriteFile(path, []byte(someTeams+"    quotas: {images: {day: 2}}\n    alert: [50]\n    hooks:\n      - {id: jobs, url: \""+
				receiver.URL+
				"/hook\", events: [\"task.*\", \"quota.*\"], secret_file: secret}\n"), 0o600))
			h := serving(t, service.URL, append(redis, "SLUICE_TEAMS_FILE="+path, "SLUICE_HOOK_NETWORKS=127.0.0.0/8",
				"SLUICE_POLL_INTERVAL=100ms")...)
			defer h.stop()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+h.public+imageURL,
				strings.NewReader(fmt.Sprintf(imageTask, 1)))
			must(t, err)
			for name, value := range map[string]string{"Authorization": "Bearer test", "Content-Type": "application/json",
				"X-Service-Async": "enable", "Sluice-Callback": "jobs/shots/42?x=1"} {
				r.Header.Set(name, value)
			}
			resp, err := newClient(t).Do(r)
			must(t, err)
			text, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Fatalf("%s %s %v", resp.Status, text, err)
			}
			var made struct {
				Output struct {
					ID string `json:"task_id"`
				} `json:"output"`
			}
			must(t, json.Unmarshal(text, &made))
			wait(t, "the end arrives at the hook and at the callback", func() bool {
				_, paths, _ := got.of("task.succeeded")
				joined := strings.Join(paths, " ")
				return strings.Contains(joined+" ", "/hook ") && strings.Contains(joined, "/hook/shots/42?x=1")
			})
			times, _, event := got.of("task.succeeded")
			var told struct {
				Data struct {
					Task    string `json:"task_id"`
					Images  int    `json:"images"`
					Results []struct {
						URL string `json:"url"`
					} `json:"results"`
				} `json:"data"`
			}
			must(t, json.Unmarshal([]byte(event), &told))
			if times != 1 || told.Data.Task != made.Output.ID || told.Data.Images != 1 || len(told.Data.Results) != 1 ||
				strings.Contains(event, "prompt") {
				t.Errorf("%d times: %s", times, event)
			}
			wait(t, "half of the quota is told", func() bool { times, _, _ := got.of("quota.reached"); return times == 1 })
			if _, _, event := got.of("quota.reached"); !strings.Contains(event, `"threshold":50`) || !strings.Contains(event, `"scope":"team"`) {
				t.Error(event)
			}
			wait(t, "three are delivered", func() bool { // which is recorded once the receiver has answered
				return strings.Count(askOK(t, "http://"+h.admin+"/events?team=search"), `"delivered"`) == 3
			})
			if about != "Redis" {
				return
			}
			id := event[len(`{"id":"`):][:30]
			if code, out := hookRun(t, servingEnviron(t, service.URL, redis...), "hook", "--team", "search", "--resend", id); code != exitClean {
				t.Errorf("%d %s", code, out)
			}
			wait(t, "it arrives again", func() bool { _, paths, _ := got.of("task.succeeded"); return len(paths) == 4 })
		})
	}
}
