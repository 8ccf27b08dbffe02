package pages_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"sluice/gateway/console/access"
	"sluice/gateway/console/figures"
	"sluice/gateway/console/pages"
	"sluice/policy"
	"sluice/telemetry/recent"
)

// broken is a gallery whose requests broke rules in the last 24 hours, and in the last hour if there were any.
type broken struct {
	galleryFigures
	hour, unread bool
}

func (b broken) Rules(_ context.Context, _ access.Person, day bool) (figures.Rules, error) {
	all := figures.Rules{Since: noon.Add(-time.Hour)}
	if b.unread {
		return all, errors.New("away")
	}
	if ids := policy.RuleIDs(); day || b.hour {
		all.Broken = map[string]recent.RuleCount{ids[3]: {Warned: 1200}, ids[5]: {Warned: 1, Refused: 40}}
		all.Refused = 38
	}
	return all, nil
}

func TestRulesThatWereBroken(t *testing.T) {
	ids := policy.RuleIDs()
	for _, tt := range []struct {
		about, path  string
		source       broken
		first, says  string
		says2, links string
	}{
		{"a day", "/rules?span=day", broken{galleryFigures: galleryFigures{empty()}}, ids[5],
			"broke 2 rules in the last 24 hours: 1,201 warnings, 40 refusals of 38 requests.", ids[3],
			"/requests?from=2026-11-22T11:34:56Z&refusal=inspect/rules"},
		{"a quiet hour", "/rules", broken{galleryFigures: galleryFigures{empty()}}, ids[0], "No request broke a rule in the last hour.", "",
			"/rules?span=day"},
		{"an hour, and a word", "/rules?find=" + ids[3], broken{galleryFigures: galleryFigures{empty()}, hour: true}, ids[3],
			"broke 2 rules in the last hour", "1,200", "/rules?find=" + ids[3] + "&span=day"},
		{"counts that cannot be read", "/rules", broken{galleryFigures: galleryFigures{empty()}, unread: true}, ids[0],
			"cannot be read at the moment", "", "/audit"},
	} {
		deps := empty().deps()
		deps.Figures = tt.source
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, tt.path, http.NoBody)
		pages.New(deps).ServeHTTP(w, r.WithContext(access.With(r.Context(), operator)))
		root := parse(t, w)
		found := false
		for _, a := range all(root, "a") {
			to, err := url.QueryUnescape(attribute(a, "href"))
			found = found || err == nil && to == tt.links
		}
		body, text := all(root, "tbody")[0], textOf(all(root, "main")[0])
		if first := textOf(all(body, "th")[0]); w.Code != http.StatusOK || first != tt.first || !strings.Contains(text, tt.says) ||
			!strings.Contains(text, tt.says2) || !found {
			t.Errorf("%s: %d, the first is %s, a link to %s: %v\n%.600s", tt.about, w.Code, first, tt.links, found, text)
		}
	}
}
