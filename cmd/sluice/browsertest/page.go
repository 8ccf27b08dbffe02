package browsertest

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// Open loads a page in the tab of ctx.
func Open(ctx context.Context, t testing.TB, address string) {
	t.Helper()
	if err := chromedp.Do(ctx, chromedp.Navigate(address)); err != nil {
		t.Fatalf("%s does not open: %v", address, err)
	}
}

// Resize sets the width of ctx's window and the preferred color scheme: light or dark.
func Resize(ctx context.Context, t testing.TB, width int64, scheme string) {
	t.Helper()
	const height = 900
	prefer := func(ctx context.Context, of *chromedp.Target) error {
		_, err := cdp.Call(ctx, of, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	}
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(width, height), chromedp.Func(prefer)); err != nil {
		t.Fatal(err)
	}
}

// Evaluate runs a script in the page of ctx and returns its result. It awaits a promise.
func Evaluate[T any](ctx context.Context, t testing.TB, script string) T {
	t.Helper()
	result, err := chromedp.Run(ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return result
}

// Await waits until a condition holds in the page of ctx. The page may change meanwhile.
func Await(ctx context.Context, t testing.TB, condition string) {
	t.Helper()
	var holds bool
	var err error
	for begun := time.Now(); !holds; time.Sleep(20 * time.Millisecond) {
		if time.Since(begun) > time.Minute {
			t.Fatalf("it never holds, %v: %s", err, condition)
		}
		holds, err = chromedp.Run(ctx, chromedp.Evaluate[bool]("Boolean("+condition+")")) // an error: the page is being left
	}
}

// Screenshot writes the whole page of ctx as name.png to the directory in SCREENSHOTS. If that is not set, it does nothing.
func Screenshot(ctx context.Context, t testing.TB, name string) {
	t.Helper()
	yes := true // optimizing for size would take most of a test's time
	keep(ctx, t, name, page.CaptureScreenshotParams{
		Format: page.CaptureScreenshotFormatPng, CaptureBeyondViewport: &yes,
		OptimizeForSpeed: &yes,
	})
}

// Picture writes the visible part of ctx's page as name.webp, a small file, to the directory in SCREENSHOTS. If that is not set, it does
// nothing.
func Picture(ctx context.Context, t testing.TB, name string) {
	t.Helper()
	quality := int64(75)
	keep(ctx, t, name, page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatWebp, Quality: &quality})
}

// keep writes a picture to the directory in SCREENSHOTS.
func keep(ctx context.Context, t testing.TB, name string, how page.CaptureScreenshotParams) {
	t.Helper()
	directory := os.Getenv("SCREENSHOTS")
	if directory == "" {
		return
	}
	var drawn []byte
	err := chromedp.Do(ctx, chromedp.Func(func(ctx context.Context, of *chromedp.Target) error {
		shot, err := cdp.Call(ctx, of, page.CaptureScreenshot, how)
		drawn = shot.Data
		return err
	}))
	if err == nil {
		err = os.MkdirAll(directory, 0o750) //nolint:gosec // the developer who runs the tests names it
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(directory, name+"."+string(how.Format)), drawn, 0o600) //nolint:gosec // the same
	}
	if err != nil {
		t.Fatalf("the screenshot %s: %v", name, err)
	}
}
