package browsertest

import (
	"bytes"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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

// TestALongTemporaryDirectory: the paths of sockets are short.
func TestALongTemporaryDirectory(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("mill", 25))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", long)
	Open(New(t), t, newPage(t))
}
