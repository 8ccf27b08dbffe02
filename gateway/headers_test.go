package gateway_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"sluice/gateway"
	"sluice/gateway/simulator"
)

// noise are headers that a hostile or careless client adds.
var noise = []string{
	"Cookie: a=b", "X-Forwarded-For: 203.0.113.7", "X-Forwarded-Host: evil", "X-Forwarded-Proto: http", "Forwarded: for=203.0.113.7",
	"X-Real-IP: 203.0.113.7", "Via: 1.1 evil",
	"CF-Connecting-IP: 203.0.113.7", "X-HTTP-Method-Override: DELETE", "X-Original-URL: /x", "X-Rewrite-URL: /x",
	"Origin: https://evil.example", "Referer: https://evil.example/?q=1",
	"Traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "Tracestate: a=b", "Baggage: a=b", "X-Request-Id: client",
	"Idempotency-Key: k", "X_Service_Async: enable",
	"Accept-Encoding: gzip, br, *;q=0", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA", "TE: trailers",
	"Proxy-Authorization: Basic x", "X-Service-WorkSpace: ws", "X-Service-DataInspection: off",
	"Connection: close, Authorization, Content-Type, X-Service-Sse, Traceparent, Cookie", "Range: bytes=0-1", "If-None-Match: x",
	"X-Service-Uid: 1",
}

// Only a closed list of headers goes to the service, whatever arrives.
func TestOutboundHeadersAreAClosedList(t *testing.T) {
	h := build(t)
	got := h.rawAnswer(h.post(append(noise, "X-Service-SSE: enable", "User-Agent: client/1")...))
	if got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.body)
	}
	seen := h.sim.Requests()[0].Header
	want := http.Header{
		"Authorization": {"Bearer " + upstreamKey}, "Content-Type": {"application/json"}, "Accept": {"application/json"},
		"Accept-Encoding": {"identity"}, "User-Agent": {"sluice"}, "X-Service-Sse": {"enable"}, "Content-Length": seen["Content-Length"],
	}
	for name := range seen {
		if !slices.Equal(seen[name], want[name]) {
			t.Errorf("%s: %q, want %q", name, seen[name], want[name])
		}
	}
	for name := range want {
		if len(seen[name]) == 0 {
			t.Errorf("%s did not arrive", name)
		}
	}
}

// Naming a contract header in Connection cannot make Sluice and the service read different requests.
func TestConnectionCannotHideAContractHeader(t *testing.T) {
	h := build(t)
	text := strings.Replace(h.post("Connection: close, X-Service-Async", "X-Service-Async: enable"), textPath, imagePath, 1)
	text = strings.Replace(strings.Replace(text, textBody, imageBody, 1), "Content-Length: "+itoa(len(textBody)),
		"Content-Length: "+itoa(len(imageBody)), 1)
	if got := h.rawAnswer(text); got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if got := h.sim.Requests()[0].Header["X-Service-Async"]; !slices.Equal(got, []string{"enable"}) {
		t.Errorf("the service saw %q", got)
	}
}

func TestContractHeaderTwice(t *testing.T) {
	h := build(t)
	for _, lines := range [][]string{{"X-Service-SSE: enable", "X-Service-SSE: disable"}, {"X-Service-SSE: yes"}} {
		h.rawAnswer(h.post(lines...)).wants(t, 400, "inspect/rules", "InvalidParameter")
	}
	if got := h.rawAnswer(h.post("X-SERVICE-SSE: disable")); got.status != http.StatusOK ||
		strings.Contains(got.header.Get("Content-Type"), "event-stream") {
		t.Errorf("disable means absent: %d %v", got.status, got.header)
	}
	h.ask("POST", textPath, textBody, "X-Service-Async", "enable").wants(t, 400, "inspect/rules", "InvalidParameter")
	if n := len(h.sim.Requests()); n != 1 {
		t.Errorf("%d requests reached the service", n)
	}
}

// An upgrade is not passed on.
func TestUpgradeIsNotPassedOn(t *testing.T) {
	h := build(t)
	for _, protocol := range []string{"websocket", "h2c"} {
		if got := h.rawAnswer(h.post("Connection: Upgrade", "Upgrade: "+protocol)); got.status != http.StatusOK {
			t.Errorf("%s: %d", protocol, got.status)
		}
	}
	for _, seen := range h.sim.Requests() {
		if seen.Header.Get("Upgrade") != "" || seen.Header.Get("Connection") != "" {
			t.Errorf("the service saw %v", seen.Header)
		}
	}
}

// Headers about the account or other parties do not reach a team.
func TestInboundHeadersAreAClosedList(t *testing.T) {
	h := build(t)
	h.sim.SetFault(simulator.Fault{Header: map[string]string{
		"Alt-Svc": "h3", "Access-Control-Allow-Origin": "*", "X-Upstream-Host": "a", "Retry-After": "7", "Trailer": "X-Late",
		"Keep-Alive": "timeout=5", "Sluice-Refusal": "fake",
	}})
	for _, headers := range [][]string{nil, {"X-Service-SSE", "enable"}, {"Origin", "https://example.com"}} {
		got := h.ask("POST", textPath, textBody, headers...)
		allowed := []string{"Content-Type", "Content-Length", "Retry-After", "X-Request-Id", "Date", "Cache-Control", "X-Content-Type-Options",
			"Server-Timing", "Sluice-Request-Id", "Transfer-Encoding"}
		for name, values := range got.header {
			if !slices.Contains(allowed, name) || strings.Contains(strings.Join(values, ""), simulator.LeakMark) {
				t.Errorf("%v: a team sees %s: %q", headers, name, values)
			}
		}
		if got.status != http.StatusOK || got.header.Get("Retry-After") != "7" || got.header.Get("X-Request-Id") == "" {
			t.Errorf("%v: %d %v", headers, got.status, got.header)
		}
	}
}

func TestServiceHeadersBySetting(t *testing.T) {
	client := []string{"X-Maker-WorkSpace", "ws-client", "X-Maker-DataInspection", "off", "X-Maker-OssResourceResolve", "enable",
		"X-Maker-Plugin", "p", "X-Maker-EncryptionKey", "k", "X-Maker-SSE", "Enable"}
	for _, tt := range []struct {
		workspace, inspection         string
		wantWorkspace, wantInspection string
	}{
		{"strip", "strip", "", ""},
		{"forward", "forward", "ws-client", "off"},
		{"ws-ours", `{"input":"on"}`, "ws-ours", `{"input":"on"}`},
	} {
		h := build(t, func(p *plan) {
			p.config.HeaderPrefix, p.sim.HeaderPrefix = "X-Maker-", "X-Maker-"
			p.config.Workspace, p.config.DataInspection = tt.workspace, tt.inspection
		})
		if got := h.ask("POST", textPath, textBody, client...); !strings.HasPrefix(got.header.Get("Content-Type"), "text/event-stream") {
			t.Errorf("%v: %d %v", tt, got.status, got.header)
		}
		seen := h.sim.Requests()[0].Header
		for name, want := range map[string]string{
			"X-Maker-Workspace": tt.wantWorkspace, "X-Maker-Datainspection": tt.wantInspection, "X-Maker-Ossresourceresolve": "enable",
			"X-Maker-Plugin": "p", "X-Maker-Encryptionkey": "k", "X-Maker-Sse": "enable",
		} {
			if got := strings.Join(seen[name], "|"); got != want {
				t.Errorf("%v: %s is %q, want %q", tt, name, got, want)
			}
		}
	}
}

// An error of the service may quote its key or its address; a team reads neither.
func TestErrorTextIsCovered(t *testing.T) {
	for _, plain := range []bool{true, false} {
		h := build(t)
		host := h.upstreamHost
		h.sim.SetFault(simulator.Fault{Error: &simulator.FaultError{Status: 400, Code: "InvalidParameter", Plain: plain,
			Message: "the key " + upstreamKey + " at http://" + host + "/api/v1 is odd"}})
		got := h.ask("POST", textPath, textBody, "X-Service-SSE", "enable")
		if strings.Contains(got.body, upstreamKey) || strings.Contains(got.body, host) || !strings.Contains(got.body, "is odd") ||
			got.header.Get("Sluice-Refusal") != "" {
			t.Errorf("plain %v: %d %s", plain, got.status, got.body)
		}
	}
}

// A proxy in the environment is not used.
func TestProxyOfTheEnvironmentIsNotUsed(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	h := build(t)
	if got := h.ask("POST", textPath, textBody); got.status != http.StatusOK {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestMediaTypes(t *testing.T) {
	h := build(t)
	for _, tt := range []struct {
		name  string
		lines []string
		row   string // "" where it passes
	}{
		{"A87 charset", []string{"Content-Type: application/json; charset=utf-8"}, ""},
		{"A87 charset in capitals", []string{"Content-Type: Application/JSON;charset=UTF-8"}, ""},
		{"A87 none", nil, "inspect/media"},
		{"A87 text", []string{"Content-Type: text/plain"}, "inspect/media"},
		{"A87 utf-16", []string{"Content-Type: application/json; charset=utf-16"}, "inspect/media"},
		{"A87 form", []string{"Content-Type: multipart/form-data; boundary=x"}, "inspect/media"},
		{"A87 two", []string{"Content-Type: application/json", "Content-Type: application/json"}, "inspect/media"},
		{"A87 broken", []string{"Content-Type: application/json; ="}, "inspect/media"},
		{"A88 gzip", []string{"Content-Type: application/json", "Content-Encoding: gzip"}, "inspect/media"},
		{"A88 twice", []string{"Content-Type: application/json", "Content-Encoding: gzip, gzip"}, "inspect/media"},
		{"A88 identity", []string{"Content-Type: application/json", "Content-Encoding: identity"}, ""},
	} {
		text := strings.Replace(h.post(), "Content-Type: application/json\r\n", lines(tt.lines), 1)
		got := h.rawAnswer(text)
		if tt.row == "" && got.status != http.StatusOK || tt.row != "" &&
			(got.status != http.StatusUnsupportedMediaType || got.header.Get("Sluice-Refusal") != tt.row) {
			t.Errorf("%s: %d %s", tt.name, got.status, got.body)
		}
	}
}

// A forwarded body passes unchanged, so each header about it may be sent only once.
func TestAForwardedBodyIsDescribedOnce(t *testing.T) {
	h := build(t, forwarding("uploads"))
	forwarded := strings.Replace(h.post(), textPath, "/api/v1/uploads", 1)
	for _, line := range []string{"Content-Encoding: gzip\r\nContent-Encoding: gzip", "Content-Encoding: identity\r\nContent-Encoding: br",
		"Content-Type: text/plain"} {
		h.rawAnswer(strings.Replace(forwarded, "Content-Length", line+"\r\nContent-Length", 1)).wants(t, 415, "inspect/media", "InvalidParameter")
	}
	if n := len(h.sim.Requests()); n != 0 {
		t.Errorf("%d requests reached the service", n)
	}
	once := strings.Replace(forwarded, "Content-Length", "Content-Encoding: gzip\r\nContent-Length", 1)
	h.rawAnswer(once)
	if seen := h.sim.Requests(); len(seen) != 1 || seen[0].Header.Get("Content-Encoding") != "gzip" ||
		seen[0].Header.Get("Content-Type") != "application/json" {
		t.Errorf("sent once: the service saw %+v", seen)
	}
}

// A repeated header of the service's is not sent: the service might read either of two values.
func TestAContractHeaderThatCameTwiceStays(t *testing.T) {
	h := build(t, func(p *plan) {
		p.config.Workspace, p.config.DataInspection = gateway.HeaderForward, gateway.HeaderForward
	})
	names := []string{"X-Service-Plugin", "X-Service-Encryptionkey", "X-Service-Ossresourceresolve", "X-Service-Workspace",
		"X-Service-Datainspection"}
	for times := 1; times <= 2; times++ {
		var extra []string
		for _, name := range names {
			for n := range times {
				extra = append(extra, name+": "+itoa(n))
			}
		}
		if got := h.rawAnswer(h.post(extra...)); got.status != http.StatusOK {
			t.Fatalf("%d %s", got.status, got.body)
		}
		for _, name := range names {
			if got := h.sim.Requests()[times-1].Header[name]; len(got) != 2-times {
				t.Errorf("%s sent %d times: the service saw %q", name, times, got)
			}
		}
	}
}

// Bodies of every size pass byte for byte, with a length or in chunks.
func TestBodiesOfEverySize(t *testing.T) {
	h := build(t, func(p *plan) { p.sim.KeepBody = -1; p.config.MaxBody = 4 << 20 })
	for _, size := range []int{200, 4096, 8191, 8192, 8193, 64 << 10, 64<<10 + 1, 1 << 20, 1<<20 + 1, 4 << 20} {
		body := strings.Replace(textBody, "rivers", "rivers"+strings.Repeat("é", (size-len(textBody))/2), 1)
		body += strings.Repeat(" ", size-len(body))
		for _, chunked := range []bool{false, true} {
			r := h.request("POST", textPath, body)
			if chunked {
				r.Body, r.ContentLength = io.NopCloser(io.MultiReader(strings.NewReader(body))), -1
			}
			got := h.send(r)
			all := h.sim.Requests()
			if seen := all[len(all)-1]; got.status != http.StatusOK || seen.BodySHA256 != hexSHA(body) || seen.BodySize != int64(size) {
				t.Errorf("%d bytes, chunked %v: %d, the service saw %d bytes", size, chunked, got.status, seen.BodySize)
			}
		}
	}
	for _, chunked := range []bool{false, true} {
		r := h.request("POST", textPath, strings.Repeat(" ", 4<<20+1))
		if chunked {
			r.Body, r.ContentLength = io.NopCloser(io.MultiReader(r.Body)), -1
		}
		h.send(r).wants(t, 413, "inspect/large", "BadRequest.TooLarge")
	}
}

// TestAcceptIsReadOnce: a request that Sluice does not judge as a stream is not sent upstream as one.
func TestAcceptIsReadOnce(t *testing.T) {
	h := build(t)
	for given, want := range map[string]string{
		"text/event-streams": "application/json", "x-text/event-stream": "application/json",
		"application/json, Text/Event-Stream;q=0.5": "text/event-stream",
	} {
		h.sim.Reset()
		h.ask("POST", textPath, textBody, "Accept", given)
		if got := h.sim.Requests()[0].Header.Get("Accept"); got != want {
			t.Errorf("Accept %q was sent as %q, want %q", given, got, want)
		}
	}
}

// TestMessagesNameTheConfiguredHeader: with another header prefix than the default, refusals name that one, and a
// client that sent the default learns which was expected. Other warnings are passed on.
func TestMessagesNameTheConfiguredHeader(t *testing.T) {
	h := build(t, func(p *plan) { p.config.HeaderPrefix, p.sim.HeaderPrefix = "X-Acme-", "X-Acme-" })
	got := h.ask("POST", imagePath, imageBody, "X-Service-Async", "enable")
	got.wants(t, 400, "inspect/rules", "InvalidParameter")
	if said := got.member(t, "message"); !strings.HasPrefix(said, "X-Acme-Async: given X-Service-Async in its place, allowed enable") {
		t.Error(said)
	}
	if got := h.ask("POST", imagePath, imageBody, "X-Acme-Async", "enable", "X-Service-Async", "enable"); got.status != 200 {
		t.Errorf("with both: %d %s", got.status, got.body)
	}
	got = h.ask("POST", textPath, strings.Replace(textBody, `"parameters":{`, `"parameters":{"stream":true,`, 1), "X-Service-SSE", "enable")
	if warned := got.header.Get("Sluice-Warning"); got.status != 200 || warned != `text.stream.header;given="true beside X-Service-Sse"` {
		t.Errorf("%d, warned %s", got.status, warned)
	}
}
