package pages_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"sluice/gateway/console/access"
	"sluice/gateway/console/pages"
)

// broken is a gallery whose requests broke rules in the last 24 hours, and in the last hour if there were any.
type broken struct {
	*gallery
	hour, unread bool
}

func (b broken) Rules(_ context.Context, _ access.Person, day bool) (pages.Rules, error) {
	all := pages.Rules{Table: ruleTable(), Counted: !b.unread, Since: noon.Add(-time.Hour)}
	if day || b.hour {
		all.Table[3].Warned, all.Table[5].Warned, all.Table[5].Refused, all.Refused = 1200, 1, 40, 38
	}
	return all, nil
}

func TestRulesThatWereBroken(t *testing.T) {
	ids := ruleTable()
	for _, tt := range []struct {
		about, path  string
		source       broken
		first, says  string
		says2, links string
	}{
		{"a day", "/rules?span=day", broken{gallery: empty()}, ids[5].ID, "broke 2 rules in the last 24 hours: 1,201 warnings, 40 refusals of 38 requests.", ids[3].ID, "/requests?from=2026-11-22T11:34:56Z&refusal=inspect/rules"},
		{"a quiet hour", "/rules", broken{gallery: empty()}, ids[0].ID, "No request broke a rule in the last hour.", "", "/rules?span=day"},
		{"an hour, and a word", "/rules?find=" + ids[3].ID, broken{gallery: empty(), hour: true}, ids[3].ID, "broke 2 rules in the last hour", "1,200", "/rules?find=" + ids[3].ID + "&span=day"},
		{"counts that cannot be read", "/rules", broken{gallery: empty(), unread: true}, ids[0].ID, "cannot be read at the moment", "", "/audit"},
	} {
		deps := empty().deps()
		deps.House = tt.source
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
		if first := textOf(all(body, "th")[0]); w.Code != http.StatusOK || first != tt.first || !strings.Contains(text, tt.says) || !strings.Contains(text, tt.says2) || !found {
			t.Errorf("%s: %d, the first is %s, a link to %s: %v\n%.600s", tt.about, w.Code, first, tt.links, found, text)
		}
	}
}
