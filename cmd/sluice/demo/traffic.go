package demo

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"sluice/gateway/upstream"
)

// The load of --traffic: one scene begins every trafficEvery, to stay at a few requests a second.
const (
	trafficEvery   = 500 * time.Millisecond
	trafficWorkers = 8
)

// traffic is a client of the demonstration's gateway that behaves like several.
type traffic struct {
	base   string
	teams  Teams
	client http.Client
}

// SendTraffic plays the scenes in turn until ctx ends.
func SendTraffic(ctx context.Context, base string, teams Teams) {
	t := &traffic{base: base, teams: teams, client: http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: trafficWorkers}}}
	defer t.client.CloseIdleConnections()
	text, stream := t.request(teams.Ads, TextPath, "", Text), t.request(teams.Search, TextPath, "X-Service-SSE", Stream)
	picture, foreign := t.request(teams.Search, MultimodalPath, "", Picture), t.request(teams.Ads, "/tasks/somebody-elses", "", "")
	forbidden, wrongKey := t.request(teams.Ads, ImagePath, "X-Service-Async", Edit), t.request("slk_wrong", TextPath, "", Text)
	long, thinking := t.request(teams.Search, TextPath, "", conversation()), t.request(teams.Ads, TextPath, "", thinkingText)
	scenes := []func(context.Context){text, stream, picture, long, text, t.task, stream, foreign, thinking, forbidden, text, wrongKey}
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

// thinkingText makes the model think before it answers, which has a price of its own.
const thinkingText = `{"model":"llm-plus","input":{"messages":[{"role":"user","content":"Should the gate be opened today?"}]},` +
	`"parameters":{"result_format":"message","enable_thinking":true}}`

// conversation returns a text request with a long beginning that hits the service's cache, long enough for another price.
func conversation() string {
	return `{"model":"llm-plus","input":{"messages":[{"role":"system","content":"` +
		strings.Repeat("Answer as the keeper of a mill would, who has seen many floods. ", 160) +
		`"},{"role":"user","content":"How high may the water stand?"}]},"parameters":{"result_format":"message"}}`
}

// request returns a scene that sends one request, which appears in the log.
func (t *traffic) request(key upstream.Secret, path, enable, body string) func(context.Context) {
	return func(ctx context.Context) { t.send(ctx, key, path, enable, body) }
}

// Answers of the service that the task scene reads.
var (
	taskID  = regexp.MustCompile(`"task_id":"([A-Za-z0-9_-]+)"`)
	taskEnd = regexp.MustCompile(`"task_status":"(SUCCEEDED|FAILED|CANCELL?ED|UNKNOWN)"`)
)

// task makes a task and polls it until it ends.
func (t *traffic) task(ctx context.Context) {
	created := taskID.FindStringSubmatch(t.send(ctx, t.teams.Search, ImagePath, "X-Service-Async", Edit))
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
		if answer := t.send(ctx, t.teams.Search, "/tasks/"+created[1], "", ""); answer == "" || taskEnd.MatchString(answer) {
			return
		}
	}
}

// send makes one request, a GET without a body, and returns the answer's text. Failures are in the gateway's log.
func (t *traffic) send(ctx context.Context, key upstream.Secret, path, enable, body string) string {
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
