package browsertest

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	code := Main(m)
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// newPage serves a page.
func newPage(t *testing.T) (address string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!doctype html><title>A mill</title><p>A mill in winter"))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestPagesOpenAndAreDrawn(t *testing.T) {
	ctx := New(t)
	directory := filepath.Join(t.TempDir(), "screenshots")
	t.Setenv("SCREENSHOTS", directory)
	Open(ctx, t, newPage(t))
	if title := Evaluate[string](ctx, t, `Promise.resolve(document.title)`); title != "A mill" {
		t.Errorf("the title is %q", title)
	}
	Screenshot(ctx, t, "mill")
	drawn, err := os.ReadFile(filepath.Join(directory, "mill.png"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := png.Decode(bytes.NewReader(drawn)); err != nil {
		t.Error(err)
	}
}

// Tabs of the browser that tests share have cookies of their own, and windows that are all in front.
func TestTabsAreApart(t *testing.T) {
	address := newPage(t)
	one, other := Tab(t), Tab(t)
	for _, tab := range []context.Context{one, other} {
		Open(tab, t, address)
	}
	Evaluate[string](one, t, `document.cookie = "who=one"`)
	if got := Evaluate[string](other, t, `document.cookie + document.visibilityState`); got != "visible" {
		t.Errorf("the other tab has %q", got)
	}
	if got := Evaluate[string](one, t, `document.cookie + document.visibilityState`); got != "who=onevisible" {
		t.Errorf("the tab has %q", got)
	}
}

// TestALongTemporaryDirectory: the paths of sockets are short.
func TestALongTemporaryDirectory(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("mill", 25))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", long)
	Open(New(t), t, newPage(t))
}
