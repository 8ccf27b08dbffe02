package pages_test

import (
	"net/http/httptest"
	"testing"

	"sluice/cmd/sluice/browsertest"
)

// TestAPhoneShowsWhatCanBeDone: no button lies beyond the side of a narrow window, also not in a table that can be scrolled.
func TestAPhoneShowsWhatCanBeDone(t *testing.T) {
	server := httptest.NewServer(scenes(t, day(12)))
	t.Cleanup(server.Close)
	ctx := browsertest.New(t)
	looks[2].show(ctx, t)
	for _, path := range []string{"/scene/sessions", "/scene/login", "/scene/minted", "/teams/search", "/teams/search/edit", "/audit", "/money"} {
		browsertest.Open(ctx, t, server.URL+path)
		if got := browsertest.Evaluate[string](ctx, t, `[...document.querySelectorAll("button, .button, summary")].filter(e => e.checkVisibility() && e.getBoundingClientRect().right > innerWidth).map(e => e.textContent.trim().slice(0, 40)).join()`); got != "" {
			t.Errorf("%s: beyond the side are %s", path, got)
		}
	}
	browsertest.Open(ctx, t, "about:blank")
}
