package console

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/gateway/console/access"
	"sluice/gateway/console/figures"
	"sluice/policy/account"
	"sluice/policy/limit"
	"sluice/telemetry/recent"
)

func TestTeamsOverHTTP(t *testing.T) {
	w := newWorld(t)
	const maps = `{"id":"maps","description":"Karten <b>&</b> 地图 \u0026","members":["cartographers"],"rates":{"tokens":{"per":"1m",` +
		`"limit":9},"images":"none"},` +
		`"quotas":{"spend":{"day":1.5,"month":"none"}},"tag_key":"project","tag_quotas":{"images":{"month":7},"spend":{"day":0.5,` +
		`"month":"none"}},"concurrent":3,"key_days":"none","models":["llm-*"],"endpoints":["text"],"rules":{"text.top_p":"warn"}}`
	made := w.expect(operator, "POST /teams?reason=a%20test", maps, http.StatusCreated, "")
	if got := made.header.Get("Location"); got != Prefix+"/teams/maps" {
		t.Errorf("Location %s", got)
	}
	read := w.expect(viewer, "GET /teams/maps", "", http.StatusOK, "")
	if read.body != made.body || read.header.Get("ETag") != made.header.Get("ETag") || !strings.HasPrefix(read.header.Get("ETag"), `"`) {
		t.Errorf("made %v\nread %v", made, read)
	}
	if head := w.ask(viewer, "HEAD /teams/maps", ""); head.header.Get("ETag") != made.header.Get("ETag") {
		t.Errorf("HEAD: %v", head)
	}

	// PUT takes what GET gave, keys and all.
	w.mint(operator, "maps", `{}`)
	read = w.ask(operator, "GET /teams/maps", "")
	put := w.expect(operator, "PUT /teams/maps", read.body, http.StatusOK, "", "If-Match: "+read.header.Get("ETag"))
	if put.body != read.body {
		t.Errorf("PUT changed %s\ninto %s", read.body, put.body)
	}
	w.expect(operator, "PUT /teams/maps", strings.Replace(read.body, `"concurrent":3`, `"concurrent":4`, 1), http.StatusOK, "",
		"If-Match: "+put.header.Get("ETag"))
	w.expect(operator, "PUT /teams/maps", read.body, http.StatusPreconditionFailed, "lost If-Match", "If-Match: "+put.header.Get("ETag"))
	w.expect(operator, "DELETE /teams/maps", "", http.StatusPreconditionFailed, "lost If-Match", "If-Match: "+put.header.Get("ETag"))
	w.expect(operator, "PUT /teams/maps", read.body, http.StatusPreconditionRequired, "if-match")
	w.expect(operator, "PUT /teams/maps", `{"id":"mail"}`, http.StatusBadRequest, "invalid id", "If-Match: *")
	w.expect(operator, "PUT /teams/maps", `{"tag_quotas":{"spend":{"day":5}}}`, http.StatusBadRequest, "invalid tag_quotas", "If-Match: *")

	for range 2 {
		gone := w.expect(operator, "DELETE /teams/maps", "", http.StatusAccepted, "")
		if read := w.expect(operator, "GET /teams/maps", "", http.StatusOK, ""); read.body != gone.body ||
			!strings.Contains(read.body, `"disabled":true`) || !strings.Contains(read.body, `"removing":true`) {
			t.Errorf("%s\n%s", gone.body, read.body)
		}
	}
}

func TestListsInPages(t *testing.T) {
	w := newWorld(t)
	for _, id := range []string{"a", "b", "c"} {
		w.expect(operator, "POST /teams", `{"id":"`+id+`"}`, http.StatusCreated, "")
	}
	pages := func(line string, pick func(map[string]any) any) (got []any) {
		for cursor, next := "", new(string); next != nil; {
			var l List[map[string]any]
			w.expect(operator, "GET "+line+"?limit=2"+cursor, "", http.StatusOK, "").into(t, &l)
			for _, item := range l.Data {
				got = append(got, pick(item))
			}
			if next = l.Next; next != nil {
				cursor = "&cursor=" + *next
			}
		}
		return got
	}
	if diff := cmp.Diff([]any{"a", "ads", "b", "c", "search"}, pages("/teams", func(m map[string]any) any { return m["id"] })); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]any{"c", "b", "a"}, pages("/audit", func(m map[string]any) any { return m["team"] })); diff != "" {
		t.Error(diff)
	}
	var l List[map[string]any]
	w.expect(viewer, "GET /audit?team=b", "", http.StatusOK, "").into(t, &l)
	if len(l.Data) != 1 || l.Data[0]["address"] != "192.0.2.1" || l.Data[0]["who"] != "token" {
		t.Errorf("%v", l)
	}
	for _, line := range []string{"/teams", "/audit"} {
		w.expect(operator, "GET "+line+"?cursor=%00", "", http.StatusBadRequest, "invalid cursor")
		for _, limit := range []string{"0", "-1", "1001", "x", "1e2"} {
			w.expect(operator, "GET "+line+"?limit="+limit, "", http.StatusBadRequest, "invalid limit")
		}
		w.expect(operator, "GET "+line+"?limit=1&limit=2", "", http.StatusBadRequest, "invalid query")
		w.expect(operator, "GET "+line+"?colour=red", "", http.StatusBadRequest, "invalid query")
	}
	w.expect(operator, "GET /audit?cursor=LTE", "", http.StatusBadRequest, "invalid cursor") // -1
}

func TestKeysOverHTTP(t *testing.T) {
	w := newWorld(t)
	w.expect(operator, "POST /teams", `{"id":"maps","self_service":true}`, http.StatusCreated, "")
	first := w.mint(member, "maps", `{"note":"the indexer","expires":"2026-12-01T00:00:00Z"}`)
	second := w.mint(member, "maps", `{"replaces":"`+first.ID+`","old_ends":"2026-11-23T00:00:00Z"}`)
	var l List[map[string]any]
	w.expect(member, "GET /teams/maps/keys", "", http.StatusOK, "").into(t, &l)
	if len(l.Data) != 2 || l.Data[0]["expires"] != "2026-11-23T00:00:00Z" || l.Data[1]["id"] != second.ID ||
		l.Data[1]["note"] != "the indexer" || l.Next != nil {
		t.Errorf("%+v", l)
	}
	path := " /teams/maps/keys/" + second.ID
	for range 2 { // the second time changes nothing
		off := w.expect(member, "PATCH"+path, `{"disabled":true}`, http.StatusOK, "")
		if team := w.expect(member, "GET /teams/maps", "", http.StatusOK, ""); !strings.Contains(off.body, `"disabled":true`) ||
			off.header.Get("ETag") != team.header.Get("ETag") {
			t.Errorf("disabled: %v, of %v", off, team)
		}
	}
	if on := w.expect(member, "PATCH"+path, `{"disabled":null,"quotas":{"images":null}}`, http.StatusOK, ""); strings.Contains(on.body,
		"disabled") || strings.Contains(on.body, "null}") {
		t.Errorf("null removes: %s", on.body)
	}
	w.expect(member, "PATCH"+path, `{"disabled":true}`, http.StatusOK, "")
	stale := w.expect(operator, "PATCH"+path+"?reason=it%20leaked", `{}`, http.StatusOK, "").header.Get("ETag")
	on := w.expect(operator, "PATCH"+path, `{"disabled":false}`, http.StatusOK, "", "If-Match: "+stale)
	if strings.Contains(on.body, "disabled") {
		t.Errorf("enabled: %s", on.body)
	}
	w.expect(operator, "PATCH"+path, `{"disabled":true}`, http.StatusPreconditionFailed, "lost If-Match", "If-Match: "+stale)
	w.expect(viewer, "PATCH"+path, `{"disabled":true}`, http.StatusForbidden, "forbidden")
	w.expect(member, "PATCH /teams/ads/keys/"+second.ID, `{"disabled":true}`, http.StatusNotFound, "missing id")
	for body, want := range map[string]string{`{"disabled":"true"}`: "invalid disabled", `{"id":"x"}`: "invalid id", `[]`: "invalid body"} {
		w.expect(member, "PATCH"+path, body, http.StatusBadRequest, want)
	}
	w.expect(member, "DELETE /teams/maps/keys/"+first.ID, "", http.StatusNoContent, "")
	w.expect(member, "PATCH /teams/maps/keys/"+first.ID, `{"disabled":true}`, http.StatusNotFound, "missing key")
	w.expect(member, "DELETE /teams/maps/keys/"+first.ID, "", http.StatusNotFound, "missing key")
	for body, want := range map[string]string{
		`{"expires":"2026-11-22T12:00:00Z"}`:                                "invalid expires",
		`{"expires":"9999-12-31T23:59:59-01:00"}`:                           "invalid expires",
		`{"expires":"tomorrow"}`:                                            "invalid body",
		`{"note":"a\nb"}`:                                                   "invalid note",
		`{"old_ends":"2027-01-01T00:00:00Z"}`:                               "invalid old_ends",
		`{"expires":"0001-01-01T00:00:00Z"}`:                                "invalid expires",
		`{"replaces":"` + first.ID + `","old_ends":"0001-01-01T00:00:00Z"}`: "invalid old_ends",
		`{"key":"slk_"}`:                                                    "invalid body",
	} {
		w.expect(member, "POST /teams/maps/keys", body, http.StatusBadRequest, want)
	}
	w.expect(member, "POST /teams/search/keys", `{}`, http.StatusConflict, "conflict owner")
	w.expect(operator, "PATCH /teams/search/keys/bbbbbbbbbbbb", `{"disabled":true}`, http.StatusConflict, "conflict owner")
}

func TestUsageOverHTTP(t *testing.T) {
	w := newWorld(t)
	for unit, delta := range map[string]string{"tokens": "120", "spend": "0.5"} {
		w.expect(operator, "POST /teams/ads/adjust", `{"unit":"`+unit+`","delta":`+delta+`,"reason":"a test"}`, http.StatusOK, "")
	}
	var u struct {
		Currency, From, To, By string
		Data                   []struct {
			Of   string
			Used map[string]json.Number
		}
	}
	for by, want := range map[string]string{"": "2026-11-22", "&by=model": limit.AdjustedModel, "&by=endpoint": "other",
		"&by=account": "main", "&by=kind": "unknown", "&by=team": "ads"} {
		path := "GET /teams/ads/usage"
		if by == "&by=team" {
			path = "GET /usage"
		}
		w.expect(viewer, path+"?from=2026-11-01"+by, "", http.StatusOK, "").into(t, &u)
		if u.From != "2026-11-01" || u.To != "2026-11-22" || u.Currency != "CNY" || len(u.Data) != 1 || u.Data[0].Of != want ||
			u.Data[0].Used["tokens"] != "120" || u.Data[0].Used["spend"] != "0.5" {
			t.Errorf("%s: %+v", by, u)
		}
	}
	for query, want := range map[string]string{
		"?from=yesterday": "invalid from", "?from=2026-11-23": "invalid from", "?from=2020-01-01": "invalid from", "?by=colour": "invalid by",
		"?by=Tag": "invalid by", "?by=team": "invalid by",
	} {
		w.expect(viewer, "GET /teams/ads/usage"+query, "", http.StatusBadRequest, want)
	}
	w.expect(viewer, "GET /usage?by=colour", "", http.StatusBadRequest, "invalid by")
	for _, by := range []string{"account", "model", "day"} { // all that the caller may look at
		w.expect(viewer, "GET /usage?from=2026-11-01&by="+by, "", http.StatusOK, "").into(t, &u)
		if len(u.Data) != 1 || u.Data[0].Used["tokens"] != "120" {
			t.Errorf("all, by %s: %+v", by, u)
		}
		w.expect(member, "GET /usage?from=2026-11-01&by="+by, "", http.StatusOK, "").into(t, &u)
		if len(u.Data) != 0 {
			t.Errorf("a member of another team sees %+v", u)
		}
	}
	for body, want := range map[string]string{
		`{"unit":"tokens","delta":1}`:                       "invalid reason",
		`{"unit":"token","delta":1,"reason":"x"}`:           "invalid unit",
		`{"unit":"tokens","delta":0,"reason":"x"}`:          "invalid delta",
		`{"unit":"tokens","delta":0.5,"reason":"x"}`:        "invalid delta",
		`{"unit":"tokens","delta":1e400,"reason":"x"}`:      "invalid delta",
		`{"unit":"spend","delta":1e-10,"reason":"x"}`:       "invalid delta",
		`{"unit":"spend","delta":1e999999999,"reason":"x"}`: "invalid delta",
		`{"unit":"tokens","delta":"1 or 2","reason":"x"}`:   "invalid delta",
		`{"unit":"spend","delta":"0.5","reason":"x"}`:       "invalid delta",
		`{"unit":"spend","delta":null,"reason":"x"}`:        "invalid delta",
		`{"unit":"tokens","delta":1,"reason":"x","team":1}`: "invalid body",
	} {
		w.expect(operator, "POST /teams/ads/adjust", body, http.StatusBadRequest, want)
	}
	w.expect(operator, "POST /teams/ads/adjust", `{"unit":"tokens","delta":-121,"reason":"too much"}`, http.StatusConflict, "conflict delta")
}

// TestADayIsCorrectedOverHTTP: reports of that day and account show it.
func TestADayIsCorrectedOverHTTP(t *testing.T) {
	w := newWorld(t)
	w.Standings = func() []account.Standing { return []account.Standing{{ID: "eu"}} }
	for body, want := range map[string]string{
		`{"unit":"tokens","delta":1,"day":"yesterday","reason":"x"}`:  "invalid day",
		`{"unit":"tokens","delta":1,"day":"2026-11-23","reason":"x"}`: "invalid day", // tomorrow
		`{"unit":"tokens","delta":1,"day":"2025-10-18","reason":"x"}`: "invalid day", // the ledger has forgotten it
		`{"unit":"tokens","delta":1,"account":"EU","reason":"x"}`:     "invalid account",
		`{"unit":"tokens","delta":1,"account":"ue","reason":"x"}`:     "invalid account", // no such account
	} {
		w.expect(operator, "POST /teams/ads/adjust", body, http.StatusBadRequest, want)
	}
	var done AdjustedUse
	w.expect(operator, "POST /teams/ads/adjust", `{"unit":"tokens","delta":7,"day":"2026-11-12","account":"eu","reason":"bill"}`,
		http.StatusOK, "").into(t, &done)
	if want := (AdjustedUse{"tokens", "0", "7", "0", "7"}); done != want {
		t.Errorf("%+v, want %+v", done, want)
	}
	w.expect(operator, "POST /teams/ads/adjust", `{"unit":"tokens","delta":-1,"day":"2026-11-12","reason":"main has none"}`,
		http.StatusConflict, "conflict delta")
	for by, want := range map[string]string{"day": "2026-11-12", "account": "eu", "model": limit.AdjustedModel} {
		var u struct{ Data []struct{ Of string } }
		w.expect(viewer, "GET /teams/ads/usage?from=2026-11-01&by="+by, "", http.StatusOK, "").into(t, &u)
		if len(u.Data) != 1 || u.Data[0].Of != want {
			t.Errorf("by %s: %+v", by, u)
		}
	}
}

// TestMoneyMayHaveAnExponent, as programs write small numbers in JSON, and is exact.
func TestMoneyMayHaveAnExponent(t *testing.T) {
	w := newWorld(t)
	var done AdjustedUse
	for _, tt := range []struct{ delta, month string }{{"5E-1", "0.5"}, {"1.23e-7", "0.500000123"}, {"-1.23e-7", "0.5"}} {
		w.expect(operator, "POST /teams/ads/adjust", `{"unit":"spend","delta":`+tt.delta+`,"reason":"a test"}`, http.StatusOK, "").into(t, &done)
		if done.Month != json.Number(tt.month) {
			t.Errorf("with %s the month has %s, want %s", tt.delta, done.Month, tt.month)
		}
	}
	body := `{"id":"maps","tag_key":"user","quotas":{"spend":{"day":1.23e-7}},"tag_quotas":{"spend":{"day":1E+1}}}`
	w.expect(operator, "POST /teams", body, http.StatusCreated, "")
	if got := w.expect(operator, "GET /teams/maps", "", http.StatusOK, ""); !strings.Contains(got.body, `"day":1.23e-7`) {
		t.Errorf("the team is %s", got.body)
	}
	w.expect(operator, "POST /teams", strings.NewReplacer("maps", "tiles", "1.23e-7", "1.23e-9").Replace(body), http.StatusBadRequest,
		"invalid quotas.spend.day")
}

func TestTrafficOverHTTP(t *testing.T) {
	w := newWorld(t)
	w.expect(operator, "POST /teams", `{"id":"maps"}`, http.StatusCreated, "")
	var tasks List[map[string]any]
	w.expect(member, "GET /teams/maps/tasks?state=RUNNING&model=m&limit=5", "", http.StatusOK, "").into(t, &tasks)
	if len(tasks.Data) != 2 || tasks.Next == nil {
		t.Fatalf("%+v", tasks)
	}
	w.expect(member, "GET /teams/maps/tasks?cursor="+*tasks.Next, "", http.StatusOK, "")
	want := []figures.TaskFilter{{Team: "maps", State: "RUNNING", Model: "m", Size: 5}, {Team: "maps", After: "2", Size: 5}}
	if diff := cmp.Diff(want, w.traffic.tasks); diff != "" {
		t.Error(diff)
	}
	w.expect(member, "POST /teams/maps/tasks/task-1/cancel", "", http.StatusNoContent, "")
	w.expect(member, "POST /teams/maps/tasks/task-2/cancel", "", http.StatusNotFound, "missing task")
	w.expect(viewer, "POST /teams/maps/tasks/task-1/cancel", "", http.StatusForbidden, "forbidden")
	if !slices.Equal(w.traffic.cancelled, []string{"task-1"}) {
		t.Errorf("cancelled %q", w.traffic.cancelled)
	}

	w.expect(operator, "GET /requests?team=ads&status=429&refusal=admit/rate&model=m&from=2026-11-22T00:00:00Z&limit=7", "", http.StatusOK, "")
	w.expect(member, "GET /requests", "", http.StatusOK, "")
	for _, query := range []string{"limited=ads", "rule=text.seed", "status=4xx", "status=200", "polls=false&refusal=any"} {
		w.expect(member, "GET /requests?"+query, "", http.StatusOK, "")
	}
	w.expect(operator, "GET /requests?status=failed&key=k&tag=project=alpha&endpoint=text&rule=text.seed&to=2026-11-22T12:00:00Z&polls=true",
		"", http.StatusOK, "")
	all := []recent.Filter{
		{Teams: []string{"ads"}, Status: 429, Refusal: "admit/rate", Model: "m", From: time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC), Size: 7},
		{Size: usualPage, NoPolls: true},
		// polls are refused, too
		{Size: usualPage, Limit: "ads"}, {Size: usualPage, Rule: "text.seed"}, {Size: usualPage, Class: recent.ClassClient},
		{Size: usualPage, Status: 200, NoPolls: true}, {Size: usualPage, Refusal: "any", NoPolls: true},
		{Size: usualPage, Class: recent.ClassFailed, Key: "k", Tag: "project=alpha", Endpoint: "text", Rule: "text.seed", To: noon},
	}
	if diff := cmp.Diff(all, w.traffic.requests); diff != "" {
		t.Error(diff)
	}
	for query, want := range map[string]string{"?status=99": "invalid status", "?status=ok": "invalid status", "?from=today": "invalid from",
		"?to=1": "invalid to", "?polls=yes": "invalid polls", "?colour=x": "invalid query"} {
		w.expect(operator, "GET /requests"+query, "", http.StatusBadRequest, want)
	}
	w.traffic.err = figures.ErrQuery
	w.expect(operator, "GET /requests?cursor=eA", "", http.StatusBadRequest, "invalid cursor")
	w.traffic.err = errors.New("canary: away")
	if a := w.expect(operator, "GET /requests", "", http.StatusServiceUnavailable, "away"); strings.Contains(a.body, "canary") ||
		a.header.Get("Retry-After") == "" {
		t.Errorf("%+v", a)
	}
}

func TestMe(t *testing.T) {
	w := newWorld(t)
	for _, tt := range []struct {
		who  access.Actor
		want Me
	}{
		{operator, Me{Name: "token", Role: "operator"}},
		{viewer, Me{Name: "oidc:vera", Role: "viewer"}},
		{member, Me{Name: "oidc:mia", Role: "member", Teams: []string{"maps", "search", "gone"}}},
	} {
		var got Me
		w.expect(tt.who, "GET /me", "", http.StatusOK, "").into(t, &got)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Error(diff)
		}
	}
	w.expect(viewer, "GET /openapi.json", "", http.StatusOK, "")
}

// A key's limits are set with the key, changed member by member, kept by the key that replaces it, and shown with it.
func TestLimitsOfAKey(t *testing.T) {
	w := newWorld(t)
	w.expect(operator, "POST /teams", `{"id":"maps","self_service":true}`, http.StatusCreated, "")
	w.expect(member, "POST /teams/maps/keys", `{"rates":{"tokens":{"per":"1m"}}}`, http.StatusBadRequest, "invalid rates.tokens")
	made := w.mint(member, "maps", `{"quotas":{"images":{"day":50}},"concurrent":4}`)
	at := "/teams/maps/keys/" + made.ID
	w.expect(member, "PATCH "+at, `{"quotas":{"images":{"day":"many"}}}`, http.StatusBadRequest, "invalid quotas.images.day")
	var k Key
	w.expect(member, "PATCH "+at, `{"models":["llm-*"],"concurrent":null}`, http.StatusOK, "").into(t, &k)
	if string(k.Quotas) != `{"images":{"day":50}}` || string(k.Models) != `["llm-*"]` || k.Concurrent != nil || k.Rates != nil {
		t.Errorf("%+v", k)
	}
	next := w.mint(member, "maps", `{"replaces":"`+made.ID+`","models":["llm-max"]}`)
	var l struct{ Data []Key }
	w.expect(member, "GET /teams/maps/keys", "", http.StatusOK, "").into(t, &l)
	for _, k := range l.Data {
		if k.ID == next.ID && (string(k.Quotas) != `{"images":{"day":50}}` || string(k.Models) != `["llm-max"]`) {
			t.Errorf("the next key: %+v", k)
		}
	}
}

// TestTheAddressOfAHookIsForThoseWhoChangeIt: the address of a chat is a secret. Those who may change the team read it and can save it
// unchanged; others and the audit get a hash.
func TestTheAddressOfAHookIsForThoseWhoChangeIt(t *testing.T) {
	w := newWorld(t)
	w.create("maps", `"hooks": [{"id": "chat", "kind": "slack", "url": "https://chat.example/CANARY"}]`)
	read := w.expect(operator, "GET /teams/maps", "", http.StatusOK, "")
	if !strings.Contains(read.body, "https://chat.example/CANARY") {
		t.Errorf("%s", read.body)
	}
	w.expect(operator, "PUT /teams/maps", strings.Replace(read.body, `"id":"maps"`, `"id":"maps","description":"Maps"`, 1), http.StatusOK, "",
		"If-Match: "+read.header.Get("ETag"))
	w.expect(operator, "POST /teams", strings.NewReplacer(`"maps"`, `"gone"`, "CANARY", "CANARY2").Replace(read.body), http.StatusCreated, "")
	w.secrets = append(w.secrets, "CANARY")
	for _, who := range []access.Actor{viewer, member} {
		for _, line := range []string{"GET /teams", "GET /teams/maps", "GET /teams/gone"} {
			if a := w.expect(who, line, "", http.StatusOK, ""); !strings.Contains(a.body, `"url":"sha256:`) {
				t.Errorf("%s: %s", line, a.body)
			}
		}
	}
	blank := w.expect(viewer, "GET /teams/maps", "", http.StatusOK, "")
	w.expect(operator, "PUT /teams/maps", blank.body, http.StatusBadRequest, "invalid hooks[0].url", "If-Match: *")
	for _, e := range w.entries() {
		if strings.Contains(string(e.Text()), "CANARY") {
			t.Errorf("%s", e.Text())
		}
	}
	w.expect(viewer, "GET /audit", "", http.StatusOK, "")
}
