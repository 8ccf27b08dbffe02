package simulator

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestKeys(t *testing.T) {
	r := newRig(t, Config{Keys: []string{"k", "second"}})
	for _, tt := range []struct {
		name   string
		values []string
		ok     bool
	}{
		{"known", []string{"Bearer k"}, true},
		{"another known one", []string{"Bearer second"}, true},
		{"scheme in small letters", []string{"bearer k"}, true},
		{"scheme in capitals", []string{"BEARER k"}, true},
		{"unknown", []string{"Bearer x"}, false},
		{"part of a key", []string{"Bearer secon"}, false},
		{"key in capitals", []string{"Bearer K"}, false},
		{"no scheme", []string{"k"}, false},
		{"another scheme", []string{"Basic k"}, false},
		{"no key", []string{"Bearer "}, false},
		{"empty", []string{""}, false},
		{"none", nil, false},
		{"twice", []string{"Bearer k", "Bearer k"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := r.request("GET", tasksPath, "")
			req.Header["Authorization"] = tt.values
			resp, err := r.client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if got := resp.StatusCode == 200; got != tt.ok || !got && resp.StatusCode != 401 {
				t.Errorf("answered %d", resp.StatusCode)
			}
			r.clock.Advance(1e9) // stay within the account's rate
		})
	}
}

func TestKeyRefusalIsPlainEvenForAStream(t *testing.T) {
	r := newRig(t, Config{})
	r.post(textPath, say("hi", ""), "Authorization", "Bearer x", "X-Service-SSE", "enable").want(t, 401, "InvalidApiKey")
}

func TestSetKeys(t *testing.T) {
	r := newRig(t, Config{})
	r.SetKeys("new")
	r.get(tasksPath).want(t, 401, "InvalidApiKey")
	if g := r.get(tasksPath, "Authorization", "Bearer new"); g.status != 200 {
		t.Errorf("the new key got %d", g.status)
	}
	r.SetKeys()
	if g := r.get(tasksPath, "Authorization", "Bearer any"); g.status != 200 {
		t.Errorf("with no keys set, any key got %d", g.status)
	}
}

func TestExactlyOneAuthorizationHeader(t *testing.T) {
	r := newRig(t, Config{})
	r.get(tasksPath)
	if v := r.Violations(); len(v) != 0 {
		t.Errorf("a right request violates %q", v)
	}
	for _, values := range [][]string{nil, {"Bearer k", "Bearer team"}} {
		req := r.request("GET", tasksPath+"/abc", "")
		req.Header["Authorization"] = values
		resp, err := r.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	if v := r.Violations(); len(v) != 2 || v[0] != "GET /api/v1/tasks/abc: has not exactly one Authorization header" {
		t.Errorf("violations are %q", v)
	}
	r.Reset()
	if v := r.Violations(); len(v) != 0 {
		t.Errorf("after Reset there are %q", v)
	}
}

func TestMediaType(t *testing.T) {
	r := newRig(t, Config{})
	for _, tt := range []struct {
		media string
		ok    bool
	}{
		{"application/json", true},
		{"application/json; charset=utf-8", true},
		{"Application/JSON;charset=UTF-8", true},
		{"text/plain", false},
		{"application/x-www-form-urlencoded", false},
		{"application/jsonp", false},
		{"application/json; charset", false},
	} {
		if g := r.post(textPath, say("hi", ""), "Content-Type", tt.media); (g.status == 200) != tt.ok || !tt.ok && g.status != 415 {
			t.Errorf("%q is answered %d", tt.media, g.status)
		}
	}
	req := r.request("POST", textPath, say("hi", ""))
	req.Header.Del("Content-Type")
	resp, err := r.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 200 {
		t.Errorf("no content type is answered %d", resp.StatusCode)
	}
}

func TestBodyMustBeAnObject(t *testing.T) {
	r := newRig(t, Config{})
	for _, body := range []string{"", "null", "[]", `"hi"`, "7", "{", `{"model":}`, say("hi", "") + "x", "\x00"} {
		r.post(textPath, body, "Content-Type", "application/json").want(t, 400, "InvalidParameter")
	}
}

func TestMaxBody(t *testing.T) {
	body := say("hi", "")
	r := newRig(t, Config{MaxBody: int64(len(body))})
	if g := r.post(textPath, body); g.status != 200 {
		t.Errorf("a body at the bound got %d", g.status)
	}
	r.post(textPath, body+" ").want(t, 413, "BadRequest.TooLarge")
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
	resp.Body.Close()
	if resp.StatusCode != 400 {
		t.Errorf("a misframed body is answered %d", resp.StatusCode)
	}
}

func TestRecordOfARequest(t *testing.T) {
	r := newRig(t, Config{KeepBody: 10})
	body := say("hi", "")
	g := r.post(textPath+"?a=b&c", body, "X-Thing", "one")
	sum := sha256.Sum256([]byte(body))
	want := []Received{{
		ID: g.header.Get("X-Request-Id"), At: start, Method: "POST", Path: textPath, Query: "a=b&c", Host: strings.TrimPrefix(r.server.URL, "http://"), Endpoint: EndpointText,
		Body: []byte(body[:10]), BodySize: int64(len(body)), BodySHA256: hex.EncodeToString(sum[:]),
	}}
	got := r.Requests()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Received{}, "Header")); diff != "" || got[0].Header.Get("X-Thing") != "one" {
		t.Errorf("recorded (-want +got):\n%s\n%v", diff, got[0].Header)
	}
}

func TestPathIsRecordedAsOnTheWire(t *testing.T) {
	r := newRig(t, Config{})
	r.get("/api/v1/tasks/a%2Fb%20c")
	if got := r.Requests()[0]; got.Path != "/api/v1/tasks/a%2Fb%20c" || got.Endpoint != EndpointTask {
		t.Errorf("recorded %s %q", got.Endpoint, got.Path)
	}
}

func TestRequestIDs(t *testing.T) {
	r := newRig(t, Config{})
	form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	seen := map[string]bool{}
	for _, path := range []string{textPath, multimodalPath, imagePath, tasksPath, "/nowhere"} {
		for range 3 {
			g := r.post(path, say("hi", ""))
			id := g.header.Get("X-Request-Id")
			if !form.MatchString(id) || seen[id] || g.object(t)["request_id"] != id {
				t.Errorf("%s: header %q, body %s", path, id, g.body)
			}
			seen[id] = true
		}
	}
}

// Every answer has headers that leak the account, so that a test can see a gateway strip them.
func TestEveryAnswerLeaks(t *testing.T) {
	r := newRig(t, Config{HeaderPrefix: "X-Other-"})
	for name, g := range map[string]got{
		"json":    r.post(textPath, say("hi", "")),
		"stream":  r.post(textPath, say("hi", ""), "Accept", "text/event-stream"),
		"refusal": r.post(textPath, "{}"),
		"key":     r.get(tasksPath, "Authorization", "none"),
		"path":    r.get("/nowhere"),
	} {
		for _, header := range []string{"Set-Cookie", "X-Other-Uid", "X-Other-ApiKey-Id", "X-Other-Inner-Trace", "Server"} {
			if !strings.Contains(g.header.Get(header), LeakMark) {
				t.Errorf("%s: %s is %q", name, header, g.header.Get(header))
			}
		}
	}
}

// A repeated member counts by its last value, as in most parsers; a gateway must refuse it.
func TestLastDuplicateCounts(t *testing.T) {
	s := New(Config{})
	body := strings.Replace(edit(""), `"parameters":{}`, `"parameters":{"n":1},"parameters":{"n":9}`, 1)
	if got := refusalOf(t, s, imagePath, body, async...); !strings.Contains(got, "parameters.n") {
		t.Errorf("said %q", got)
	}
}

func TestLargeBody(t *testing.T) {
	r := newRig(t, Config{})
	body := strings.Replace(say("hi", ""), `"hi"`, `"`+strings.Repeat("wave ", 1<<20)+`"`, 1)
	o := r.post(textPath, body).object(t)
	if got := at(o, "usage", "input_tokens").(float64); got != 1<<20+5 {
		t.Errorf("input is %v tokens", got)
	}
	rec := r.Requests()[0]
	if rec.BodySize != int64(len(body)) || len(rec.Body) != 64<<10 || !bytes.HasPrefix([]byte(body), rec.Body) {
		t.Errorf("kept %d of %d bytes", len(rec.Body), rec.BodySize)
	}
}
