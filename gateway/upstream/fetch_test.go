package upstream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"code.dny.dev/ssrf"

	"sluice/gateway/upstream/upstreamtest"
)

const signed = "/a.png?Expires=1&Signature=top-secret"

func TestAPictureIsCopiedInPieces(t *testing.T) {
	picture := drawing(1<<20 + 5)
	var header atomic.Pointer[http.Header]
	s := newStore(t, func(w http.ResponseWriter, r *http.Request) {
		header.Store(&r.Header)
		serve(picture)(w, r)
	})
	var got writes
	f := NewFetcher(s.config("a.example.com"))
	contentType, err := f.Copy(t.Context(), &got, s.address("a.example.com", signed))
	if err != nil || contentType != "image/png" || !bytes.Equal(got.Bytes(), picture) || !f.Allowed() {
		t.Fatalf("%q, %d bytes, %v; allowed %v", contentType, got.Len(), err, f.Allowed())
	}
	if got.largest != 64<<10 {
		t.Errorf("the largest piece has %d bytes, want 64 KiB", got.largest)
	}
	if sent := *header.Load(); len(sent) != 3 || sent.Get("Accept") != "image/*" || sent.Get("User-Agent") != "sluice" ||
		sent.Get("Connection") != "close" {
		t.Errorf("the host is sent %v", sent)
	}
}

func TestNothingIsFetchedWhereNoHostIsListed(t *testing.T) {
	s := newStore(t, serve(drawing(0)))
	f := NewFetcher(s.config())
	if _, err := f.Copy(t.Context(), io.Discard, s.address("a.example.com", "/")); !errors.Is(err, ErrOff) || f.Allowed() ||
		s.asked.Load() > 0 {
		t.Errorf("%v; allowed %v, asked %d times", err, f.Allowed(), s.asked.Load())
	}
}

// TestTheAddressBehindANameIsJudged: a listed name that leads inside is not connected to, whatever it leads to next.
func TestTheAddressBehindANameIsJudged(t *testing.T) {
	s := newStore(t, serve(drawing(0)))
	for about, tt := range map[string]struct {
		leads    []string
		networks []netip.Prefix
		want     error
	}{
		"to this machine": {[]string{"127.0.0.1"}, nil, ssrf.ErrProhibitedIP},
		"to metadata": {[]string{"169.254.169.254"}, []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
			ssrf.ErrProhibitedIP},
		"to a network that is opened": {[]string{"127.0.0.1"}, []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, nil},
		"inside first and to the store next": {[]string{"10.0.0.1", "127.0.0.1"}, []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
			ssrf.ErrProhibitedIP},
		"to the store first and inside from now": {[]string{"127.0.0.1", "10.0.0.1"}, []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, nil},
	} {
		before := s.asked.Load()
		config := s.config("a.example.com")
		config.Networks, config.Resolver = tt.networks, upstreamtest.Resolver(t, tt.leads...)
		_, err := NewFetcher(config).Copy(t.Context(), io.Discard, s.address("a.example.com", signed))
		if !errors.Is(err, tt.want) || s.asked.Load()-before != map[bool]int32{true: 1}[tt.want == nil] {
			t.Errorf("%s: %v, the store was asked %d times", about, err, s.asked.Load()-before)
		}
		if err != nil && strings.Contains(err.Error(), "top-secret") {
			t.Errorf("%s: the error quotes the address: %v", about, err)
		}
	}
}

func TestRedirectsAreJudgedAnewAndCounted(t *testing.T) {
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a host that is not listed was asked") }))
	defer inside.Close()
	var s *store
	s = newStore(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Referer") != "" {
			t.Errorf("the next host is told of %s", r.Header.Get("Referer"))
		}
		to := map[string]string{
			"/3": s.address("b.example.com", "/2"), "/2": s.address("a.example.com", "/1"), "/1": "/picture",
			"/unlisted": s.address("c.example.com", "/picture"), "/clear": "http://a.example.com:" + s.port + "/picture", "/inside": inside.URL,
			"/file": "file:///etc/passwd", "/nowhere": "",
		}
		if r.URL.Path == "/picture" {
			serve(drawing(0))(w, r)
			return
		}
		w.Header().Set("Location", to[r.URL.Path])
		w.WriteHeader(http.StatusFound)
	})
	f := NewFetcher(s.config("a.example.com", "b.example.com"))
	for path, want := range map[string]error{"/1": nil, "/2": nil, "/3": ErrAddress, "/unlisted": ErrAddress, "/clear": ErrAddress,
		"/inside": ErrAddress, "/file": ErrAddress} {
		if _, err := f.Copy(t.Context(), io.Discard, s.address("a.example.com", path)); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
	if _, err := f.Copy(t.Context(), io.Discard, s.address("a.example.com", "/nowhere")); err == nil {
		t.Error("a redirect to nowhere is a picture")
	}
}

// TestOnlyImagesPass: by their first bytes, whatever the host says they are.
func TestOnlyImagesPass(t *testing.T) {
	for _, body := range []string{"", "<html><img>", `{"Code":"AccessDenied"}`, "<svg xmlns='http://www.w3.org/2000/svg'/>",
		"\x1f\x8b\x08\x00", "%PDF-1.7", "#!/bin/sh", "\x00\x00\x00\x00"} {
		s := newStore(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "image/png")
			serve([]byte(body))(w, r)
		})
		var got bytes.Buffer
		if _, err := NewFetcher(s.config("a.example.com")).Copy(t.Context(), &got, s.address("a.example.com", "/")); !errors.Is(err,
			ErrNoImage) || got.Len() > 0 {
			t.Errorf("%q: %v, %d bytes", body, err, got.Len())
		}
	}
	for want, head := range map[string]string{"image/jpeg": "\xff\xd8\xff\xe0", "image/webp": "RIFF\x00\x00\x00\x00WEBPVP8 ",
		"image/gif": "GIF89a", "image/bmp": "BM12345"} {
		s := newStore(t, serve([]byte(head)))
		if got, err := NewFetcher(s.config("a.example.com")).Copy(t.Context(), io.Discard,
			s.address("a.example.com", "/")); got != want || err != nil {
			t.Errorf("%s is taken as %q: %v", want, got, err)
		}
	}
}

func TestLargePicturesAreRefused(t *testing.T) {
	const most = 100 << 10
	for about, tt := range map[string]struct {
		size    int
		chunked bool
		want    error
	}{
		"as large as may be":        {most, false, nil},
		"announced":                 {most + 1, false, ErrTooLarge},
		"chunked, as large":         {most, true, nil},
		"chunked, a byte too large": {most + 1, true, ErrTooLarge},
	} {
		s := newStore(t, func(w http.ResponseWriter, r *http.Request) {
			if tt.chunked {
				_ = http.NewResponseController(w).Flush()
			} else {
				w.Header().Set("Content-Length", itoa(tt.size))
			}
			serve(drawing(tt.size))(w, r)
		})
		f := NewFetcher(s.config("a.example.com"))
		f.bounds.longest, f.bounds.largest = time.Minute, most
		var got bytes.Buffer
		_, err := f.Copy(t.Context(), &got, s.address("a.example.com", "/"))
		if !errors.Is(err, tt.want) || got.Len() > most || err == nil && got.Len() != tt.size || !tt.chunked && err != nil && got.Len() > 0 {
			t.Errorf("%s: %v, %d bytes", about, err, got.Len())
		}
	}
}

func TestFailuresAreTold(t *testing.T) {
	stop := make(chan struct{})
	defer close(stop)
	for about, tt := range map[string]struct {
		handler http.HandlerFunc
		fits    func(error) bool
	}{
		"no success": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "", http.StatusForbidden) }, func(err error) bool {
			return errors.Is(err, ErrStatus) && strings.Contains(err.Error(), "403")
		}},
		"a part": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusPartialContent)
			serve(drawing(0))(w, r)
		}, func(err error) bool { return errors.Is(err, ErrStatus) }},
		"cut": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "1000")
			serve(drawing(500))(w, r)
		}, func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }},
		"cut between chunks": {func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).Flush()
			serve(drawing(500))(w, r)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }},
		"silent": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, func(err error) bool {
			return errors.Is(err, context.DeadlineExceeded)
		}},
		"silent in the middle": {func(w http.ResponseWriter, r *http.Request) {
			serve(drawing(500))(w, r)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }},
	} {
		s := newStore(t, tt.handler)
		f := NewFetcher(s.config("a.example.com"))
		if strings.HasPrefix(about, "silent") {
			f.bounds.longest, f.bounds.largest = 300*time.Millisecond, 1<<20
		}
		if _, err := f.Copy(t.Context(), io.Discard, s.address("a.example.com", signed)); !tt.fits(err) ||
			strings.Contains(err.Error(), "top-secret") {
			t.Errorf("%s: %v", about, err)
		}
	}
}

func TestCertificatesAreVerified(t *testing.T) {
	s := newStore(t, serve(drawing(0)))
	config := s.config("a.example.com", "other.example")
	if _, err := NewFetcher(config).Copy(t.Context(), io.Discard, s.address("other.example", "/")); err == nil {
		t.Error("a certificate of another name is taken")
	}
	config.Tunnel = nil
	if _, err := NewFetcher(config).Copy(t.Context(), io.Discard, s.address("a.example.com", "/")); err == nil || s.asked.Load() > 0 {
		t.Errorf("an unknown authority is taken: %v", err)
	}
}

// TestInClearTextFromThisMachineAlone, and only where the operator opens its network.
func TestInClearTextFromThisMachineAlone(t *testing.T) {
	server := httptest.NewServer(serve(drawing(0)))
	defer server.Close()
	hosts := []Host{Host(server.Listener.Addr().String())}
	open := NewFetcher(FetchConfig{Hosts: hosts, Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	if contentType, err := open.Copy(t.Context(), io.Discard, server.URL); err != nil || contentType != "image/png" {
		t.Errorf("%q, %v", contentType, err)
	}
	if _, err := NewFetcher(FetchConfig{Hosts: hosts}).Copy(t.Context(), io.Discard, server.URL); !errors.Is(err, ssrf.ErrProhibitedIP) {
		t.Errorf("without the network: %v", err)
	}
}

// TestEightAtATime: the others wait, and a client that leaves waits no longer.
func TestEightAtATime(t *testing.T) {
	var running, most atomic.Int32
	full, open := make(chan struct{}), make(chan struct{})
	fill := sync.OnceFunc(func() { close(full) })
	s := newStore(t, func(w http.ResponseWriter, r *http.Request) {
		now := running.Add(1)
		for before := most.Load(); now > before && !most.CompareAndSwap(before, now); before = most.Load() {
		}
		if now == 8 {
			fill() // the later ones may be eight at once, too
		}
		<-open
		running.Add(-1)
		serve(drawing(0))(w, r)
	})
	f := NewFetcher(s.config("a.example.com"))
	var all sync.WaitGroup
	get := func() {
		if _, err := f.Copy(t.Context(), io.Discard, s.address("a.example.com", "/")); err != nil {
			t.Error(err)
		}
	}
	for range 8 {
		all.Go(get)
	}
	<-full
	leaving, leave := context.WithCancel(t.Context())
	all.Go(func() {
		if _, err := f.Copy(leaving, io.Discard, s.address("a.example.com", "/")); !errors.Is(err, context.Canceled) {
			t.Errorf("one that leaves gets %v", err)
		}
	})
	leave()
	for range 4 {
		all.Go(get)
	}
	time.AfterFunc(50*time.Millisecond, func() { close(open) }) // time for a ninth to arrive, if one could
	all.Wait()
	if most.Load() != 8 || s.asked.Load() != 12 {
		t.Errorf("%d at a time, %d in all", most.Load(), s.asked.Load())
	}
}

// stalling is a reader that does not read until it is released.
type stalling struct {
	stalled *sync.WaitGroup // is done at the first write
	once    sync.Once
	release chan struct{}
}

func (s *stalling) Write(p []byte) (int, error) {
	s.once.Do(s.stalled.Done)
	<-s.release
	return len(p), nil
}

// TestSlowReadersHoldNoPlace: eight slow readers do not hold up a ninth, and get their pictures once they read.
func TestSlowReadersHoldNoPlace(t *testing.T) {
	s := newStore(t, serve(drawing(300<<10)))
	f := NewFetcher(s.config("a.example.com"))
	f.bounds.inside, f.bounds.moment = 9, 10*time.Millisecond
	var all, stalled sync.WaitGroup
	release := make(chan struct{})
	stalled.Add(8)
	for range 8 {
		all.Go(func() {
			if _, err := f.Copy(t.Context(), &stalling{stalled: &stalled, release: release}, s.address("a.example.com", "/")); err != nil {
				t.Error(err)
			}
		})
	}
	stalled.Wait()
	if _, err := f.Copy(t.Context(), io.Discard, s.address("a.example.com", "/")); err != nil {
		t.Error(err)
	}
	close(release)
	all.Wait()
}

// TestTooManyAreRefused: readers that do not read cannot pile up, and leave room once they have left.
func TestTooManyAreRefused(t *testing.T) {
	s := newStore(t, serve(drawing(0)))
	f := NewFetcher(s.config("a.example.com"))
	f.bounds.inside, f.bounds.moment = 1, 10*time.Millisecond
	var all, stalled sync.WaitGroup
	release := make(chan struct{})
	stalled.Add(1)
	get := func(to io.Writer) error {
		_, err := f.Copy(t.Context(), to, s.address("a.example.com", "/"))
		return err
	}
	all.Go(func() {
		if err := get(&stalling{stalled: &stalled, release: release}); err != nil {
			t.Error(err)
		}
	})
	stalled.Wait()
	if err := get(io.Discard); !errors.Is(err, ErrBusy) {
		t.Errorf("one too many gets %v", err)
	}
	close(release)
	all.Wait()
	if err := get(io.Discard); err != nil {
		t.Errorf("after the others: %v", err)
	}
}
