package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"image"
	"image/png"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sluice/gateway/simulator"
	"sluice/policy/limit"
)

// Paths of OpenAI's interface.
const (
	frontImages = "/v1/images/generations"
	frontEdits  = "/v1/images/edits"
	frontTasks  = "/v1/images/tasks/"
)

const (
	frontPicture = `{"model":"gen2.5-t2i","prompt":"A lighthouse","n":2,"size":"512x512"}`
	frontSync    = `{"model":"llm-image-2.0","prompt":"A lighthouse","size":"640x480"}`
)

// painting builds a gateway whose service makes pictures in a moment.
func painting(t testing.TB, changes ...func(*plan)) *harness {
	t.Helper()
	return fronted(t, append([]func(*plan){func(p *plan) {
		p.sim.Pending, p.sim.Running = 20*time.Millisecond, 100*time.Millisecond
		p.config.PollInterval, p.config.ImageWait = 50*time.Millisecond, time.Minute
	}}, changes...)...)
}

// images is the answer to a request for images.
type images struct {
	Created int64
	Data    []struct {
		URL string
	}
	Usage map[string]any
}

func (r reading) images(t testing.TB) images {
	t.Helper()
	var got images
	if err := json.Unmarshal([]byte(r.body), &got); err != nil || r.status != 200 || got.Created == 0 {
		t.Fatalf("%d %v %s", r.status, err, r.body)
	}
	return got
}

func TestFrontMakesPictures(t *testing.T) {
	parallel(t)
	h := painting(t, limited("quotas: {images: {day: 100}}"))
	got := h.ask("POST", frontImages, frontPicture)
	if made := got.images(t); len(made.Data) != 2 || !strings.HasPrefix(made.Data[0].URL, "http") {
		t.Errorf("got %s", got.body)
	}
	record := h.recordOf(t, got)
	if record.Front != "images" || record.Endpoint != "image" || record.Task == "" || record.Status != 200 ||
		record.Held.Amounts[limit.Images] != 2 {
		t.Errorf("record %+v", record)
	}
	if task := got.header.Get("Sluice-Task"); task != record.Task || got.header.Get("X-Should-Retry") != "" {
		t.Errorf("headers %v, want the task %s", got.header, record.Task)
	}
	h.stands(t, "images", "2", "0", 0)
}

func TestFrontMakesPicturesWithoutATask(t *testing.T) {
	h := painting(t, limited("quotas: {images: {day: 100}}"))
	got := h.ask("POST", frontImages, frontSync)
	if made := got.images(t); len(made.Data) != 1 {
		t.Errorf("got %s", got.body)
	}
	if record := h.recordOf(t, got); record.Endpoint != "multimodal" || record.Cost.Amounts[limit.Images] != 1 ||
		got.header.Get("Sluice-Task") != "" {
		t.Errorf("record %+v, headers %v", record, got.header)
	}
	h.stands(t, "images", "1", "0", 0)
}

// form is a multipart body: fields in pairs, and a picture.
func form(t testing.TB, boundary string, fields ...string) (body, contentType string) {
	t.Helper()
	var buf bytes.Buffer
	w := multipart.NewWriter(&buf)
	if err := w.SetBoundary(boundary); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(fields); i += 2 {
		if err := w.WriteField(fields[i], fields[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	part, err := w.CreateFormFile("image", "mill.png")
	if err != nil {
		t.Fatal(err)
	}
	picture := image.NewGray(image.Rect(0, 0, 300, 300))
	if err := png.Encode(part, picture); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.String(), w.FormDataContentType()
}

func TestFrontEditsPictures(t *testing.T) {
	parallel(t)
	h := painting(t, limited("quotas: {images: {day: 100}}"))
	body, contentType := form(t, "one", "model", "gen2.6-image", "prompt", "The same mill in winter")
	got := h.ask("POST", frontEdits, body, "Content-Type", contentType)
	if made := got.images(t); len(made.Data) != 1 {
		t.Errorf("got %s", got.body)
	}
	h.stands(t, "images", "1", "0", 0)
	h.ask("POST", frontEdits, `{}`).wantsOpenAI(t, 415, "invalid_request_error", "InvalidParameter", "")
	h.ask("POST", frontEdits, body[:len(body)-20], "Content-Type", contentType).
		wantsOpenAI(t, 400, "invalid_request_error", "InvalidParameter", "")
	body, _ = form(t, "one", "model", "gen2.6-image", "prompt", "Winter", "mask", "x")
	h.ask("POST", frontEdits, body, "Content-Type", contentType).wantsOpenAI(t, 400, "invalid_request_error", "InvalidParameter", "mask")
}

func TestFrontRefusesImageRequests(t *testing.T) {
	h := painting(t)
	h.ask("POST", frontImages, strings.Replace(frontPicture, `"n":2`, `"response_format":"b64_json"`, 1)).
		wantsOpenAI(t, 400, "invalid_request_error", "InvalidParameter", "response_format")
	body, contentType := form(t, "one", "model", "gen2.6-image", "prompt", "Winter", "n", "99")
	h.ask("POST", frontEdits, body, "Content-Type", contentType).wantsOpenAI(t, 400, "invalid_request_error", "InvalidParameter", "n")
	h.ask("POST", frontImages, `{"model":"gen2.6-image","prompt":"A lighthouse"}`).
		wantsOpenAI(t, 400, "invalid_request_error", "InvalidParameter", "image")
	h.ask("POST", frontImages, `{"model":"gen2.5-t2i"}`).wantsOpenAI(t, 400, "invalid_request_error", "InvalidParameter", "prompt")
}

func TestFrontShowsTasks(t *testing.T) {
	parallel(t)
	h := painting(t, func(p *plan) {
		p.sim.Running = time.Hour
		p.config.ImageWait = 200 * time.Millisecond
	})
	got := h.ask("POST", frontImages, frontPicture)
	got.wantsOpenAI(t, 504, "server_error", "RequestTimeOut", "")
	task := got.header.Get("Sluice-Task")
	if task == "" || got.header.Get("X-Should-Retry") != "false" || got.header.Get("Sluice-Refusal") != "recall/wait" ||
		!strings.Contains(got.body, task) {
		t.Errorf("%v %s", got.header, got.body)
	}
	for got = h.ask("GET", frontTasks+task, ""); got.status == 200 &&
		got.member(t, "status") == "queued"; got = h.ask("GET", frontTasks+task, "") {
		time.Sleep(10 * time.Millisecond) // until the service is queried again
	}
	if got.status != 200 || got.member(t, "id") != task || got.member(t, "status") != "in_progress" || got.header.Get("Cache-Status") == "" {
		t.Errorf("%d %v %s", got.status, got.header, got.body)
	}
	if got := h.ask("POST", tasksPath+"/"+task+"/cancel", ""); got.status != 200 {
		t.Logf("cancel: %d %s", got.status, got.body)
	}
	h.ask("GET", frontTasks+"unknown", "").wantsOpenAI(t, 404, "not_found_error", "NotFound", "")
	h.ask("GET", frontTasks+task, "", "Authorization", "Bearer "+h.keys["shop"]).wantsOpenAI(t, 404, "not_found_error", "NotFound", "")
}

func TestFrontTellsWhyATaskFailed(t *testing.T) {
	parallel(t)
	for code, status := range map[string]int{"InternalError.Algo": 500, "DataInspectionFailed": 400, "InvalidParameter.Size": 400} {
		t.Run(code, func(t *testing.T) {
			h := painting(t, func(p *plan) {
				p.upstream = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", "application/json")
					answer := `{"output":{"task_id":"t1","task_status":"PENDING"},"request_id":"r"}`
					if r.Method == "GET" {
						answer = `{"output":{"task_id":"t1","task_status":"FAILED","code":"` + code + `","message":"no luck"},"request_id":"r"}`
					}
					_, _ = w.Write([]byte(answer))
				})
			})
			got := h.ask("POST", frontImages, frontPicture)
			kind := "server_error"
			if status == 400 {
				kind = "invalid_request_error"
			}
			got.wantsOpenAI(t, status, kind, code, "")
			if got.header.Get("X-Should-Retry") != "false" || got.header.Get("Sluice-Task") != "t1" || got.header.Get("Sluice-Refusal") != "" {
				t.Errorf("headers %v", got.header)
			}
			got = h.ask("GET", frontTasks+"t1", "")
			if got.status != 200 || got.member(t, "status") != "failed" || got.member(t, "error", "code") != code {
				t.Errorf("%d %s", got.status, got.body)
			}
		})
	}
}

// A client that leaves ends its wait and nothing else: the task is made once, settled and can be fetched.
func TestFrontGoesOnWithoutItsClient(t *testing.T) {
	parallel(t)
	var later atomic.Int64 // nanoseconds that the service's clock is ahead
	h := painting(t, limited("quotas: {images: {day: 100}}"), func(p *plan) {
		p.sim.Running = time.Hour
		p.sim.Now = func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	})
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		defer leave()
		for h.sim.Count(simulator.EndpointTask) == 0 && t.Context().Err() == nil {
			time.Sleep(time.Millisecond)
		}
	}()
	if resp, err := h.client.Do(h.request("POST", frontImages, frontPicture).WithContext(ctx)); err == nil {
		_ = resp.Body.Close()
		t.Fatal("the client did not leave")
	}
	record := h.records.await(t, 1)[0]
	if record.Status != 499 || record.Task == "" {
		t.Fatalf("record %+v", record)
	}
	later.Store(int64(2 * time.Hour))
	for {
		if got := h.ask("GET", frontTasks+record.Task, "", "Prefer", "wait=10"); got.member(t, "status") == "completed" {
			break
		}
	}
	h.stands(t, "images", "2", "0", 0)
	if n := h.sim.Count(simulator.EndpointImage); n > 1 {
		t.Errorf("%d creations", n)
	}
}

// A client that ends its sending side counts as one that left. It reads no answer, rather than one that looks like a success.
func TestFrontAnswersNoHalfClosedClientWithAnEmptySuccess(t *testing.T) {
	h := painting(t, func(p *plan) { p.sim.Running = 300 * time.Millisecond })
	conn := h.dial()
	defer func() { _ = conn.Close() }()
	if err := h.request("POST", frontImages, frontPicture, "Connection", "close").Write(conn); err != nil {
		t.Fatal(err)
	}
	for h.sim.Count(simulator.EndpointImage) == 0 {
		time.Sleep(time.Millisecond)
	}
	_ = conn.CloseWrite()
	all, _ := io.ReadAll(conn)
	if len(all) > 0 && !strings.Contains(string(all), `"data"`) { // it was whole before the end was seen
		t.Errorf("the client reads %s", all)
	}
	if record := h.records.await(t, 1)[0]; len(all) == 0 && (record.Status != 499 || record.Task == "") {
		t.Errorf("record %+v", record)
	}
}
