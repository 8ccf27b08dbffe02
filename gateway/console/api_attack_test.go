package console

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"sluice/gateway/console/access"
)

// Without a person every path is 401, whether it exists or not.
func TestWithoutAPersonThereIsNothing(t *testing.T) {
	w := newWorld(t)
	for _, r := range routes {
		a := w.expect(stranger, r.method+" "+strings.NewReplacer("{", "", "}", "").Replace(r.path), "", http.StatusUnauthorized, "login")
		if a.header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%s %s: %v", r.method, r.path, a.header)
		}
	}
	w.expect(stranger, "GET /nothing", "", http.StatusUnauthorized, "login")
}

// A foreign team's id, in every path and with every body, gets the same answer as an unknown one: byte for byte.
func TestForeignTeamsAreUnknown(t *testing.T) {
	w := newWorld(t)
	w.expect(operator, "POST /teams", `{"id":"mail"}`, http.StatusCreated, "")
	key := w.mint(operator, "mail", `{}`)
	etag := w.ask(operator, "GET /teams/mail", "").header.Get("ETag")
	bodies := []string{"", `{}`, `{"id":"maps"}`, `{"unit":"tokens","delta":1,"reason":"x"}`, `{"x":1`, strings.Repeat("x", mostJSON+1)}
	count := 0
	for _, r := range routes {
		if !strings.Contains(r.path, "{id}") {
			continue
		}
		for _, body := range bodies {
			var answers []string
			for _, id := range []string{"mail", "ads", "unknown"} {
				path := strings.NewReplacer("{id}", id, "{key}", key.ID, "{raise}", key.ID, "{task}", "task-1").Replace(r.path)
				a := w.expect(member, r.method+" "+path, body, http.StatusNotFound, "missing id", "If-Match: "+etag)
				answers = append(answers, fmt.Sprint(a.status, a.header, a.body))
				count++
			}
			if answers[0] != answers[2] || answers[1] != answers[2] {
				t.Errorf("%s %s with %.20s: a foreign team is told from an unknown one:\n%s", r.method, r.path, body, strings.Join(answers, "\n"))
			}
		}
	}
	if count != 14*3*len(bodies) {
		t.Errorf("%d requests", count)
	}
	a, b := w.ask(member, "GET /requests?team=mail", ""), w.ask(member, "GET /requests?team=unknown", "")
	if a.status != http.StatusNotFound || a.body != b.body {
		t.Errorf("%v, %v", a, b)
	}
	w.expect(member, "GET /audit?team=mail", "", http.StatusForbidden, "forbidden")
	w.expect(member, "GET /audit?team=maps", "", http.StatusForbidden, "forbidden")
}

// What a viewer and a member may not change.
func TestRightsOverHTTP(t *testing.T) {
	w := newWorld(t)
	w.expect(operator, "POST /teams", `{"id":"maps"}`, http.StatusCreated, "")
	for _, who := range []access.Actor{viewer, member} {
		w.expect(who, "POST /teams", `{"id":"new"}`, http.StatusForbidden, "forbidden")
		w.expect(who, "PUT /teams/maps", `{}`, http.StatusForbidden, "forbidden", "If-Match: *")
		w.expect(who, "DELETE /teams/maps", "", http.StatusForbidden, "forbidden")
		w.expect(who, "POST /teams/maps/keys", `{}`, http.StatusForbidden, "forbidden")
		w.expect(who, "DELETE /teams/maps/keys/aaaaaaaaaaaa", "", http.StatusForbidden, "forbidden")
		w.expect(who, "PATCH /teams/maps/keys/aaaaaaaaaaaa", `{}`, http.StatusForbidden, "forbidden")
		w.expect(who, "POST /teams/maps/raises", `{"unit":"images","period":"day","amount":1,"reason":"x"}`, http.StatusForbidden, "forbidden")
		w.expect(who, "DELETE /teams/maps/raises/aaaaaaaaaaaa", "", http.StatusForbidden, "forbidden")
		w.expect(who, "POST /teams/maps/adjust", `{"unit":"tokens","delta":1,"reason":"x"}`, http.StatusForbidden, "forbidden")
	}
	for _, line := range []string{"PUT /teams/ads", "DELETE /teams/ads", "POST /teams/ads/keys", "DELETE /teams/ads/keys/aaaaaaaaaaaa"} {
		body := ""
		if !strings.HasPrefix(line, "DELETE") {
			body = "{}"
		}
		w.expect(operator, line, body, http.StatusConflict, "conflict owner", "If-Match: *")
	}
	w.expect(operator, "POST /teams", `{"id":"ads"}`, http.StatusConflict, "conflict owner")
	w.expect(operator, "POST /teams", `{"id":"new","owner":"file"}`, http.StatusConflict, "conflict owner")
}

// Ids, keys and tasks that try to write into headers, HTML or paths get a plain 404 that echoes nothing.
func TestInjectionThroughPaths(t *testing.T) {
	w := newWorld(t)
	for _, evil := range []string{"<script>alert(1)</script>", "a\r\nSet-Cookie: x=1", "../../ads", "..", "ads\x00", "\xff\xfe", "ADS",
		"ads ", "maps%2Fkeys", canary, "slk_aaaaaaaaaaaa_" + strings.Repeat("a", 43), strings.Repeat("a", 5000)} {
		escaped := url.PathEscape(evil)
		for _, r := range routes {
			if !strings.Contains(r.path, "{id}") {
				continue
			}
			path := strings.NewReplacer("{id}", escaped, "{key}", escaped, "{raise}", escaped, "{task}", escaped).Replace(r.path)
			a := w.expect(operator, r.method+" "+path, `{}`, http.StatusNotFound, "missing id", "If-Match: *")
			if strings.Contains(fmt.Sprint(a.header, a.body), evil) || len(a.header["Set-Cookie"]) > 0 {
				t.Errorf("%s %q comes back: %v", r.method, evil, a)
			}
		}
		for _, line := range []string{"DELETE /teams/new/keys/" + escaped, "DELETE /teams/search/raises/" + escaped,
			"POST /teams/new/tasks/" + escaped + "/cancel"} {
			if a := w.ask(operator, line, ""); a.status != http.StatusNotFound || strings.Contains(a.body, evil) {
				t.Errorf("%s: %v", line, a)
			}
		}
	}
	for _, path := range []string{"", "/", "/teams/", "/teams//keys", "/teams/ads/", "//teams", "/teams/../teams", "/TEAMS",
		"/teams/ads/keys/x/y"} {
		w.expect(operator, "GET "+path, "", http.StatusNotFound, "path")
	}
}

// Bodies that are not one strict JSON object, or too large, change nothing and are not repeated.
func TestBodiesAreStrict(t *testing.T) {
	w := newWorld(t)
	const key = "slk_aaaaaaaaaaaa_ccccccccccccccccccccccccccccccccccccccccccc"
	w.secrets = append(w.secrets, key)
	for body, want := range map[string]string{
		`{"id":"maps","id":"mail"}`:                                         "invalid body",
		`{"id":"maps","concurrent":1,"concurrent":2}`:                       "invalid body",
		`{"id":"maps","rates":{"tokens":{"per":"1m","limit":1,"limit":2}}}`: "invalid body",
		`{"id":"maps","` + key + `":1,"` + key + `":1}`:                     "invalid body",
		`[]`:                     "invalid body",
		`null`:                   "invalid body",
		`{"id":"maps"}{}`:        "invalid body",
		`{"id":"maps",}`:         "invalid body",
		"{\"id\":\"ma\xffps\"}":  "invalid body",
		`{"id":"\ud800"}`:        "invalid body",
		`{"id":"maps","Id":"x"}`: "invalid Id",
		`{"id":5}`:               "invalid id",
		`{"id":{"a":1}}`:         "invalid id",
		`{"id":"` + key + `"}`:   "invalid",
		`{"id":"a b"}`:           "invalid id",
		`{}`:                     "invalid",
		`{"id":"maps","keys":[{"id":"aaaaaaaaaaaa","sha256":"` + canary + `"}]}`:                          "invalid keys",
		`{"id":"maps","keys":[{"id":"aaaaaaaaaaaa","owner":"directory"}]}`:                                "invalid keys",
		`{"id":"maps","owner":"me"}`:                                                                      "conflict owner",
		`{"id":"maps","description":"` + key + `"}`:                                                       "invalid",
		`{"id":"maps","description":"slk\u005faaaaaaaaaaaa_ccccccccccccccccccccccccccccccccccccccccccc"}`: "invalid",
		`{"id":"maps","disabled":"yes"}`:                                                                  "invalid disabled",
		`{"id":"maps","version":3}`:                                                                       "invalid version",
		`{"id":"maps","description":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`:     "invalid body",
	} {
		a := w.ask(operator, "POST /teams", body)
		var p Document
		a.into(t, &p)
		if got := string(p.Code) + " " + p.Field; !strings.HasPrefix(got, want) ||
			a.status != http.StatusBadRequest && a.status != http.StatusConflict {
			t.Errorf("%.80s: %d %s, want %s", body, a.status, got, want)
		}
	}
	w.expect(operator, "POST /teams", `{"id":"maps","description":"`+strings.Repeat("x", mostJSON)+`"}`, http.StatusRequestEntityTooLarge,
		"large")
	for _, media := range []string{"", "text/plain", "application/x-www-form-urlencoded", "application/json, text/plain",
		"multipart/form-data"} {
		w.expect(operator, "POST /teams", `{"id":"maps"}`, http.StatusUnsupportedMediaType, "media", "Content-Type: "+media)
	}
	w.expect(operator, "POST /teams?reason="+key, `{"id":"maps"}`, http.StatusBadRequest, "invalid reason")
	w.expect(operator, "POST /teams?reason="+strings.Repeat("x", 201), `{"id":"maps"}`, http.StatusBadRequest, "invalid reason")
	w.expect(operator, "GET /teams/maps", "", http.StatusNotFound, "missing id")
	w.expect(operator, "POST /teams", `{"id":"maps"}`, http.StatusCreated, "", "Content-Type: application/json; charset=utf-8")
}

func TestMethods(t *testing.T) {
	w := newWorld(t)
	for path, allow := range map[string]string{
		"/teams": "GET, POST, HEAD", "/teams/ads": "GET, PUT, DELETE, HEAD", "/me": "GET, HEAD", "/teams/ads/keys/x": "PATCH, DELETE",
		"/teams/ads/adjust": "POST", "/teams/ads/raises": "GET, POST, HEAD", "/teams/ads/raises/x": "DELETE",
	} {
		for _, method := range []string{"PATCH", "OPTIONS", "TRACE", "CONNECT"} {
			if strings.Contains(allow, method) {
				continue
			}
			if a := w.expect(operator, method+" "+path, "", http.StatusMethodNotAllowed, "method"); a.header.Get("Allow") != allow {
				t.Errorf("%s: Allow %q, want %q", path, a.header.Get("Allow"), allow)
			}
		}
	}
}
