package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"sluice/gateway/simulator"
)

// hearer is a client that reads its team's stream of events.
type hearer struct {
	*testing.T
	status int
	leave  func()

	mu     sync.Mutex
	id     string   // of an event whose data has not come yet
	ids    []string // with "gap"
	events []string
	over   bool // the stream has ended in order
}

// hear opens a stream, behind an event if one is named.
func hear(t *testing.T, base, query, last string) *hearer {
	t.Helper()
	l := &hearer{T: t}
	ctx, leave := context.WithCancel(context.Background())
	l.leave = leave
	t.Cleanup(leave)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/sluice/v1/events"+query, http.NoBody)
	must(t, err)
	r.Header.Set("Authorization", "Bearer test")
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	answer, err := (&http.Client{Transport: transport}).Do(r)
	must(t, err)
	l.status = answer.StatusCode
	go func() {
		lines := bufio.NewScanner(answer.Body)
		for lines.Scan() {
			l.line(lines.Text())
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.over = lines.Err() == nil
		_ = answer.Body.Close()
	}()
	return l
}

func (l *hearer) line(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case text == "event: gap":
		l.ids = append(l.ids, "gap")
	case strings.HasPrefix(text, "id: "):
		l.id = text[len("id: "):]
	case strings.HasPrefix(text, "data: {\"id\""):
		l.ids, l.events = append(l.ids, l.id), append(l.events, text[len("data: "):])
	}
}

// heard are the ids so far.
func (l *hearer) heard() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.ids)
}

func (l *hearer) event(i int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.events[i]
}

func (l *hearer) ended() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.over
}

func (l *hearer) waitFor(n int) []string {
	l.Helper()
	wait(l.T, fmt.Sprint(n, " events"), func() bool { return len(l.heard()) >= n })
	return l.heard()
}

// A team without hooks hears of its tasks' ends on a stream, in both forms, and of what it missed. The stream ends with its key.
func TestAStreamTellsOfEndings(t *testing.T) {
	for about, redis := range map[string][]string{"memory": nil, "Redis": {"SLUICE_REDIS_URL=" + startRedis(t).url()}} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			_, service := newService(t, simulator.Config{})
			path := filepath.Join(t.TempDir(), "teams.yaml")
			put(t, path, someTeams)
			h := serving(t, service.URL, append(redis, "SLUICE_TEAMS_FILE="+path, "SLUICE_POLL_INTERVAL=100ms")...)
			defer h.stop()
			base := "http://" + h.public
			client := &taskReplicas{T: t, client: newClient(t)}
			l := hear(t, base, "?types=task.*", "")
			if l.status != http.StatusOK {
				t.Fatal(l.status)
			}
			task := client.createAt(base, 2)
			first := l.waitFor(1)[0]
			if event := l.event(0); !strings.Contains(event, task) || !strings.Contains(event, `"type":"task.succeeded"`) ||
				!strings.Contains(event, first) {
				t.Error(event)
			}
			l.leave()
			client.createAt(base, 1)
			again := hear(t, base, "", first)
			if got := again.waitFor(1); slices.Contains(got, "gap") || slices.Contains(got, first) {
				t.Error(got)
			}
			wait(t, "the metric counts the stream alone", func() bool { // the first has ended when the gateway notices that its client left
				return strings.Contains(askOK(t, "http://"+h.admin+"/metrics"), `sluice_event_streams{team="search"} 1`)
			})
			for query, last := range map[string]string{"?types=tasks": "", "": "evt_1"} {
				if l := hear(t, base, query, last); l.status != http.StatusBadRequest {
					t.Error(query, last, l.status)
				}
			}
			rewrite(t, path, strings.Replace(someTeams, testsDigest, strings.Repeat("0", 64), 1))
			wait(t, "the stream ends with its key", again.ended)
			if l := hear(t, base, "", ""); l.status != http.StatusUnauthorized {
				t.Error(l.status)
			}
		})
	}
}

// The page's program reads a stream.
func TestThePagesReaderOfAStream(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	_, service := newService(t, simulator.Config{})
	h := serving(t, service.URL, "SLUICE_POLL_INTERVAL=100ms")
	defer h.stop()
	text := regexp.MustCompile("(?s)```python\n(import http.client.+?)```\n").FindStringSubmatch(readRoot(t, "docs/events.md"))
	ctx, end := context.WithCancel(t.Context())
	program := exec.CommandContext(ctx, python, "-c", text[1])
	program.Env, program.WaitDelay = []string{"BASE=http://" + h.public, "KEY=test"}, patience
	out, err := program.StdoutPipe()
	must(t, err)
	must(t, program.Start())
	defer func() { end(); _ = program.Wait() }()
	wait(t, "its stream is open", func() bool {
		return strings.Contains(askOK(t, "http://"+h.admin+"/metrics"), `sluice_event_streams{team="search"} 1`)
	})
	client, base := &taskReplicas{T: t, client: newClient(t)}, "http://"+h.public
	hear(t, base, "", "") // is open when every replica knows
	task, said := client.createAt(base, 1), bufio.NewScanner(out)
	if !said.Scan() || !strings.Contains(said.Text(), task) || !strings.HasPrefix(said.Text(), `{"id":"evt_`) {
		t.Errorf("it said %q", said.Text())
	}
}
