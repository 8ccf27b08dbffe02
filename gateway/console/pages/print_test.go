package pages_test

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"sluice/cmd/sluice/browsertest"
)

// TestPaperHasThePageAlone: no navigation and no forms, and the page has all of the paper's width, upright and across.
func TestPaperHasThePageAlone(t *testing.T) {
	server := httptest.NewServer(day(12).handler(operator))
	t.Cleanup(server.Close)
	ctx := browsertest.New(t)
	paper := func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
		return err
	}
	for _, width := range []int64{794, 1123} { // A4 at 96 dots an inch
		if err := chromedp.Do(ctx, chromedp.EmulateViewport(width, 1000), chromedp.Func(paper)); err != nil {
			t.Fatal(err)
		}
		for name, path := range map[string]string{"money": "/money", "team": "/teams/search"} {
			browsertest.Open(ctx, t, server.URL+path)
			browsertest.Screenshot(ctx, t, "paper-"+name)
			if got := browsertest.Evaluate[int](ctx, t, `Math.round(document.querySelector("main").getBoundingClientRect().width)`); int64(got) < width-40 {
				t.Errorf("%s: the page is %d wide on paper of %d", path, got, width)
			}
			if got := browsertest.Evaluate[string](ctx, t, `[...document.querySelectorAll(".side, form, button, .button, .skip, summary, .acts")].filter(e => e.checkVisibility()).map(e => e.outerHTML.slice(0, 100)).join()`); got != "" {
				t.Errorf("%s: paper has %s", path, got)
			}
		}
	}
}
