package main

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"sluice/gateway"
)

// The load of --traffic: one scene begins every trafficEvery, so that it stays at a few requests a second.
const (
	trafficEvery   = 500 * time.Millisecond
	trafficWorkers = 8
)

// traffic is a client of the demonstration's gateway that behaves like several.
type traffic struct {
	base   string
	teams  demoTeams
	client http.Client
}

// sendTraffic plays the scenes in turn until ctx ends.
func sendTraffic(ctx context.Context, base string, teams demoTeams) {
	t := &traffic{base: base, teams: teams, client: http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: trafficWorkers}}}
	defer t.client.CloseIdleConnections()
	scenes := []func(context.Context){t.text, t.stream, t.picture, t.text, t.task, t.stream, t.foreign, t.forbidden, t.text, t.wrongKey}
	var playing sync.WaitGroup
	defer playing.Wait()
	slots := make(chan struct{}, trafficWorkers)
	ticker := time.NewTicker(trafficEvery)
	defer ticker.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		select {
		case slots <- struct{}{}:
			playing.Go(func() {
				defer func() { <-slots }()
				scenes[i%len(scenes)](ctx)
			})
		default: // all workers are busy: the scene is left out
		}
	}
}

func (t *traffic) text(ctx context.Context) {
	t.send(ctx, t.teams.ads, textPath, "", demoText)
}

func (t *traffic) stream(ctx context.Context) {
	t.send(ctx, t.teams.search, textPath, "X-Service-SSE", demoStream)
}

func (t *traffic) picture(ctx context.Context) {
	t.send(ctx, t.teams.search, multimodalPath, "", demoPicture)
}

func (t *traffic) forbidden(ctx context.Context) {
	t.send(ctx, t.teams.ads, imagePath, "X-Service-Async", demoEdit)
}

func (t *traffic) wrongKey(ctx context.Context) {
	t.send(ctx, "slk_wrong", textPath, "", demoText)
}

func (t *traffic) foreign(ctx context.Context) {
	t.send(ctx, t.teams.ads, "/tasks/somebody-elses", "", "")
}

// Answers of the service that the task scene reads.
var (
	taskID  = regexp.MustCompile(`"task_id":"([A-Za-z0-9_-]+)"`)
	taskEnd = regexp.MustCompile(`"task_status":"(SUCCEEDED|FAILED|CANCELL?ED|UNKNOWN)"`)
)

// task makes a task and polls it until it ends.
func (t *traffic) task(ctx context.Context) {
	created := taskID.FindStringSubmatch(t.send(ctx, t.teams.search, imagePath, "X-Service-Async", demoEdit))
	if created == nil {
		return
	}
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if answer := t.send(ctx, t.teams.search, "/tasks/"+created[1], "", ""); answer == "" || taskEnd.MatchString(answer) {
			return
		}
	}
}

// send makes one request, a GET without a body, and returns the answer's text. Failures are in the gateway's log.
func (t *traffic) send(ctx context.Context, key gateway.Secret, path, enable, body string) string {
	method := http.MethodPost
	if body == "" {
		method = http.MethodGet
	}
	request, err := http.NewRequestWithContext(ctx, method, t.base+path, strings.NewReader(body))
	if err != nil {
		return ""
	}
	request.Header.Set("Authorization", "Bearer "+key.Reveal())
	request.Header.Set("Content-Type", "application/json")
	if enable != "" {
		request.Header.Set(enable, "enable")
	}
	answer, err := t.client.Do(request)
	if err != nil {
		return ""
	}
	defer func() { _ = answer.Body.Close() }()
	content, _ := io.ReadAll(answer.Body)
	return string(content)
}
