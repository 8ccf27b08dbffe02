package simulator

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestZeroConfig(t *testing.T) {
	s := New(Config{})
	if got := refusalOf(t, s, textPath, say("hi", "")); got != "" {
		t.Errorf("the zero configuration refuses: %s", got)
	}
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
		FrameTokens: 4, MaxOutput: 2048, KeepRequests: 256, MaxBody: 128 << 20,
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Config{}, "Now", "Log")); diff != "" || got.Now == nil {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
}

func TestLog(t *testing.T) {
	var mu sync.Mutex
	var lines []string
	s := New(Config{Log: func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, fmt.Sprintf(format, args...))
	}})
	serveOnce(s, textPath, say("secret words", ""))
	serveOnce(s, "/nowhere?secret=1", "")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "POST "+textPath+" ") || strings.Contains(strings.Join(lines, ""), "secret") {
		t.Errorf("logged %q", lines)
	}
}

// KeepRequests and KeepBody may be switched off; sums are kept all the same.
func TestKeepNothing(t *testing.T) {
	s := New(Config{KeepRequests: -1})
	serveOnce(s, textPath, say("hi", ""))
	if len(s.Requests()) != 0 || s.Count(EndpointText) != 1 || s.Tally().Executed[EndpointText] != 1 {
		t.Errorf("kept %d requests, counted %d", len(s.Requests()), s.Count(EndpointText))
	}
	s = New(Config{KeepBody: -1})
	serveOnce(s, textPath, say("hi", ""))
	if rec := s.Requests()[0]; len(rec.Body) != 0 || rec.BodySize == 0 || rec.BodySHA256 == "" {
		t.Errorf("recorded %+v", rec)
	}
}

// The service copies the caller's lists.
func TestKeysAreCopied(t *testing.T) {
	keys := []string{"k"}
	s := New(Config{Keys: keys})
	keys[0] = "other"
	if got := refusalOf(t, s, textPath, say("hi", "")); got != "" {
		t.Errorf("a key changed in the service: %s", got)
	}
}

// secure starts a service behind TLS and returns its address and client.
func secure(t *testing.T, s *Simulator, http2 bool) (string, *http.Client) {
	t.Helper()
	server := httptest.NewUnstartedServer(s)
	server.EnableHTTP2 = http2
	server.Config.ErrorLog = nil
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL, server.Client()
}

func TestBehindTLS(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		s := New(Config{})
		url, client := secure(t, s, http2)
		ask := func(path, body string) (*http.Response, string, error) {
			req, err := http.NewRequestWithContext(t.Context(), "POST", url+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer k")
			resp, err := client.Do(req)
			if err != nil {
				return nil, "", err
			}
			defer resp.Body.Close()
			b, err := io.ReadAll(resp.Body)
			return resp, string(b), err
		}
		resp, body, err := ask(multimodalPath, draw(""))
		if err != nil || resp.StatusCode != 200 || !strings.Contains(body, url+"/pictures/") {
			t.Errorf("HTTP/2 %v: %v %s", http2, err, body)
		}
		// Over TLS no TCP reset is sent, but the answer breaks off.
		for _, fault := range []Fault{{Drop: "reset"}, {Cut: "reset", After: 1}, {Cut: "close", After: 1}} {
			s.SetFault(fault)
			if resp, body, err := ask(textPath, say("hi", "")); err == nil {
				t.Errorf("HTTP/2 %v: %+v is answered %d %s", http2, fault, resp.StatusCode, body)
			}
		}
	}
}
