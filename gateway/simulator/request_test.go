package simulator

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sluice/gateway/simulator/billing"
)

func TestFind(t *testing.T) {
	for path, want := range map[string]route{
		textPath: {EndpointText, "POST", ""}, multimodalPath: {EndpointMultimodal, "POST", ""}, imagePath: {EndpointImage, "POST", ""},
		olderPath: {EndpointSynthesis, "POST", ""}, olderEditPath: {EndpointSynthesis, "POST", ""},
		"/api/v1/tasks": {EndpointList, "GET", ""}, "/api/v1/tasks/": {EndpointList, "GET", ""},
		"/api/v1/tasks/abc": {EndpointTask, "GET", "abc"}, "/api/v1/tasks/abc/": {EndpointTask, "GET", "abc"},
		"/api/v1/tasks/abc/cancel": {EndpointCancel, "POST", "abc"}, "/api/v1/tasks/abc/cancel/": {EndpointCancel, "POST", "abc"},
		"/api/v1/uploads": {EndpointUploads, "GET", ""}, "/pictures/a-0.png": {EndpointPicture, "GET", ""},
		textPath + "/": {EndpointOther, "", ""}, "/api/v1/tasks//": {EndpointOther, "", ""}, "/api/v1/tasks//cancel": {EndpointOther, "", ""},
		"/api/v1/tasks/abc/delete": {EndpointOther, "", ""}, "/api/v1/tasks/abc/cancel/now": {EndpointOther, "", ""},
		"/api/v2/tasks/abc": {EndpointOther, "", ""}, "/tasks/abc": {EndpointOther, "", ""}, "/": {EndpointOther, "", ""},
		"": {EndpointOther, "", ""},
	} {
		if got := find(path); got != want {
			t.Errorf("find(%q) = %+v, want %+v", path, got, want)
		}
	}
}

// Refusals before the rules, in their order: path, method, key, size, media type, body. A path is judged without a redirect.
func TestDoor(t *testing.T) {
	const short = `{"model":"m","input":{"prompt":"hi"}}`
	r := newRig(t, Config{Keys: []string{"k", "second"}, MaxBody: int64(len(short)), TaskRate: -1})
	key := func(value string) []string { return []string{"Authorization", value} }
	media := func(value string) []string { return []string{"Content-Type", value} }
	for _, tt := range []struct {
		method, path, body string
		header             []string
		status             int
		code               string // of a refusal
	}{
		{"GET", tasksPath, "", key("Bearer k"), 200, ""},
		{"GET", tasksPath, "", key("Bearer second"), 200, ""},
		{"GET", tasksPath, "", key("bearer k"), 200, ""},
		{"GET", tasksPath, "", key("BEARER k"), 200, ""},
		{"GET", tasksPath, "", key("Bearer x"), 401, "InvalidApiKey"},
		{"GET", tasksPath, "", key("Bearer secon"), 401, "InvalidApiKey"},
		{"GET", tasksPath, "", key("Bearer K"), 401, "InvalidApiKey"},
		{"GET", tasksPath, "", key("k"), 401, "InvalidApiKey"},
		{"GET", tasksPath, "", key("Basic k"), 401, "InvalidApiKey"},
		{"GET", tasksPath, "", key("Bearer "), 401, "InvalidApiKey"},
		{"GET", tasksPath, "", key(""), 401, "InvalidApiKey"},
		{"POST", textPath, short, append(key("Bearer x"), sse...), 401, "InvalidApiKey"}, // plain even for a stream

		{"GET", textPath, "", key("Bearer x"), 405, "InvalidParameter"},
		{"PUT", imagePath, "", nil, 405, "InvalidParameter"},
		{"POST", tasksPath, "", nil, 405, "InvalidParameter"},
		{"DELETE", tasksPath + "/abc", "", nil, 405, "InvalidParameter"},
		{"GET", tasksPath + "/abc/cancel", "", nil, 405, "InvalidParameter"},
		{"POST", "/api/v1/uploads", "", nil, 405, "InvalidParameter"},
		{"POST", "/pictures/a-0.png", "", nil, 405, "InvalidParameter"},
		{"POST", "/nowhere", "{}", key("Bearer x"), 404, "NotFound"},
		{"POST", "/api/v1/services/aigc/video-generation/generation", "", nil, 404, "NotFound"},
		{"GET", "/", "", nil, 404, "NotFound"},
		{"GET", tasksPath + "/abc/", "", nil, 200, ""},
		{"POST", tasksPath + "/abc/cancel/", "", nil, 400, "UnsupportedOperation"},

		{"POST", textPath, short + " ", key("Bearer x"), 401, "InvalidApiKey"},
		{"POST", textPath, short + " ", media("text/plain"), 413, "BadRequest.TooLarge"},
		{"POST", textPath, short, nil, 200, ""},
		{"POST", textPath, short, media(""), 200, ""},
		{"POST", textPath, short, media("application/json; charset=utf-8"), 200, ""},
		{"POST", textPath, short, media("Application/JSON;charset=UTF-8"), 200, ""},
		{"POST", textPath, "{", media("text/plain"), 415, "InvalidParameter"},
		{"POST", textPath, short, media("application/x-www-form-urlencoded"), 415, "InvalidParameter"},
		{"POST", textPath, short, media("application/jsonp"), 415, "InvalidParameter"},
		{"POST", textPath, short, media("application/json; charset"), 415, "InvalidParameter"},
		{"POST", textPath, "", nil, 400, "InvalidParameter"},
		{"POST", textPath, "null", nil, 400, "InvalidParameter"},
		{"POST", textPath, "[]", nil, 400, "InvalidParameter"},
		{"POST", textPath, `"hi"`, nil, 400, "InvalidParameter"},
		{"POST", textPath, "{", nil, 400, "InvalidParameter"},
		{"POST", textPath, `{"model":}`, nil, 400, "InvalidParameter"},
		{"POST", textPath, "{}x", nil, 400, "InvalidParameter"},
		{"POST", textPath, "\x00", nil, 400, "InvalidParameter"},

		{"GET", "/api/v1/uploads?action=getPolicy&model=m", "", nil, 200, ""},
		{"GET", "/api/v1/uploads?model=m", "", nil, 400, "InvalidParameter"},
		{"GET", "/api/v1/uploads?action=put&model=m", "", nil, 400, "InvalidParameter"},
		{"GET", "/api/v1/uploads?action=getPolicy", "", nil, 400, "InvalidParameter"},
		{"GET", tasksPath + "?page_no=0", "", nil, 400, "InvalidParameter"},
		{"GET", tasksPath + "?page_no=x", "", nil, 400, "InvalidParameter"},
		{"GET", tasksPath + "?page_size=0", "", nil, 400, "InvalidParameter"},
		{"GET", tasksPath + "?page_size=101", "", nil, 400, "InvalidParameter"},
		{"GET", tasksPath + "?page_size=-1", "", nil, 400, "InvalidParameter"},
		{"GET", tasksPath + "?start_time=yesterday", "", nil, 400, "InvalidParameter"},
		{"GET", tasksPath + "?end_time=2026-03-04", "", nil, 400, "InvalidParameter"},
	} {
		g := r.do(tt.method, tt.path, tt.body, tt.header...)
		if tt.code != "" {
			g.want(t, tt.status, tt.code)
		}
		allow := map[bool]string{true: find(tt.path).method}[tt.status == 405]
		if g.status != tt.status || g.header.Get("Allow") != allow {
			t.Errorf("%s %s %q with %q: %d %s, allowed %q", tt.method, tt.path, tt.body, tt.header, g.status, g.body, g.header.Get("Allow"))
		}
	}
}

func TestBrokenOffBody(t *testing.T) {
	r := newRig(t, Config{})
	conn, err := net.Dial("tcp", r.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer k\r\nTransfer-Encoding: chunked\r\n\r\nnot a chunk\r\n", textPath)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp.Body.Close(); resp.StatusCode != 400 {
		t.Errorf("a misframed body is answered %d", resp.StatusCode)
	}
}

// The service copies the keys that it is given, and takes others later.
func TestSetKeys(t *testing.T) {
	keys := []string{"k"}
	r := newRig(t, Config{Keys: keys})
	keys[0] = "other"
	for _, tt := range []struct {
		set  []string
		key  string
		want int
	}{{[]string{"k"}, "k", 200}, {[]string{"new"}, "k", 401}, {[]string{"new"}, "new", 200}, {nil, "any", 200}} {
		if tt.key != "k" || tt.want != 200 {
			r.SetKeys("", tt.set...)
		}
		if g := r.get(tasksPath, "Authorization", "Bearer "+tt.key); g.status != tt.want {
			t.Errorf("of %q the key %s got %d", tt.set, tt.key, g.status)
		}
	}
}

// A picture needs no key; any other request has exactly one Authorization header.
func TestExactlyOneAuthorizationHeader(t *testing.T) {
	r := newRig(t, Config{})
	r.get(tasksPath)
	r.fetch(r.addressOf(`"size":"16*16"`))
	for _, values := range [][]string{nil, {"Bearer k", "Bearer k"}} {
		req := r.request("GET", tasksPath+"/abc", "")
		req.Header["Authorization"] = values
		if resp := r.begin(req); resp.StatusCode != 401 {
			t.Errorf("%q is answered %d", values, resp.StatusCode)
		}
	}
	if v := r.Violations(); len(v) != 2 || v[0] != "GET /api/v1/tasks/abc: has not exactly one Authorization header" {
		t.Errorf("violations are %q", v)
	}
	for range maxViolations {
		r.ledger.add(&Received{}, 0)
	}
	if v := r.Violations(); len(v) != maxViolations {
		t.Errorf("%d violations are kept", len(v))
	}
	if r.Reset(); len(r.Violations()) != 0 {
		t.Error("there are violations after Reset")
	}
}

func TestRecordOfARequest(t *testing.T) {
	r := newRig(t, Config{KeepBody: 10})
	body := say("hi", "")
	g := r.post(textPath+"?a=b&c", body, "X-Thing", "one")
	r.get("/api/v1/tasks/a%2Fb%20c") // the path as on the wire
	sum := sha256.Sum256([]byte(body))
	want := Received{
		ID: g.header.Get("X-Request-Id"), At: start, Method: "POST", Path: textPath, Query: "a=b&c",
		Host: strings.TrimPrefix(r.server.URL, "http://"), Endpoint: EndpointText,
		Account: billing.Account, Executed: true, Body: []byte(body[:10]), BodySize: int64(len(body)), BodySHA256: hex.EncodeToString(sum[:]),
	}
	got := r.Requests()
	if diff := cmp.Diff(want, got[0], cmpopts.IgnoreFields(Received{}, "Header")); diff != "" || got[0].Header.Get("X-Thing") != "one" {
		t.Errorf("recorded (-want +got):\n%s\n%v", diff, got[0].Header)
	}
	if got[1].Path != "/api/v1/tasks/a%2Fb%20c" || got[1].Endpoint != EndpointTask {
		t.Errorf("recorded %s %q", got[1].Endpoint, got[1].Path)
	}
}

// The ledger keeps the last requests and counts all of them, even if it keeps no requests or no bodies.
func TestRequestsAreBounded(t *testing.T) {
	for _, tt := range []struct{ keep, requests, want int }{{3, 0, 0}, {3, 2, 2}, {3, 3, 3}, {3, 4, 3}, {3, 100, 3}, {-1, 5, 0}} {
		s := New(Config{KeepRequests: tt.keep, KeepBody: -1})
		for i := range tt.requests {
			serveOnce(s, "/"+fmt.Sprint(i), "{}")
		}
		list := s.Requests()
		if len(list) != tt.want || cap(s.ledger.last) > 8 || s.Count(EndpointOther) != tt.requests {
			t.Errorf("keeping %d, %d requests leave %d in room for %d, and %d counted", tt.keep, tt.requests, len(list), cap(s.ledger.last),
				s.Count(EndpointOther))
		}
		for i, kept := range list {
			if want := fmt.Sprint("/", tt.requests-tt.want+i); kept.Path != want || len(kept.Body) > 0 || kept.BodySize != 2 {
				t.Errorf("keeping %d of %d: entry %d is %+v, want %s", tt.keep, tt.requests, i, kept, want)
			}
		}
	}
}

// Every answer has its own id, in header and body, and headers that leak the account, so that a test can see a gateway strip them.
func TestEveryAnswerHasAnIDAndLeaks(t *testing.T) {
	r := newRig(t, Config{HeaderPrefix: "X-Other-"})
	form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	seen := map[string]bool{}
	for name, g := range map[string]got{
		"json": r.post(textPath, say("hi", "")), "again": r.post(textPath, say("hi", "")), "image": r.post(multimodalPath, draw("")),
		"refusal": r.post(textPath, "{}"),
		"stream":  r.post(textPath, say("hi", ""), "Accept", "text/event-stream"), "key": r.get(tasksPath, "Authorization", "none"),
		"path": r.get("/nowhere"),
	} {
		id := g.header.Get("X-Request-Id")
		if !form.MatchString(id) || seen[id] || !strings.Contains(g.body, `"request_id":"`+id+`"`) {
			t.Errorf("%s: header %q, body %s", name, id, g.body)
		}
		seen[id] = true
		for _, header := range []string{"Set-Cookie", "X-Other-Uid", "X-Other-ApiKey-Id", "X-Other-Inner-Trace", "Server"} {
			if !strings.Contains(g.header.Get(header), LeakMark) {
				t.Errorf("%s: %s is %q", name, header, g.header.Get(header))
			}
		}
	}
}

// The simulator must not share the gateway's reading of the specification.
func TestImportsNothingOfOurs(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, i := range f.Imports {
			name := strings.Trim(i.Path.Value, `"`)
			if strings.HasPrefix(name, "sluice/") && !strings.HasPrefix(name+"/", "sluice/gateway/simulator/") {
				t.Errorf("%s imports %s", path, name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Without settings every key is accepted, and a task has ended immediately.
func TestZeroConfig(t *testing.T) {
	s := New(Config{})
	refuses(t, s, "a text", textPath, say("hi", ""), "")
	serveOnce(s, imagePath, edit(""), async...)
	if got := s.Tally(); got.Images != 4 {
		t.Errorf("a task has not ended at once: %+v", got)
	}
}

func TestConfigDefaults(t *testing.T) {
	got := Config{BaseURL: "http://pictures.example/", KeepBody: -1}.withDefaults()
	got.Log("nothing %d", 1) // must not panic
	want := Config{
		BaseURL: "http://pictures.example", KeepBody: -1, HeaderPrefix: "X-Service-", TaskRate: 20, MaxTasks: 10_000,
		FrameTokens: 4, MaxOutput: 2048, KeepRequests: 256, MaxBody: 128 << 20, Prices: billing.Standard,
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Config{}, "Now", "Log")); diff != "" || got.Now == nil {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
}

// Only the beginning of a long body is kept, but all of it is read. The log has a line of each request, without its query and
// body.
func TestLargeBodyAndLog(t *testing.T) {
	var lines []string
	s := New(Config{Log: func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }})
	body := strings.Replace(say("hi", ""), `"hi"`, `"`+strings.Repeat("wave ", 1<<20)+`"`, 1)
	o := got{body: serveOnce(s, textPath, body).Body.String()}.object(t)
	if kept := s.Requests()[0]; at(o, "usage.input_tokens") != 1<<20+5. || kept.BodySize != int64(len(body)) ||
		string(kept.Body) != body[:64<<10] {
		t.Errorf("of %v tokens %d bytes of %d are kept", at(o, "usage.input_tokens"), len(kept.Body), kept.BodySize)
	}
	serveOnce(s, "/nowhere?wave=1", "")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "POST "+textPath+" ") || strings.Contains(strings.Join(lines, ""), "wave") {
		t.Errorf("logged %q", lines)
	}
}
