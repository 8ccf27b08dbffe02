package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice/gateway/simulator"
	"sluice/policy/limit"
)

const streamType = "text/event-stream;charset=UTF-8"

// says is an upstream that answers each creation with this text, and each query of a task with its id's text.
func says(status int, contentType, body string, tasks map[string]string) func(*plan) {
	return func(p *plan) {
		p.upstream = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			text, kind, code := body, contentType, status
			if id, ok := strings.CutPrefix(r.URL.Path, tasksPath+"/"); ok {
				text, kind, code = tasks[strings.TrimSuffix(id, "/cancel")], "application/json", http.StatusOK
			}
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(code)
			_, _ = io.WriteString(w, text)
		})
	}
}

// events is a stream of these documents.
func events(documents ...string) string {
	var b strings.Builder
	for i, d := range documents {
		_, _ = fmt.Fprintf(&b, "id:%d\nevent:result\n:HTTP_STATUS/200\ndata:%s\n\n", i+1, d)
	}
	return b.String()
}

func errorEvent(status int) string {
	return fmt.Sprintf("id:1\nevent:error\n:HTTP_STATUS/%d\ndata:{\"code\":\"ModelUnavailable\",\"message\":\"m\",\"request_id\":\"r\"}\n\n",
		status)
}

// A complete 503 to a creation means that the service did nothing: the hold is given back immediately, as after a 429, and the
// creation may be repeated with its Idempotency-Key. Any other 5xx does not mean that, nor does a 503 that is cut.
func TestComplete503GivesTheHoldBack(t *testing.T) {
	const refused = `{"code":"ModelUnavailable","message":"m","request_id":"r"}`
	for _, tt := range []struct {
		about string
		says  func(*plan)
		free  bool
	}{
		{"503", says(503, "application/json", refused, nil), true},
		{"503 that is no JSON", says(503, "text/html", "<html>busy</html>", nil), true},
		{"503 without a body", says(503, "application/json", "", nil), true},
		{"429", says(429, "application/json", refused, nil), true},
		{"500", says(500, "application/json", refused, nil), false},
		{"504", says(504, "application/json", refused, nil), false},
		{"503 that is cut", cuts(503, "application/json", refused[:20]), false},
		{"503 in a frame", says(200, streamType, errorEvent(503), nil), true},
		{"429 in a frame", says(200, streamType, errorEvent(429), nil), true},
		{"500 in a frame", says(200, streamType, errorEvent(500), nil), false},
		{"503 in a frame that is cut", cuts(200, streamType, strings.TrimSuffix(errorEvent(503), "\"}\n\n")), false},
	} {
		t.Run(tt.about, func(t *testing.T) {
			h, _ := tasked(t, tt.says, limited("quotas: {images: {day: 100}}"))
			ask := func() reading { return h.try(imagePath, interleavedBody, streamed("Idempotency-Key", "a")...) }
			first := ask()
			record := h.records.await(t, 1)[0]
			if tt.free {
				h.stands(t, "images", "0", "0", 0)
			} else {
				h.stands(t, "images", "0", "2", 1)
			}
			if free := record.Cost.Flag == "refused"; free != tt.free {
				t.Errorf("answered %d %s, charged %+v", first.status, first.body, record.Cost)
			}
			ask()
			if again := h.records.await(t, 3)[2]; again.Cache == "replay" == tt.free {
				t.Errorf("sent again: %+v", again)
			}
		})
	}
}

// streamed are the headers of a creation that wants a stream, and more.
func streamed(more ...string) []string {
	return append([]string{"X-Service-Async", "enable", "X-Service-SSE", "enable"}, more...)
}

// cuts is an upstream whose answers break off after the body.
func cuts(status int, contentType, body string) func(*plan) {
	return func(p *plan) {
		p.upstream = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		})
	}
}

// try is h.ask for an answer that may be cut before its header is whole.
func (h *harness) try(path, body string, headers ...string) reading {
	resp, err := h.client.Do(h.request("POST", path, body, headers...))
	if err != nil {
		return reading{err: err}
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	return reading{resp.StatusCode, resp.Header, string(text), err}
}

const picture = `{"type":"image","image":"https://pictures.example/1.png"}`

// interleaved is a document of a stream of images; more is added to its output.
func interleaved(images int, finish, more string) string {
	return fmt.Sprintf(`{"output":{%s"choices":[{"finish_reason":%s,"message":{"role":"assistant","content":[%s]}}]},`+
		`"usage":{"image_count":%d,"input_tokens":3},"request_id":"r"}`, more, finish, picture, images)
}

// A stream of images on the asynchronous path may name no task: then its text is the only answer. If it is whole and has
// its usage, it is charged by that; if not, a task may run whose id is unknown.
func TestStreamWithoutATaskIsSettled(t *testing.T) {
	one := events(interleaved(0, `"null"`, ""), interleaved(1, `"stop"`, ""))
	for _, tt := range []struct {
		about string
		says  func(*plan)
		used  string
		held  string
		open  int
		flag  string
	}{
		{"whole", says(200, streamType, one, nil), "1", "0", 0, "exact"},
		{"whole, one document", says(200, "application/json", interleaved(1, `"stop"`, ""), nil), "1", "0", 0, "exact"},
		// its picture is counted
		{"whole, without usage", says(200, streamType, strings.ReplaceAll(one, `"usage"`, `"other"`), nil), "1", "0", 0, "exact"},
		{"fails after an image", says(200, streamType, events(interleaved(1, `"null"`, ""))+errorEvent(500), nil), "1", "0", 0, "exact"},
		{"says nothing", says(200, streamType, events(`{"output":{},"request_id":"r"}`), nil), "0", "2", 1, ""},
		{"cut", cuts(200, streamType, events(interleaved(1, `"null"`, ""))), "0", "2", 1, ""},
	} {
		t.Run(tt.about, func(t *testing.T) {
			h, _ := tasked(t, tt.says, limited("quotas: {images: {day: 100}}"))
			got := h.try(imagePath, interleavedBody, streamed()...)
			record := h.records.await(t, 1)[0]
			h.stands(t, "images", tt.used, tt.held, tt.open)
			if record.Cost.Flag != tt.flag || tt.flag == "exact" && (got.status != 200 || got.header.Get("Sluice-Refusal") != "") {
				t.Errorf("%d %s, charged %+v", got.status, got.body, record.Cost)
			}
		})
	}
}

// With an id, a stream that is cut settles nothing: the task runs, and its end is learned later.
func TestStreamOfATaskThatRunsOn(t *testing.T) {
	running := events(interleaved(1, `"null"`, `"task_id":"t1","task_status":"RUNNING",`))
	h, _ := tasked(t, says(200, streamType, running, nil), limited("quotas: {images: {day: 100}}"))
	h.ask("POST", imagePath, interleavedBody, streamed()...)
	h.records.await(t, 1)
	h.stands(t, "images", "0", "2", 1)
}

// With an id, a stream that ended in order is settled by its text, whatever its finish_reason, unless a status shows that the
// task runs on; the task's later answers cost nothing more. An error in between says nothing about the task.
func TestCleanStreamOfATask(t *testing.T) {
	stream := func(more string) string {
		return events(interleaved(0, `null`, `"task_id":"t1",`+more), interleaved(1, `null`, `"task_id":"t1",`+more))
	}
	for about, tt := range map[string]struct {
		says func(*plan)
		used string
		held string
		open int
	}{
		"no status": {says(200, streamType, stream(""), map[string]string{"t1": task("t1", "SUCCEEDED", `,"usage":{"image_count":2}`)}),
			"1", "0", 0}, "unknown": {says(200, streamType, stream(`"task_status":"UNKNOWN",`), nil), "1", "0", 0},
		"running":        {says(200, streamType, stream(`"task_status":"RUNNING",`), nil), "0", "2", 1},
		"pending":        {says(200, streamType, stream(`"task_status":"PENDING",`), nil), "0", "2", 1},
		"a word unknown": {says(200, streamType, stream(`"task_status":"THINKING",`), nil), "0", "2", 1},
		"cut":            {cuts(200, streamType, stream("")), "0", "2", 1},
		"an error":       {says(200, streamType, stream("")+errorEvent(500), nil), "0", "2", 1},
	} {
		t.Run(about, func(t *testing.T) {
			h, clock := tasked(t, tt.says, limited("quotas: {images: {day: 100}}"))
			h.try(imagePath, interleavedBody, streamed()...)
			record := h.records.await(t, 1)[0]
			h.stands(t, "images", tt.used, tt.held, tt.open)
			if told := map[string]string{"1": "exact", "0": ""}[tt.used]; record.Cost.Flag != told {
				t.Errorf("logged as %q, want %q", record.Cost.Flag, told)
			}
			clock.move(time.Minute)
			h.gateway.Finish(t.Context())
			h.poll("t1")
			h.stands(t, "images", tt.used, tt.held, tt.open)
		})
	}
}

// A stream may name its task in frames of any size: the team owns it when the stream ends.
func TestTaskInLargeFrames(t *testing.T) {
	pad := `"pad":"` + strings.Repeat("x", 100<<10) + `",`
	frame := func(status, finish string) string {
		return interleaved(2, finish, `"task_id":"t1","task_status":"`+status+`",`+pad)
	}
	for about, tt := range map[string]struct {
		stream, used, held string
		open               int
	}{
		"runs on": {events(frame("RUNNING", `"null"`), frame("RUNNING", `"null"`)), "0", "2", 1},
		"ended":   {events(frame("RUNNING", `"null"`), frame("SUCCEEDED", `"stop"`)), "2", "0", 0},
	} {
		h, clock := tasked(t, says(200, streamType, tt.stream, map[string]string{"t1": task("t1", "RUNNING", "")}),
			limited("quotas: {images: {day: 100}}"))
		h.ask("POST", imagePath, interleavedBody, streamed()...)
		if record := h.records.await(t, 1)[0]; record.Task != "t1" {
			t.Errorf("%s: the line names the task %q", about, record.Task)
		}
		h.stands(t, "images", tt.used, tt.held, tt.open)
		if got := h.poll("t1"); got.status != http.StatusOK || got.member(t, "output", "task_id") != "t1" {
			t.Errorf("%s: polled at once: %d %s", about, got.status, got.body)
		}
		clock.move(time.Minute)
		if got := h.poll("t1"); got.status != http.StatusOK || got.body != task("t1", "RUNNING", "") {
			t.Errorf("%s: polled: %d %s", about, got.status, got.body)
		}
	}
}

// A stream that ended in order is whole, whatever its finish_reason: its usage is exact. A cut one is not, and neither is
// one whose end may be a cut, unless it marked its own end.
func TestCleanStreamIsExact(t *testing.T) {
	said := func(finish string) string {
		return events(`{"output":{"choices":[{` + finish + `"message":{"content":"some words of many letters,` +
			` so that they are no three tokens","role":"assistant"}}]},"usage":{"input_tokens":1,"output_tokens":2,"total_tokens":3}}`)
	}
	tail := `data:{"output":{"choices":[{"mess`
	for _, tt := range []struct {
		about string
		says  func(*plan)
		flag  string
	}{
		{"null", says(200, streamType, said(`"finish_reason":null,`), nil), "exact"},
		{`"null"`, says(200, streamType, said(`"finish_reason":"null",`), nil), "exact"},
		{"absent", says(200, streamType, said(""), nil), "exact"},
		{"stop", says(200, streamType, said(`"finish_reason":"stop",`), nil), "exact"},
		{"null, cut", cuts(200, streamType, said(`"finish_reason":null,`)), "estimated"},
		{"null, in the middle of a frame", says(200, streamType, said("")+tail, nil), "estimated"},
		{"null, up to the connection's end", closes(said("")), "estimated"},
		{"stop, up to the connection's end", closes(said(`"finish_reason":"stop",`)), "exact"},
	} {
		t.Run(tt.about, func(t *testing.T) {
			h := build(t, tt.says, limited("quotas: {tokens: {day: 100000}}"))
			h.try(textPath, textBody, "X-Service-SSE", "enable")
			record := h.records.await(t, 1)[0]
			if record.Cost.Flag != tt.flag || (record.Cost.Amounts[limit.Tokens] == 3) != (tt.flag == "exact") {
				t.Errorf("charged %+v, want %s", record.Cost, tt.flag)
			}
		})
	}
}

// closes is an upstream that ends a stream by closing the connection.
func closes(stream string) func(*plan) {
	return func(p *plan) {
		p.upstream = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			conn, out, err := http.NewResponseController(w).Hijack()
			if err != nil {
				panic(err)
			}
			_, _ = out.WriteString("HTTP/1.1 200 OK\r\nContent-Type: " + streamType + "\r\nConnection: close\r\n\r\n" + stream)
			_, _ = out.Flush(), conn.Close()
		})
	}
}

// The simulator's streams that end too early, but in order, are exact too.
func TestSimulatorsEndIsExact(t *testing.T) {
	h := build(t)
	h.sim.SetFault(simulator.Fault{Cut: "end", After: 2})
	got := h.ask("POST", textPath, textBody, "X-Service-SSE", "enable")
	if record := h.records.await(t, 1)[0]; record.Cost.Flag != "exact" || strings.Contains(got.body, `"stop"`) {
		t.Errorf("charged %+v for %s", record.Cost, got.body)
	}
}
