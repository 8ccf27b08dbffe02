package mirror_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"sluice/gateway/mirror"
	"sluice/gateway/mirror/store"
	"sluice/gateway/mirror/store/storetest"
)

// stored puts the picture of a task as a Mirror does.
func stored(t *testing.T, s store.Store, contentType string, body []byte) {
	t.Helper()
	for key, o := range map[string]store.Object{
		"search/tasks/t1":              {Body: []byte("2026/11/26"), Type: "text/plain"},
		"search/2026/11/26/t1/1.png":   {Body: body, Type: contentType, Task: "t1"},
		"search/2026/11/26/t1/11.png":  {Body: []byte("another"), Type: contentType, Task: "t1"},
		"search/2026/11/26/t10/2.png":  {Body: []byte("another"), Type: contentType, Task: "t10"},
		"search-2/2026/11/26/t1/2.png": {Body: []byte("another"), Type: contentType, Task: "t1"},
	} {
		if err := s.Put(t.Context(), key, &o); err != nil {
			t.Fatal(err)
		}
	}
}

func serve(t *testing.T, r *mirror.Results, team, task string, n int, header ...string) (*http.Response, error) {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	if len(header) > 0 {
		request.Header.Set(header[0], header[1])
	}
	w := httptest.NewRecorder()
	err := r.Serve(w, request, team, task, n)
	return w.Result(), err
}

// Bytes pass through with their type and ranges, and browsers run none of them.
func TestPicturesPassThrough(t *testing.T) {
	s := storetest.Open(t, "file://"+t.TempDir())
	body := drawn("https://a/1")
	stored(t, s, "image/png", body)
	r := &mirror.Results{Store: s, Proxy: true}
	for _, tt := range []struct {
		ranged string
		status int
		want   []byte
	}{
		{"", http.StatusOK, body},
		{"bytes=1-3", http.StatusPartialContent, body[1:4]},
		{"bytes=-4", http.StatusPartialContent, body[len(body)-4:]},
		{"bytes=1000-", http.StatusRequestedRangeNotSatisfiable, nil},
	} {
		answer, err := serve(t, r, "search", "t1", 1, "Range", tt.ranged)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(answer.Body)
		h := answer.Header
		if answer.StatusCode != tt.status || tt.want != nil && (!bytes.Equal(got, tt.want) || h.Get("Content-Type") != "image/png") {
			t.Errorf("%q: %d, %q, %v", tt.ranged, answer.StatusCode, got, h)
		}
		if h.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(h.Get("Content-Security-Policy"), "sandbox") {
			t.Errorf("%q: %v", tt.ranged, h)
		}
	}
	for _, scripting := range []string{"text/html", "image/svg+xml", "application/javascript", ""} {
		stored(t, s, scripting, body)
		if answer, err := serve(t, r, "search", "t1", 1); err != nil || answer.Header.Get("Content-Type") != "application/octet-stream" ||
			answer.Header.Get("Content-Disposition") != "attachment" {
			t.Errorf("%q: %v, %v", scripting, answer.Header, err)
		}
	}
}

// What is not kept, of another team, or of no picture, is absent, and nothing is written.
func TestWhatIsNotKeptIsAbsent(t *testing.T) {
	s := storetest.Open(t, "file://"+t.TempDir())
	stored(t, s, "image/png", drawn("https://a/1"))
	for _, of := range []struct {
		team, task string
		n          int
	}{{"search", "t1", 2}, {"search", "t2", 1}, {"shop", "t1", 1}, {"search", "t1", 111}, {"search", "t10", 2}, {"search-2", "t1", 2}} {
		answer, err := serve(t, &mirror.Results{Store: s, Proxy: true}, of.team, of.task, of.n)
		if !errors.Is(err, store.ErrAbsent) || len(answer.Header) > 0 {
			t.Errorf("%+v: %v, %v", of, answer.Header, err)
		}
	}
}

// A bucket signs an address for ten minutes, at that moment.
func TestABucketSignsAnAddress(t *testing.T) {
	s := storetest.New(t).Open()
	body := drawn("https://a/1")
	stored(t, s, "image/png", body)
	answer, err := serve(t, &mirror.Results{Store: s}, "search", "t1", 1)
	if err != nil || answer.StatusCode != http.StatusFound {
		t.Fatal(answer, err)
	}
	address := answer.Header.Get("Location")
	request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	got, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = got.Body.Close() }()
	if text, _ := io.ReadAll(got.Body); got.StatusCode != http.StatusOK || !bytes.Equal(text, body) ||
		!strings.Contains(address, "X-Amz-Expires=600") {
		t.Errorf("%d, %d bytes at %s", got.StatusCode, len(text), address)
	}
	passed, err := serve(t, &mirror.Results{Store: s, Proxy: true}, "search", "t1", 1, "Range", "bytes=2-5")
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := io.ReadAll(passed.Body); !bytes.Equal(text, body[2:6]) || passed.StatusCode != http.StatusPartialContent {
		t.Errorf("%d, %q", passed.StatusCode, text)
	}
}
