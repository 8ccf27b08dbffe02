package gateway_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"sluice/telemetry/meter"
)

// TestRecordHasTheErrorInsideAnAnswer: an answer that begins with status 200 may report an error, for the service's own interface and for a
// front.
func TestRecordHasTheErrorInsideAnAnswer(t *testing.T) {
	text := nativeFrame("one", "null") + nativeFrame(" two", "null")
	for about, tt := range map[string]struct {
		media, answer string
		inner         int
		code          string
	}{
		"first":            {streamType, errorEvent(500), 500, "ModelUnavailable"},
		"after content":    {streamType, text + errorEvent(503), 503, "ModelUnavailable"},
		"without a status": {streamType, "event:error\ndata:{\"code\":\"X\"}\n\n", 500, "X"},
		"no error status":  {streamType, errorEvent(200), 500, "ModelUnavailable"},
		"no status":        {streamType, errorEvent(777), 500, "ModelUnavailable"},
		"to wait":          {streamType, errorEvent(429), 429, "ModelUnavailable"},
		"whole":            {"application/json", `{"code":"InternalError","message":"m"}`, 500, "InternalError"},
		"no word":          {"application/json", `{"code":"say this","message":"m"}`, 500, ""},
		"the key":          {"application/json", `{"code":"` + upstreamKey + `"}`, 500, ""},
		"none":             {streamType, text + nativeFrame("", "stop"), 0, ""},
	} {
		t.Run(about, func(t *testing.T) {
			h := fronted(t, says(200, tt.media, tt.answer, nil))
			for path, body := range map[string]string{textPath: textBody, frontChats: frontStream} {
				record := h.recordOf(t, h.ask("POST", path, body, "X-Service-SSE", "enable"))
				if record.UpstreamStatus != 200 || record.UpstreamError != tt.inner || record.UpstreamCode != tt.code || record.Refusal != "" {
					t.Errorf("%s: %d %q of %+v", path, record.UpstreamError, record.UpstreamCode, record)
				}
			}
		})
	}
}

// TestASuccessOnAnOpaquePathIsNotRead: whatever it calls its code, it is no failure of the service. An error is one, and so is a stream's.
func TestASuccessOnAnOpaquePathIsNotRead(t *testing.T) {
	for about, tt := range map[string]struct {
		media, answer string
		status, inner int
		code          string
	}{
		"a success": {"application/json", `{"code":"Success","data":{"id":1},"usage":{"input_tokens":7}}`, 200, 0, ""},
		"an error":  {"application/json", `{"code":"InternalError","message":"m"}`, 500, 0, "InternalError"},
		"a stream":  {streamType, errorEvent(503), 200, 503, "ModelUnavailable"},
	} {
		t.Run(about, func(t *testing.T) {
			h := build(t, says(tt.status, tt.media, tt.answer, nil), forwarding("uploads"))
			got := h.ask("GET", "/api/v1/uploads?action=x", "")
			record := h.recordOf(t, got)
			_, counted := record.Usage.Get(meter.InputTokens)
			if got.status != tt.status || got.body != tt.answer || record.UpstreamError != tt.inner || record.UpstreamCode != tt.code ||
				counted || (record.Cost.Flag == "exact") != (tt.code == "") {
				t.Errorf("%d %s, record %+v", got.status, got.body, record)
			}
		})
	}
}

// TestFrontErrorsOfSluicesOwnAreNamed: an answer that cannot be used is refused like any other failure of the service. The header names the
// refusal, unless it has left; the record names it always.
func TestFrontErrorsOfSluicesOwnAreNamed(t *testing.T) {
	const unreadable, broken = "The service's answer could not be read.", "The service's answer broke off."
	text := nativeFrame("one", "null") + nativeFrame(" two", "null")
	for about, tt := range map[string]struct {
		media, answer, body, reason string
		status                      int
	}{
		"no JSON":             {"application/json", "<html>", frontChat, unreadable, 502},
		"no choices":          {"application/json", `{"output":{}}`, frontChat, unreadable, 502},
		"no frames":           {streamType, "", frontStream, unreadable, 502},
		"an unreadable frame": {streamType, "data:{\n\n", frontStream, unreadable, 502},
		"one after content":   {streamType, text + "data:{\n\n", frontStream, unreadable, 200},
		"no end":              {streamType, text, frontStream, broken, 200},
		"the service's":       {streamType, errorEvent(502), frontStream, "", 502},
		"one of it, later":    {streamType, text + errorEvent(502), frontStream, "", 200},
	} {
		t.Run(about, func(t *testing.T) {
			h := fronted(t, says(200, tt.media, tt.answer, nil))
			got := h.ask("POST", frontChats, tt.body)
			record, named, header := h.recordOf(t, got), "", ""
			if tt.reason != "" {
				named = "forward/answer"
			}
			if tt.status == 502 {
				header = named
			}
			if got.status != tt.status || got.header.Get("Sluice-Refusal") != header || !strings.Contains(got.body, tt.reason) ||
				record.Refusal != named || record.Reason != tt.reason {
				t.Errorf("%d %v %s, record %q %q", got.status, got.header, got.body, record.Refusal, record.Reason)
			}
		})
	}
}

// TestAKeyThatIsRefusedInsideAStreamIsTheOperators: it raises the alarm, and a client of a front is not told that its own key is wrong.
func TestAKeyThatIsRefusedInsideAStreamIsTheOperators(t *testing.T) {
	const refused = "event:error\n:HTTP_STATUS/401\ndata:{\"code\":\"InvalidApiKey\",\"message\":\"Invalid API-key provided.\"}\n\n"
	for path, body := range map[string]string{
		textPath: textBody, frontChats: frontChat, frontResponses: frontResponse, frontMessages: frontMessage,
	} {
		t.Run(path, func(t *testing.T) {
			h := fronted(t, says(200, streamType, refused, nil))
			want := reading{status: 502, body: "The service refused the gateway's key; its operators have been alerted."}
			if path == textPath {
				want = reading{status: 200, body: refused}
			} else {
				body = strings.Replace(body, "{", `{"stream":true,`, 1)
			}
			got := h.ask("POST", path, body, "X-Service-SSE", "enable")
			record := h.recordOf(t, got)
			if got.status != want.status || !strings.Contains(got.body, want.body) || record.Refusal != "forward/key" ||
				(got.header.Get("Sluice-Refusal") == "forward/key") != (path != textPath) {
				t.Errorf("%d %v %s, record %+v", got.status, got.header, got.body, record)
			}
			h.counts(t, "sluice_upstream_alarms_total", map[string]float64{
				`code="KeyRefused"`: 1, `code="KeyPresented"`: 0, `code="TaskStatus"`: 0, `code="TaskUnknown"`: 0,
			})
		})
	}
}

// TestFrontErrorsShowNoSecret: an error that the service reports with status 200 shows neither its key nor its address.
func TestFrontErrorsShowNoSecret(t *testing.T) {
	said := `{"code":"` + upstreamKey + `","message":"bad key ` + upstreamKey + ` at http://HOST/x"}`
	for path, body := range map[string]string{
		frontChats: frontChat, frontResponses: frontResponse, frontMessages: frontMessage, frontImages: frontSync,
	} {
		streams := []string{"", `"stream":true,`}
		if path == frontImages {
			streams = streams[:1]
		}
		for _, stream := range streams {
			t.Run(path+stream, func(t *testing.T) {
				h := fronted(t, func(p *plan) {
					service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						w.Header().Set("Content-Type", "application/json")
						_, _ = io.WriteString(w, strings.ReplaceAll(said, "HOST", r.Host))
					}))
					t.Cleanup(service.Close)
					p.address = service.URL
				})
				got := h.ask("POST", path, strings.Replace(body, "{", "{"+stream, 1))
				if got.status != 500 || strings.Contains(got.body, upstreamKey) || strings.Contains(got.body, "127.0.0.1") ||
					!strings.Contains(got.body, "bad key ***") {
					t.Errorf("%d %s", got.status, got.body)
				}
			})
		}
	}
}

// TestFrontTasksShowNoSecret: nor does the error of a task that failed.
func TestFrontTasksShowNoSecret(t *testing.T) {
	h := painting(t, func(p *plan) {
		service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			state := `"PENDING"}`
			if r.Method == "GET" {
				state = `"FAILED","code":"` + upstreamKey + `","message":"bad key ` + upstreamKey + ` at http://` + r.Host + `/x"}`
			}
			_, _ = io.WriteString(w, `{"request_id":"r","output":{"task_id":"t1","task_status":`+state+`}`)
		}))
		t.Cleanup(service.Close)
		p.address = service.URL
	})
	made, shown := h.ask("POST", frontImages, frontPicture), h.ask("GET", frontTasks+"t1", "")
	for path, got := range map[string]reading{frontImages: made, frontTasks: shown} {
		if strings.Contains(got.body, upstreamKey) || strings.Contains(got.body, "127.0.0.1") || !strings.Contains(got.body, "bad key ***") {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
}
