package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"sluice/gateway/simulator"
)

func TestPaths(t *testing.T) {
	h := build(t)
	id := h.ask("POST", imagePath, imageBody, "X-Service-Async", "enable").member(t, "output", "task_id")
	before := len(h.sim.Requests())
	for _, path := range []string{
		// A38
		"/api/v1/tasks/../services/aigc/text-generation/generation", "/api/v1/tasks/%2e%2e", "/api/v1/tasks/..%2f" + id,
		"/api/v1/tasks/..%5c" + id, "/api/v1/tasks/%252e%252e",
		"/api/v1/tasks/" + id + "/../" + id, "/api/v1/tasks/a%2f" + id, "/api/v1/tasks//" + id, "//api/v1/tasks/" + id, "/api/v1/./tasks/" + id,
		"/api/v1/tasks/" + id + "//", "/api//v1/tasks", "/api/v1/tasks/" + id + "%2fcancel", "/api/v1/tasks%2f" + id,
		// A39
		"/api/v1/tasks/1%00", "/api/v1/tasks/1%0d%0aX-Evil:1", "/api/v1/tasks/%ff", "/api/v1/tasks/1;a=b", "/api/v1/tasks/a%20b",
		"/api/v1/tasks/" + strings.Repeat("a", 257), "/api/v1/tasks/{id}",
		// A42
		"/", "/api/v0/tasks", "/api/v2/tasks/" + id, "/tasks/" + id, "/metrics", "/debug/pprof", "/debug/pprof/", "/admin", "/healthz",
		"/readyz", "/usage", "/sluice", "/api/v1", "/api/v1/",
		"/api/v1/uploads", "/api/v1/tasks/" + id + "/other", "/api/v1/services/aigc/text-generation/generation/",
		"/api/v1/services/aigc/text-generation", "/API/v1/tasks", "/api/v1/Tasks",
	} {
		got := h.rawAnswer("GET " + path + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + h.keys["search"] + "\r\n\r\n")
		if got.status != http.StatusNotFound || got.header.Get("Location") != "" {
			t.Errorf("%s: %d %s", path, got.status, got.body)
			continue
		}
		got.wants(t, 404, "route/path", "NotFound")
	}
	for _, request := range []string{"GET /api/v1/tasks/%zz", "GET /api/v1/tasks/\xff\x01", "GET /api/v1/ta sks"} {
		if got := h.rawAnswer(request + " HTTP/1.1\r\nHost: x\r\n\r\n"); got.status != http.StatusBadRequest &&
			got.status != http.StatusNotFound {
			t.Errorf("%q: %d", request, got.status)
		}
	}
	if after := len(h.sim.Requests()); after != before {
		t.Errorf("%d requests reached the service", after-before)
	}
}

// Paths outside the version prefix are not served below it.
func TestOwnPathsAreNotBelowTheServices(t *testing.T) {
	h := fronted(t)
	paths := h.gateway.Paths()
	if len(paths) < 12 {
		t.Fatalf("only %d paths: %s", len(paths), paths)
	}
	for _, path := range paths {
		path = strings.NewReplacer("{id}", "a1", "{n}", "1").Replace(path)
		for _, method := range []string{"GET", "POST"} {
			h.ask(method, "/api/v1/"+path, "").wants(t, 404, "route/path", "NotFound")
		}
	}
	if strings.Contains(h.log.String(), "panic") {
		t.Error(h.log.String())
	}
}

// A query is dropped, whatever it contains.
func TestQueryIsDropped(t *testing.T) {
	h := build(t)
	for _, query := range []string{"?api_key=secret-canary", "?a=1;b=2", "?%zz", "?" + strings.Repeat("a&", 10001)} {
		if got := h.ask("POST", textPath+query, textBody); got.status != http.StatusOK {
			t.Errorf("%.20s: %d %s", query, got.status, got.body)
		}
	}
	for _, seen := range h.sim.Requests() {
		if seen.Query != "" {
			t.Errorf("the service saw the query %q", seen.Query)
		}
	}
}

// Every route checks the key first, and accepts only its own method.
func TestEveryRoute(t *testing.T) {
	h := build(t, forwarding("uploads"))
	methods := []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"}
	for _, tt := range []struct{ path, allow string }{
		{textPath, "POST"}, {multimodalPath, "POST"}, {imagePath, "POST"}, {olderPath, "POST"},
		{"/api/v1/services/aigc/image2image/image-synthesis", "POST"},
		{"/api/v1/tasks", "GET"}, {"/api/v1/tasks/", "GET"}, {"/api/v1/tasks/a1", "GET"}, {"/api/v1/tasks/a1/", "GET"},
		{"/api/v1/tasks/a1/cancel", "POST"}, {"/api/v1/tasks/a1/cancel/", "POST"},
		{"/api/v1/uploads", "GET, POST, PUT, PATCH, DELETE"}, {"/api/v1/uploads/x", "GET, POST, PUT, PATCH, DELETE"},
	} {
		for _, method := range methods {
			got := h.ask(method, tt.path, "", "Authorization", "")
			want := http.StatusMethodNotAllowed
			if strings.Contains(tt.allow, method) {
				want = http.StatusUnauthorized
			}
			if got.status != want || want == http.StatusMethodNotAllowed && got.header.Get("Allow") != tt.allow {
				t.Errorf("%s %s: %d, Allow %q; want %d", method, tt.path, got.status, got.header.Get("Allow"), want)
			}
		}
	}
	if n := len(h.sim.Requests()); n != 0 {
		t.Errorf("%d requests reached the service", n)
	}
}

// Forwarded paths: method, query and body pass unchanged.
func TestForwardPaths(t *testing.T) {
	h := build(t, forwarding("uploads", "services/embeddings"))
	if got := h.ask("GET", "/api/v1/uploads?action=getPolicy&model=llm-max", ""); got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if seen := h.sim.Requests()[0]; seen.Path != "/api/v1/uploads" || seen.Query != "action=getPolicy&model=llm-max" ||
		h.sim.Count(simulator.EndpointUploads) != 1 {
		t.Errorf("the service saw %s?%s", seen.Path, seen.Query)
	}
	h.ask("PUT", "/api/v1/services/embeddings/a%20b/c?x=%2F", "not json \x00", "Content-Type", "text/plain")
	seen := h.sim.Requests()[1]
	if seen.Method != "PUT" || seen.Path != "/api/v1/services/embeddings/a%20b/c" || seen.Query != "x=%2F" ||
		string(seen.Body) != "not json \x00" || seen.Header.Get("Content-Type") != "text/plain" {
		t.Errorf("the service saw %+v", seen)
	}
	for _, path := range []string{
		"/api/v1/uploads/../tasks", "/api/v1/uploads/%2e%2e/tasks", "/api/v1/uploads/..%2ftasks", "/api/v1/uploads/%252e%252e/x",
		"/api/v1/uploadsx",
		"/api/v1/services/embeddingsx", "/api/v1/uploads//x", "/api/v1/uploads/..%5cx", "/api/v1/uploads/%0d%0a",
	} {
		h.rawAnswer("GET "+path+" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+h.keys["search"]+"\r\n\r\n").
			wants(t, 404, "route/path", "NotFound")
	}
	for _, record := range h.records.await(t, 2)[:2] {
		if record.Endpoint != "other" || record.Kind != "other" ||
			strings.Contains(strings.Join([]string{record.Model, record.Task}, ""), "getPolicy") {
			t.Errorf("record %+v", record)
		}
	}
}

// TestForwardedPathsAreForTeamsThatNameOther: a team without endpoints may use all but them, since its models and prices do not
// count there, and its usage lists what it may use.
func TestForwardedPathsAreForTeamsThatNameOther(t *testing.T) {
	h := build(t, forwarding("uploads"), limited(`models: ["llm-*"]`))
	for _, method := range []string{"GET", "POST"} {
		h.ask(method, "/api/v1/uploads/video", "", "Authorization", "Bearer "+h.keys["shop"]).
			wants(t, 403, "authenticate/endpoint", "AccessDenied")
	}
	if n := len(h.sim.Requests()); n != 0 {
		t.Errorf("%d requests reached the service", n)
	}
	if got := h.ask("GET", "/api/v1/uploads/video", ""); len(h.sim.Requests()) != 1 {
		t.Errorf("team search: %d %s", got.status, got.body)
	}
	if got := h.ask("POST", textPath, textBody, "Authorization", "Bearer "+h.keys["shop"]); got.status != http.StatusOK {
		t.Errorf("another path: %d %s", got.status, got.body)
	}
	for team, want := range map[string]string{"search": `["*"]`, "shop": `["text","multimodal","image","tasks","embeddings"]`} {
		if got := h.ask("GET", "/sluice/v1/usage", "", "Authorization", "Bearer "+h.keys[team]); !strings.Contains(got.body,
			`"endpoints":`+want+`,`) {
			t.Errorf("%s: %s", team, got.body)
		}
	}
}

// No spelling climbs out of a forwarded prefix: whatever readers strip from a segment or decode, the rest is neither a dot
// segment nor empty.
func TestNothingClimbsOutOfAForwardedPath(t *testing.T) {
	h := build(t, forwarding("uploads"))
	for _, rest := range []string{
		"..;/tasks/x", "..;a=b/tasks/x", "%2e%2e;/tasks/x", "..%3b/tasks/x", "..%3Ba=b/tasks/x", "%2e%2e%3b/tasks/x", "..%253b/tasks/x", ".;/x",
		"a/..;/..;/tasks", "..;", "a/..;x", ";/x", ";a=b/x", "%3b/x", "a;b/..;/..", "..\\..;/x", "..%5c..;%5cx",
		"..%3f/tasks/x", "..%23/tasks/x", "..%23", "%2e%2e%3fa=b", "a/..%23x",
		"..%20/tasks/x", "%20../tasks/x", "...;/x", "..../x", "%20/x", "..%20;a/x", "..%2525252f", "%25252e%25252e/tasks/x",
		"%2525252e%2525252e/tasks/x", "%c0%ae%c0%ae/tasks/x", "..%c0%af", "..%09/x", "..%00/x",
		// a service may fold characters outside ASCII
		"%ef%bc%8e%ef%bc%8e/tasks/x", "%ef%bc%8e./x", ".%ef%bc%8e/x", "%ef%bc%8e", "..%ef%bc%8ftasks", "a%ef%bc%8f..%ef%bc%bcx", "%e2%80%a5/x",
		"%e2%80%a6", "%ef%b9%92%ef%b9%92/x", "..%ef%bc%9ba=b/x", "..%ef%bc%9f", "..%ef%bc%83x", "%ef%bc%852e%ef%bc%852e/x", "%25ef%25bc%258e./x",
		// drop them
		"..%c2%a0/x", "%c2%a0../x", "..%e2%80%8b/x", ".%e2%80%8b./x", "%e2%80%8b..", "..%c2%ad/x", "..%ef%bb%bf", "%e2%80%ae..", "..%e3%80%80/x",
		"..%c3%a9/x", "a/.%cc%81./x", "..%c2%85/x", "..%f3%a0%80%a0/x",
		// keep their last byte
		"%c4%ae%c4%ae/x", ".%c4%ae/x", "a%c4%af../x", "a%c5%9c../x",
		// or write similar ones
		"%e3%80%82%e3%80%82/x", "%ef%bd%a1%ef%bd%a1/x", "%c2%b7%c2%b7/x", ".%c2%b7/x", "a%e2%88%95..", "a%e2%81%84../x", "a%c2%a5../x",
		"..%e2%88%96x",
		// or both, and a plus may be a blank
		"%e3%80%82%e2%80%8b/x", "%e3%80%82%e2%80%8b%e3%80%82/tasks/x", "..+/tasks/x", "+../x", "%2b./x",
	} {
		h.rawAnswer(line("GET", "/api/v1/uploads/"+rest, h.keys["search"])+"\r\n").wants(t, 404, "route/path", "NotFound")
	}
	if seen := h.sim.Requests(); len(seen) != 0 {
		t.Errorf("the service saw %s and %d more", seen[0].Path, len(seen)-1)
	}
	for i, rest := range []string{"a;b=c/d", "a.b/..c/c..", "a%20b/c", "a%3bb", ".well-known", "x/", "a..b", "%c3%a9",
		"%e5%9b%be%e7%89%87/%e4%b8%80.png", "%ed%95%9c%20%ea%b5%ad", "c++/a+b", "%e5%9b%be%e3%80%82", "%e6%8a%a5%ef%bc%88%ef%bc%91%ef%bc%89.pdf",
		"r%c3%a9sum%c3%a9..txt", "%f0%9f%8c%8a", "a%e2%80%a6b", "v1.%e2%80%93.x"} {
		h.ask("GET", "/api/v1/uploads/"+rest, "")
		if seen := h.sim.Requests(); len(seen) != i+1 || seen[i].Path != "/api/v1/uploads/"+rest {
			t.Fatalf("%s: the service saw %d requests, want its %d", rest, len(seen), i+1)
		}
	}
}
