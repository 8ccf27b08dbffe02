package gateway_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image/png"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"sluice/gateway/simulator"
	"sluice/gateway/upstream"
)

// frontEncoded asks for the pictures themselves.
var frontEncoded = strings.Replace(frontPicture, "{", `{"response_format":"b64_json",`, 1)

// fetching lets the gateway fetch pictures from a service on this machine.
func fetching(t testing.TB, handler http.Handler) func(*plan) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return func(p *plan) {
		p.address = server.URL
		p.config.ResultHosts = []upstream.Host{upstream.Host(server.Listener.Addr().String())}
		p.config.ResultNetworks = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	}
}

// encoded are the pictures of an answer.
func (r reading) encoded(t testing.TB) [][]byte {
	t.Helper()
	var got struct {
		Created int64
		Data    []struct {
			URL    *string
			Base64 []byte `json:"b64_json"`
		}
	}
	if err := json.Unmarshal([]byte(r.body), &got); err != nil || r.err != nil || r.status != 200 || got.Created == 0 {
		t.Fatalf("%d, %v, %v: %.200s", r.status, err, r.err, r.body)
	}
	var all [][]byte
	for _, one := range got.Data {
		if one.URL != nil {
			t.Errorf("an address: %s", *one.URL)
		}
		all = append(all, one.Base64)
	}
	return all
}

func newSimulator() *simulator.Simulator {
	return simulator.New(simulator.Config{Keys: []string{upstreamKey}, TaskRate: -1, Running: 50 * time.Millisecond})
}

func TestFrontAnswersWithThePicturesThemselves(t *testing.T) {
	h := painting(t, fetching(t, newSimulator()), limited("quotas: {images: {day: 100}}"))
	sync := strings.Replace(frontSync, "{", `{"response_format":"b64_json",`, 1)
	body, contentType := form(t, "one", "model", "gen2.6-image", "prompt", "Winter", "response_format", "b64_json")
	for about, tt := range map[string]struct {
		reading
		n int
	}{
		"a task":    {h.ask("POST", frontImages, frontEncoded), 2},
		"no task":   {h.ask("POST", frontImages, sync), 1},
		"an edit":   {h.ask("POST", frontEdits, body, "Content-Type", contentType), 1},
		"addresses": {h.ask("POST", frontImages, frontPicture), 0},
	} {
		if tt.n == 0 {
			tt.images(t)
			continue
		}
		pictures := tt.encoded(t)
		if len(pictures) != tt.n || tt.header.Get("Content-Type") != "application/json" || tt.header.Get("X-Request-Id") == "" {
			t.Errorf("%s: %d pictures, want %d; %v", about, len(pictures), tt.n, tt.header)
		}
		for _, picture := range pictures {
			if _, err := png.Decode(bytes.NewReader(picture)); err != nil {
				t.Errorf("%s: %v", about, err)
			}
		}
		if record := h.recordOf(t, tt.reading); record.Status != 200 || record.BytesOut != int64(len(tt.body)) || record.Front != "images" {
			t.Errorf("%s: record %+v of %d bytes", about, record, len(tt.body))
		}
	}
	h.stands(t, "images", "6", "0", 0)
}

// painter is a service whose tasks end immediately, with a picture that the test serves.
func painter(creations *int, picture http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/pictures/"):
			picture(w, r)
			return
		case r.Method == "POST":
			*creations++
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"output":{"task_id":"t1","task_status":"PENDING"},"request_id":"r"}`))
		default:
			w.Header().Set("Content-Type", "application/json")
			address := `{"url":"http://` + r.Host + `/pictures/1"}`
			_, _ = w.Write([]byte(`{"output":{"task_id":"t1","task_status":"SUCCEEDED","results":[` + address + `,` + address +
				`]},"usage":{"image_count":2},"request_id":"r"}`))
		}
	}
}

// TestFrontPicturesThatCannotBeFetched: before the first byte it is an error, after it the answer is cut; a repeat is not paid again.
func TestFrontPicturesThatCannotBeFetched(t *testing.T) {
	large := append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, 300<<10)...)
	creations, asked, fails := 0, 0, "at once"
	h := painting(t, fetching(t, painter(&creations, func(w http.ResponseWriter, _ *http.Request) {
		asked++
		switch {
		case fails == "at once":
			http.Error(w, "", http.StatusForbidden)
		case fails == "inside":
			w.Header().Set("Content-Length", "1000000")
			_, _ = w.Write(large)
		case fails == "at the second" && asked%2 == 0:
			_, _ = w.Write([]byte("<html>"))
		default:
			_, _ = w.Write(large)
		}
	})), limited("quotas: {images: {day: 100}}"))
	again := []string{"Idempotency-Key", "mill"}
	got := h.ask("POST", frontImages, frontEncoded, again...)
	got.wantsOpenAI(t, 502, "server_error", "InternalError", "")
	if got.header.Get("Sluice-Task") != "t1" || got.header.Get("Sluice-Refusal") != "recall/picture" ||
		got.header.Get("X-Should-Retry") != "" || strings.Contains(got.body, "pictures/1") {
		t.Errorf("%v %s", got.header, got.body)
	}
	for _, fails = range []string{"inside", "at the second"} {
		asked = 0
		if got := h.ask("POST", frontImages, frontEncoded, again...); got.err == nil || json.Valid([]byte(got.body)) {
			t.Errorf("%s: the answer of %d bytes is whole", fails, len(got.body))
		}
	}
	fails = ""
	for _, picture := range h.ask("POST", frontImages, frontEncoded, again...).encoded(t) {
		if !bytes.Equal(picture, large) {
			t.Errorf("a picture of %d bytes, want %d", len(picture), len(large))
		}
	}
	if creations != 1 {
		t.Errorf("%d creations, want 1", creations)
	}
	h.stands(t, "images", "2", "0", 0)
}

// A picture that was made without a task and cannot be fetched is not lost: it is paid for.
func TestFrontNamesAPictureThatItCannotFetch(t *testing.T) {
	h := painting(t, fetching(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"output":{"choices":[{"finish_reason":"stop","message":{"role":"assistant",` +
			`"content":[{"image":"https://elsewhere.example/1.png"}]}}]},"usage":{"image_count":1},"request_id":"r"}`))
	})))
	got := h.ask("POST", frontImages, strings.Replace(frontSync, "{", `{"response_format":"b64_json",`, 1))
	got.wantsOpenAI(t, 502, "server_error", "InternalError", "")
	if got.header.Get("X-Should-Retry") != "false" || !strings.Contains(got.body, "https://elsewhere.example/1.png") {
		t.Errorf("%v %s", got.header, got.body)
	}
}

// TestFrontEndsTheFetchOfAClientThatLeft: a client that leaves while its picture is fetched ends the upstream request.
func TestFrontEndsTheFetchOfAClientThatLeft(t *testing.T) {
	creations, left, asked := 0, make(chan struct{}), make(chan struct{})
	h := painting(t, fetching(t, painter(&creations, func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
		close(left)
	})))
	r := h.request("POST", frontImages, frontEncoded)
	conn := h.dial()
	if err := r.Write(conn); err != nil {
		t.Fatal(err)
	}
	<-asked
	_ = conn.Close()
	<-left
	if record := h.records.await(t, 1)[0]; record.Status != 499 || record.Task != "t1" {
		t.Errorf("record %+v", record)
	}
}

// TestFrontEncodesInPieces: whatever the picture's size, the answer is the standard encoding with its padding.
func TestFrontEncodesInPieces(t *testing.T) {
	for _, size := range []int{8, 9, 10, 64<<10 - 1, 64 << 10, 64<<10 + 1, 200_001} {
		creations, picture := 0, append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, size-8)...)
		h := painting(t, fetching(t, painter(&creations, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(picture) })))
		got := h.ask("POST", frontImages, frontEncoded)
		if pictures := got.encoded(t); len(pictures) != 2 || !strings.Contains(got.body, `"`+base64.StdEncoding.EncodeToString(picture)+`"`) {
			t.Errorf("%d bytes: %d pictures", size, len(pictures))
		}
	}
}
