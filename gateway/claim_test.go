package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"sluice/cache"
	"sluice/gateway/tasks"
	"sluice/policy/limit"
)

const forwardedPath = "/api/v1/services/aigc/video-generation/video-synthesis"

var forwards = forwarding("services/aigc/video-generation")

func task(id, status, more string) string {
	return fmt.Sprintf(`{"output":{"task_id":"%s","task_status":"%s"},"request_id":"r"%s}`, id, status, more)
}

// A task that a forwarded path created for a client that wants one belongs to its team: it can be polled, listed and
// cancelled. It costs its one request, whatever it made, and its end is logged.
func TestForwardedTasksAreClaimed(t *testing.T) {
	tasks := map[string]string{"v1": task("v1", "RUNNING", "")}
	h, clock := tasked(t, forwards, says(200, "application/json", task("v1", "PENDING", ""), tasks),
		limited("quotas: {requests: {day: 100}, images: {day: 100}}"))
	if got := h.ask("POST", forwardedPath, "not json", async...); got.status != 200 || got.body != task("v1", "PENDING", "") {
		t.Fatalf("%d %s", got.status, got.body)
	}
	h.records.await(t, 1)
	h.stands(t, "requests", "0", "1", 1)
	if got := h.poll("v1"); got.status != 200 || got.body != task("v1", "PENDING", "") {
		t.Errorf("polled: %d %s", got.status, got.body)
	}
	h.poll("v1", "Authorization", "Bearer "+h.keys["shop"]).wants(t, 404, "recall/task", "NotFound")
	if got := h.ask("GET", tasksPath, ""); !strings.Contains(got.body, `"total":1`) || !strings.Contains(got.body, `"task_id":"v1"`) {
		t.Errorf("listed: %s", got.body)
	}
	if got := h.cancel("v1"); got.status != 200 {
		t.Errorf("cancelled: %d %s", got.status, got.body)
	}
	clock.move(time.Minute)
	tasks["v1"] = task("v1", "SUCCEEDED", `,"usage":{"image_count":3}`)
	h.poll("v1")
	h.stands(t, "requests", "1", "0", 0)
	h.stands(t, "images", "0", "0", 0)
	if got := h.settlements(); got != "succeeded 1" {
		t.Errorf("counted: %q", got)
	}
	if spans := h.spansNamed(t); spans["task"] != 1 {
		t.Errorf("spans: %v", spans)
	}
	rows, err := h.balances.Rows(t.Context(), limit.Query{Teams: []string{"search"}, Days: days(clock.now().Add(-time.Hour), 2)})
	if err != nil || len(rows) != 1 || rows[0].Used != (limit.Amounts{limit.Requests: 1}) || rows[0].Estimated != (limit.Amounts{}) {
		t.Errorf("%+v, %v", rows, err)
	}
}

// A creation whose answer names a task of another team claims nothing: the task stays with its owner, and the request is
// held, because it may have created something.
func TestAnotherTeamsTaskStaysItsOwn(t *testing.T) {
	for _, path := range []string{forwardedPath, imagePath} {
		for status, answered := range map[string]string{"PENDING": "application/json", "FAILED": "application/json", "RUNNING": streamType} {
			tasks := map[string]string{"v1": task("v1", "RUNNING", "")}
			body := task("v1", status, "")
			if answered == streamType {
				body = events(body)
			}
			h, clock := tasked(t, forwards, says(200, answered, body, tasks), limited("quotas: {requests: {day: 100}}"))
			h.gateway.Claims().Put(t.Context(), cache.Claim{Team: "shop", Task: "v1", Answer: cache.Answer{Task: "v1", Status: cache.Pending},
				Body: []byte("{}")})
			if got := h.ask("POST", path, interleavedBody, streamed()...); got.status != 200 || got.body != body {
				t.Errorf("%s %s: %d %s", path, status, got.status, got.body)
			}
			h.records.await(t, 1)
			h.stands(t, "requests", "0", "1", 1)
			if n := strings.Count(h.log.String(), `"level":"ERROR"`); n != 1 {
				t.Errorf("%s %s: %d errors in %s", path, status, n, h.log.String())
			}
			clock.move(time.Minute)
			h.poll("v1").wants(t, 404, "recall/task", "NotFound")
			h.cancel("v1").wants(t, 404, "recall/task", "NotFound")
			if got := h.poll("v1", "Authorization", "Bearer "+h.keys["shop"]); got.status != 200 {
				t.Errorf("%s %s: its own team polled: %d %s", path, status, got.status, got.body)
			}
		}
	}
}

// A second creation of one team whose answer names the task of the first is held for an hour, and the operator is told. The task stays
// with what the first one holds, and is charged once.
func TestASecondCreationsHoldDoesNotStayOpen(t *testing.T) {
	tasks := map[string]string{"v1": task("v1", "RUNNING", "")}
	h, clock := tasked(t, says(200, "application/json", task("v1", "PENDING", ""), tasks), limited("quotas: {images: {day: 100}}"))
	for range 2 {
		if got := h.ask("POST", imagePath, imageBody, async...); got.status != 200 || got.body != task("v1", "PENDING", "") {
			t.Errorf("%d %s", got.status, got.body)
		}
	}
	h.records.await(t, 2)
	h.stands(t, "images", "0", "2", 2)
	if n := strings.Count(h.log.String(), `"level":"ERROR"`); n != 1 {
		t.Errorf("%d errors in %s", n, h.log.String())
	}
	clock.move(time.Minute)
	tasks["v1"] = task("v1", "SUCCEEDED", `,"usage":{"image_count":1}`)
	h.poll("v1")
	h.stands(t, "images", "1", "1", 1)
	clock.move(time.Hour)
	if err := h.balances.Maintain(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.stands(t, "images", "2", "0", 0)
}

// Other answers of a forwarded path pass unchanged, and cost the request immediately; if a task may run, the request stays held.
func TestForwardedAnswersThatAreNoTask(t *testing.T) {
	long := task("v1", "PENDING", `,"padding":"`+strings.Repeat("x", 5<<20)+`"`)
	done := events(task("v1", "SUCCEEDED", `,"usage":{"image_count":3}`))
	for _, tt := range []struct {
		about   string
		says    func(*plan)
		headers []string
		used    string
		held    string
		open    int
	}{
		{"no task", says(200, "text/plain", "ok", nil), async, "1", "0", 0},
		{"not asked for", says(200, "application/json", task("v1", "PENDING", ""), nil), nil, "1", "0", 0},
		{"disabled", says(200, "application/json", task("v1", "PENDING", ""), nil), []string{"X-Service-Async", "disable"}, "1", "0", 0},
		{"long", says(200, "application/json", long, nil), async, "1", "0", 0},
		{"a stream of a task that ended", says(200, streamType, done, nil), async, "1", "0", 0},
		{"refused", says(400, "application/json", `{"code":"InvalidParameter","message":"m"}`, nil), async, "1", "0", 0},
		{"failed", says(500, "application/json", `{"code":"InternalError","message":"m"}`, nil), async, "0", "1", 1},
		{"cut", cuts(200, "application/json", `{"output":{"task`), async, "0", "1", 1},
	} {
		t.Run(tt.about, func(t *testing.T) {
			h, _ := tasked(t, forwards, tt.says, limited("quotas: {requests: {day: 100}}"))
			got := h.try(forwardedPath, "{}", tt.headers...)
			h.records.await(t, 1)
			h.stands(t, "requests", tt.used, tt.held, tt.open)
			if tt.about == "long" && got.body != long {
				t.Errorf("%d bytes of %d came", len(got.body), len(long))
			}
		})
	}
}

// A forwarded creation runs once with an Idempotency-Key, which counts for the whole path.
func TestForwardedCreationRunsOnce(t *testing.T) {
	tasks := map[string]string{}
	h, _ := tasked(t, forwards, says(200, "application/json", task("v1", "PENDING", ""), tasks))
	key := append([]string{"Idempotency-Key", "a"}, async...)
	for n, path := range []string{forwardedPath, forwardedPath + "?a=1", forwardedPath + "/x", forwardedPath} {
		got := h.ask("POST", path, "{}", key...)
		if record := h.records.await(t, n+1)[n]; got.status != 200 || (record.Cache == "replay") != (n == 3) {
			t.Errorf("%s: %d, %+v", path, got.status, record)
		}
	}
}

// Every id that means the same inside a path can be polled, cancelled and listed.
func TestTaskIDs(t *testing.T) {
	for _, id := range []string{"a.b", "a~b", "...", "..a", "A-b_c.9", strings.Repeat("a", 256)} {
		tasks := map[string]string{id: task(id, "RUNNING", "")}
		for _, created := range []func(*plan){says(200, "application/json", task(id, "PENDING", ""), tasks),
			says(200, streamType, events(task(id, "PENDING", "")), tasks)} {
			h, clock := tasked(t, created)
			if got := h.ask("POST", imagePath, interleavedBody, streamed()...); got.status != http.StatusOK {
				t.Errorf("%s: %d %s", id, got.status, got.body)
			}
			h.records.await(t, 1)
			clock.move(time.Minute)
			if got := h.poll(id + "/"); got.status != 200 || got.member(t, "output", "task_status") != "RUNNING" {
				t.Errorf("%s polled: %d %s", id, got.status, got.body)
			}
			if got := h.ask("GET", tasksPath+"?task_id="+id, ""); !strings.Contains(got.body, `"total":1`) {
				t.Errorf("%s listed: %s", id, got.body)
			}
			if got := h.cancel(id); got.status != http.StatusOK {
				t.Errorf("%s cancelled: %d %s", id, got.status, got.body)
			}
		}
	}
}

// An id that is no string is still the id of a task; null and the empty string are not.
func TestIDsThatAreNoString(t *testing.T) {
	for id, made := range map[string]bool{`12345`: true, `["a"]`: true, `{"a":1}`: true, `true`: true, `null`: false, `""`: false} {
		body := `{"output":{"task_id":` + id + `,"task_status":"PENDING"},"request_id":"r"}`
		for _, created := range []func(*plan){says(200, "application/json", body, nil), says(200, streamType, events(body), nil)} {
			h, _ := tasked(t, created, limited("quotas: {images: {day: 100}}"))
			got := h.ask("POST", imagePath, interleavedBody, streamed()...)
			record := h.records.await(t, 1)[0]
			h.stands(t, "images", "0", "2", 1)
			if n := strings.Count(h.log.String(), `"level":"ERROR"`); n == 1 != made || record.Task != "" {
				t.Errorf("%s: claimed as %q; %d errors in %s", id, record.Task, n, h.log.String())
			}
			if relayed := got.status == 200 && strings.Contains(got.body, body); made && !relayed {
				t.Errorf("%s: %d %s", id, got.status, got.body)
			}
		}
	}
}

// A task whose id cannot be polled is paid for: its team gets the answer, its operator is notified once, and it is charged as
// held when its lease ends.
func TestOddIDIsRelayed(t *testing.T) {
	for _, id := range []string{"../x", ".", "a b", "a:asking", strings.Repeat("a", 257), "é"} {
		odd := task(id, "PENDING", "")
		for _, created := range []func(*plan){says(200, "application/json", odd, nil), says(200, streamType, events(odd, odd), nil)} {
			h, clock := tasked(t, created, limited("quotas: {images: {day: 100}}"))
			got := h.ask("POST", imagePath, interleavedBody, streamed()...)
			if got.status != 200 || !strings.Contains(got.body, odd) || got.header.Get("Sluice-Refusal") != "" {
				t.Errorf("%s: %d %s", id, got.status, got.body)
			}
			h.records.await(t, 1)
			h.stands(t, "images", "0", "2", 1)
			if n := strings.Count(h.log.String(), `"level":"ERROR"`); n != 1 {
				t.Errorf("%s: %d errors in %s", id, n, h.log.String())
			}
			clock.move(time.Hour + time.Second)
			if err := h.balances.Maintain(t.Context()); err != nil {
				t.Fatal(err)
			}
			rows, err := h.balances.Rows(t.Context(), limit.Query{Teams: []string{"search"}, Days: days(clock.now().Add(-2*time.Hour), 2)})
			if err != nil || len(rows) != 1 || rows[0].Estimated[limit.Images] != 2 {
				t.Errorf("%s: %+v, %v", id, rows, err)
			}
		}
	}
}

// A creation whose answer has the task's end is settled by it immediately, and its polls are answered, wherever claims are kept.
func TestEndedAtCreation(t *testing.T) {
	for _, tt := range []struct {
		about, status, more, used, flag, counted string
	}{
		{"failed", "FAILED", `,"code":"InternalError","message":"m"`, "0", "exact", "failed 1"},
		{"failed after one", "FAILED", `,"usage":{"image_count":1}`, "1", "exact", "failed 1"},
		{"cancelled", "CANCELED", "", "0", "exact", "cancelled 1"},
		{"succeeded", "SUCCEEDED", `,"usage":{"image_count":2}`, "2", "exact", "succeeded 1"},
		{"succeeded, not counted", "SUCCEEDED", "", "3", "estimated", "succeeded 1"},
	} {
		for _, form := range []string{"memory", "redis"} {
			t.Run(tt.about+" "+form, func(t *testing.T) {
				body, asked := task("t1", tt.status, tt.more), map[string]string{} // upstream no longer knows it
				h, clock := tasked(t, says(200, "application/json", body, asked), limited("quotas: {images: {day: 100}}"), func(p *plan) {
					if form == "redis" {
						p.claims = claimsIn(t, miniredis.RunT(t), p)
					}
				})
				if got := h.ask("POST", imagePath, strings.Replace(imageBody, `"n":1`, `"n":3`, 1), async...); got.status != 200 || got.body != body {
					t.Fatalf("%d %s", got.status, got.body)
				}
				record := h.records.await(t, 1)[0]
				h.stands(t, "images", tt.used, "0", 0)
				if used := fmt.Sprint(record.Cost.Amounts[limit.Images]); used != tt.used || record.Cost.Flag != tt.flag ||
					h.settlements() != tt.counted {
					t.Errorf("told %+v, counted %s", record.Cost, h.settlements())
				}
				clock.move(time.Minute)
				h.gateway.Finish(t.Context())
				if got := h.poll("t1"); got.status != 200 || got.body != body ||
					!strings.HasPrefix(got.header.Get("Cache-Status"), "sluice;hit;ttl=8") {
					t.Errorf("polled: %d %v %s", got.status, got.header, got.body)
				}
				h.stands(t, "images", tt.used, "0", 0)
			})
		}
	}
}

// A stream whose first frame has the task's end is settled: by that frame if nothing can follow, and by the whole stream if
// the task succeeded.
func TestEndedInAStream(t *testing.T) {
	for about, tt := range map[string]struct{ stream, used string }{
		"failed":                 {events(task("t1", "FAILED", "")), "0"},
		"failed, says why":       {events(task("t1", "FAILED", `,"code":"InternalError","message":"m"`)), "0"},
		"succeeded":              {events(interleaved(1, `"stop"`, `"task_id":"t1","task_status":"SUCCEEDED",`)), "1"},
		"told at the end":        {events(interleaved(2, `"null"`, ""), `{"output":{"task_id":"t1","task_status":"SUCCEEDED"}}`), "2"},
		"failed after two":       {events(interleaved(2, `"null"`, ""), task("t1", "FAILED", "")), "2"},
		"cancelled after two":    {events(interleaved(2, `"null"`, ""), task("t1", "CANCELED", "")), "2"},
		"failed after two, why":  {events(interleaved(2, `"null"`, ""), task("t1", "FAILED", `,"code":"InternalError","message":"m"`)), "2"},
		"failed with fewer":      {events(interleaved(2, `"null"`, ""), task("t1", "FAILED", `,"usage":{"image_count":1}`)), "2"},
		"failed in a later one":  {events(task("t1", "RUNNING", ""), task("t1", "FAILED", "")), "0"},
		"failed, and more comes": {events(task("t1", "FAILED", ""), interleaved(1, `"stop"`, "")), "1"},
		"told in the frame": {events(interleaved(1, `"null"`, ""), interleaved(2, `"stop"`, `"task_id":"t1","task_status":"SUCCEEDED",`)),
			"2"},
	} {
		t.Run(about, func(t *testing.T) {
			h, _ := tasked(t, says(200, streamType, tt.stream, nil), limited("quotas: {images: {day: 100}}"))
			h.ask("POST", imagePath, interleavedBody, streamed()...)
			h.records.await(t, 1)
			h.stands(t, "images", tt.used, "0", 0)
			if got := h.poll("t1"); got.status != 200 {
				t.Errorf("polled: %d %s", got.status, got.body)
			}
		})
	}
}

// A stream of a task that failed after some images costs those, also if it is cut.
func TestCutBehindTheEnd(t *testing.T) {
	h, _ := tasked(t, cuts(200, streamType, events(interleaved(2, `"null"`, ""), task("t1", "FAILED", ""))+`data:{"output"`),
		limited("quotas: {images: {day: 100}}"))
	h.try(imagePath, interleavedBody, streamed()...)
	h.records.await(t, 1)
	h.stands(t, "images", "2", "0", 0)
}

// If a stream says that its task succeeded and counts nothing, nothing is guessed: the task's answer has the count.
func TestSucceededAndNotCounted(t *testing.T) {
	tasks := map[string]string{"t1": task("t1", "SUCCEEDED", `,"usage":{"image_count":1}`)}
	h, clock := tasked(t, says(200, streamType, events(task("t1", "RUNNING", ""), task("t1", "SUCCEEDED", "")), tasks),
		limited("quotas: {images: {day: 100}}"))
	h.ask("POST", imagePath, interleavedBody, streamed()...)
	h.records.await(t, 1)
	h.stands(t, "images", "0", "2", 1)
	clock.move(time.Minute)
	h.gateway.Finish(t.Context())
	h.stands(t, "images", "1", "0", 0)
}

// An end in the creation's answer is kept once it is charged, as any end is: until then another replica finds the task.
func TestAnEndThatIsNotChargedYet(t *testing.T) {
	h, clock, balances, claims := lately(t, says(200, "application/json", task("t1", "FAILED", ""), nil),
		limited("quotas: {images: {day: 100}}"))
	balances.fall()
	h.ask("POST", imagePath, imageBody, async...)
	h.records.await(t, 1)
	if claim, _, _ := claims.Get(t.Context(), "search", "t1"); claim.Final() || h.settlements() != "" {
		t.Errorf("%s is kept, %q counted", claim.Answer.Status, h.settlements())
	}
	clock.move(time.Minute)
	if due, err := claims.Due(t.Context(), 10, nil); err != nil || len(due) != 1 {
		t.Errorf("another replica is handed %d tasks, %v", len(due), err)
	}
	if got := h.poll("t1"); got.status != 200 || got.member(t, "output", "task_status") != "FAILED" {
		t.Errorf("polled: %d %s", got.status, got.body)
	}
	balances.recover()
	if claim, _, _ := claims.Get(t.Context(), "search", "t1"); !claim.Final() || h.settlements() != "failed 1" {
		t.Errorf("%s is kept, %q counted", claim.Answer.Status, h.settlements())
	}
	h.stands(t, "images", "0", "0", 0)
}

// slowClaims delays claims.
type slowClaims struct {
	tasks.Claims
	took time.Duration
	move func(time.Duration)
}

func (s *slowClaims) Put(ctx context.Context, claim cache.Claim) bool {
	s.move(s.took)
	return s.Claims.Put(ctx, claim)
}

// Sluice's work after a creation's answer counts as its own time, not the service's.
func TestACreationsCallEndsWithItsAnswer(t *testing.T) {
	h, _ := tasked(t, func(p *plan) {
		clock := p.now
		var moved time.Duration
		p.now = func() time.Time { return clock().Add(moved) }
		p.claims = &slowClaims{cache.NewClaims(p.config.TaskTTL, p.now), time.Minute, func(d time.Duration) { moved += d }}
	})
	h.create(t)
	h.spansNamed(t)
	seen := 0
	for _, s := range h.spans.spans {
		took := time.Duration(s.GetEndTimeUnixNano() - s.GetStartTimeUnixNano())
		switch {
		case strings.HasPrefix(s.GetName(), "generate_content"):
			seen++
			if took >= time.Minute {
				t.Errorf("the call took %v", took)
			}
		case strings.HasPrefix(s.GetName(), "POST"):
			seen++
			if took < time.Minute {
				t.Errorf("the request took %v", took)
			}
		}
	}
	if seen != 2 {
		t.Errorf("%d spans were seen", seen)
	}
}
