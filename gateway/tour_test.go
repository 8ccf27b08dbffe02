package gateway_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"sluice/gateway/simulator"
)

// The four endpoints and the older paths, end to end.

func TestTextPassesByteForByte(t *testing.T) {
	h := build(t)
	got := h.ask("POST", textPath, textBody)
	if got.status != http.StatusOK || got.member(t, "request_id") == "" {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	seen := h.sim.Requests()[0]
	if string(seen.Body) != textBody {
		t.Errorf("the service received %q, sent was %q", seen.Body, textBody)
	}
	if id := got.header.Get("X-Request-Id"); id != seen.ID {
		t.Errorf("X-Request-Id %q, upstream's was %q", id, seen.ID)
	}
	if id := got.header.Get("Sluice-Request-Id"); !regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`).MatchString(id) {
		t.Errorf("Sluice-Request-Id %q is no lower-case UUID", id)
	}
	if cc, st := got.header.Get("Cache-Control"), got.header.Get("Server-Timing"); cc != "private, no-store" ||
		!regexp.MustCompile(`^sluice;dur=\d+\.\d$`).MatchString(st) {
		t.Errorf("Cache-Control %q, Server-Timing %q", cc, st)
	}
	record := h.records.await(t, 1)[0]
	if record.Team != "search" || record.Endpoint != "text" || record.Model != "llm-max" || record.Status != 200 ||
		record.UpstreamStatus != 200 ||
		record.UpstreamID != seen.ID || record.BytesIn != int64(len(textBody)) || record.BytesOut != int64(len(got.body)) ||
		record.Refusal != "" {
		t.Errorf("record %+v", record)
	}
}

func TestStreamPassesFrameByFrame(t *testing.T) {
	h := build(t)
	for _, headers := range [][]string{{"X-Service-SSE", "enable"}, {"x-service-sse", "Enable"}, {"Accept", "text/event-stream"}} {
		got := h.ask("POST", textPath, textBody, headers...)
		if ct := got.header.Get("Content-Type"); !strings.HasPrefix(ct, "text/event-stream") ||
			!strings.HasPrefix(got.body, "id:1\nevent:result\n:HTTP_STATUS/200\ndata:{") {
			t.Errorf("%v: %s %.80q", headers, ct, got.body)
		}
	}
}

func TestSynchronousImage(t *testing.T) {
	h := build(t)
	got := h.ask("POST", multimodalPath, syncBody)
	if got.status != http.StatusOK || !strings.Contains(got.body, `"image_count":1`) {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	if kind := h.records.await(t, 1)[0].Kind; kind != "image" {
		t.Errorf("kind %q", kind)
	}
}

func TestTaskFromCreationToItsEnd(t *testing.T) {
	clock := &handClock{at: time.Now()}
	h := build(t, func(p *plan) {
		p.sim.Now, p.sim.Pending, p.sim.Running = clock.now, time.Second, 2*time.Second
	})
	for _, tt := range []struct{ path, body string }{{imagePath, imageBody}, {olderPath, olderBody}} {
		made := h.ask("POST", tt.path, tt.body, "X-Service-Async", "enable")
		id := made.member(t, "output", "task_id")
		if made.status != http.StatusOK || made.member(t, "output", "task_status") != "PENDING" {
			t.Fatalf("%s: %d %s", tt.path, made.status, made.body)
		}
		for _, want := range []string{"PENDING", "RUNNING", "SUCCEEDED"} {
			got := h.ask("GET", tasksPath+"/"+id, "")
			if status := got.member(t, "output", "task_status"); status != want || got.header.Get("Cache-Status") != "sluice;fwd=uri-miss;stored" {
				t.Fatalf("%s: status %s, want %s; %v", tt.path, status, want, got.header)
			}
			clock.move(1500 * time.Millisecond)
		}
	}
}

func TestListShowsOwnTasksOnly(t *testing.T) {
	h := build(t)
	mine := h.ask("POST", imagePath, imageBody, "X-Service-Async", "enable").member(t, "output", "task_id")
	theirs := h.send(h.request("POST", imagePath, imageBody, "X-Service-Async", "enable", "Authorization", "Bearer "+h.keys["shop"])).
		member(t, "output", "task_id")
	got := h.ask("GET", tasksPath+"/", "")
	if got.status != 200 || !strings.Contains(got.body, mine) || strings.Contains(got.body, theirs) ||
		!strings.Contains(got.body, `"total":1,`) {
		t.Errorf("list %s", got.body)
	}
	if none := h.ask("GET", tasksPath+"?status=FAILED", ""); !strings.Contains(none.body,
		`"total":0,"data":[],"total_page":0,"page_no":1,"page_size":10`) {
		t.Errorf("list of failed tasks %s", none.body)
	}
	h.ask("GET", tasksPath+"?page_no=x&start_time=yesterday", "").wants(t, 400, "inspect/rules", "InvalidParameter")
	if h.sim.Count(simulator.EndpointList) != 0 {
		t.Error("the list was requested from upstream, which shows the tasks of every team")
	}
}

func TestForeignAndAbsentTasksAreOne404(t *testing.T) {
	h := build(t)
	theirs := h.send(h.request("POST", imagePath, imageBody, "X-Service-Async", "enable", "Authorization", "Bearer "+h.keys["shop"])).
		member(t, "output", "task_id")
	before := len(h.sim.Requests())
	strip := func(r reading) string { return strings.ReplaceAll(r.body, r.header.Get("Sluice-Request-Id"), "") }
	for _, suffix := range []string{"", "/", "/cancel", "/cancel/"} {
		method := "GET"
		if strings.Contains(suffix, "cancel") {
			method = "POST"
		}
		foreign, absent := h.ask(method, tasksPath+"/"+theirs+suffix, ""), h.ask(method, tasksPath+"/no-such-task"+suffix, "")
		foreign.wants(t, 404, "recall/task", "NotFound")
		absent.wants(t, 404, "recall/task", "NotFound")
		if strip(foreign) != strip(absent) {
			t.Errorf("%s: foreign %s, absent %s", suffix, foreign.body, absent.body)
		}
	}
	if after := len(h.sim.Requests()); after != before {
		t.Errorf("%d requests reached upstream", after-before)
	}
}

func TestCancel(t *testing.T) {
	clock := &handClock{at: time.Now()}
	h := build(t, func(p *plan) { p.sim.Now, p.sim.Pending, p.sim.Running = clock.now, time.Second, time.Second })
	id := h.ask("POST", imagePath, imageBody, "X-Service-Async", "enable").member(t, "output", "task_id")
	if got := h.ask("POST", tasksPath+"/"+id+"/cancel", ""); got.status != 200 || got.header.Get("Sluice-Refusal") != "" {
		t.Fatalf("cancel of a waiting task: %d %s", got.status, got.body)
	}
	if got := h.ask("POST", tasksPath+"/"+id+"/cancel/", ""); got.status != 400 || got.member(t, "code") != "UnsupportedOperation" ||
		got.header.Get("Sluice-Refusal") != "" {
		t.Errorf("cancel of an ended task: %d %s", got.status, got.body)
	}
}

// While upstream fails, a poll gets the task's last known answer.
func TestPollServesTheLastAnswerWhileUpstreamFails(t *testing.T) {
	h := build(t, func(p *plan) { p.sim.Running = time.Hour })
	id := h.ask("POST", imagePath, imageBody, "X-Service-Async", "enable").member(t, "output", "task_id")
	for _, fault := range []simulator.Fault{
		{Error: &simulator.FaultError{Status: 429, Code: "Throttling.RateQuota"}}, {Error: &simulator.FaultError{Status: 500}},
		{Drop: "reset"}, {TaskID: "another-task"}, {Redirect: "http://127.0.0.1:1/"},
	} {
		h.sim.SetFault(fault)
		got := h.ask("GET", tasksPath+"/"+id, "")
		if got.status != 200 || got.member(t, "output", "task_id") != id ||
			!strings.HasSuffix(got.header.Get("Cache-Status"), ";detail=stale") || got.header.Get("Age") == "" {
			t.Errorf("%+v: %d %s %v", fault, got.status, got.body, got.header)
		}
	}
}

// TestPythonLibraryStreamsImages sends the same as the service's own Python library for an interleaved stream, on
// both paths: the SSE header and Accept, and no stream parameter. The team owns the task of the asynchronous path.
func TestPythonLibraryStreamsImages(t *testing.T) {
	h := build(t)
	const messages = `"input":{"messages":[{"role":"user","content":[{"text":"Fold a crane"}]}]}}`
	for _, tt := range []struct {
		path, parameters string
		more             []string
	}{
		{multimodalPath, `{"enable_interleave":true,"max_images":2}`, nil},
		{imagePath, `{"enable_interleave":true,"max_images":2,"is_async":true}`, []string{"X-Service-Async", "enable"}},
	} {
		headers := append([]string{"X-Service-SSE", "enable", "Accept", "text/event-stream", "X-Accel-Buffering", "no",
			"x-service-sdk-client", "python-sdk/2.0.2/aigc", "Content-Type", "application/json; charset=utf-8"}, tt.more...)
		got := h.ask("POST", tt.path, `{"model":"gen2.6-image","parameters":`+tt.parameters+`,`+messages, headers...)
		if got.status != http.StatusOK || !strings.HasPrefix(got.header.Get("Content-Type"), "text/event-stream") ||
			strings.Contains(got.body, "event:error") {
			t.Fatalf("%s: %d %.300s", tt.path, got.status, got.body)
		}
		if warning := got.header.Get("Sluice-Warning"); warning != `image.interleave.stream.absent;given="nothing"` {
			t.Errorf("%s: Sluice-Warning %q", tt.path, warning)
		}
		if !strings.Contains(got.body, `"image_count":`) {
			t.Errorf("%s: no image in %.300s", tt.path, got.body)
		}
	}
}
