package gateway_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sluice/gateway/accounts"
	"sluice/policy/teams"
)

// blank removes the parts that may differ between two answers.
func (r reading) blank() string {
	text := strings.ReplaceAll(r.body, r.header.Get("Sluice-Request-Id"), "id")
	for _, name := range []string{"Content-Type", "Content-Length", "Cache-Control", "Www-Authenticate", "Sluice-Refusal", "Connection"} {
		text += "\n" + name + ": " + strings.Join(r.header[name], "|")
	}
	return fmt.Sprint(r.status, " ", len(r.header), " ", text)
}

func TestEveryWrongKeyHasOneAnswer(t *testing.T) {
	var expired, disabled teams.MintedKey
	var accepted atomic.Int64
	h := build(t, func(p *plan) {
		p.accepted = func(context.Context) { accepted.Add(1) }
		expired, disabled = mint(t), mint(t)
		p.teams = "  - id: old\n    keys:\n      - {id: " + expired.ID + ", sha256: " + expired.SHA256 + ", expires: 2020-01-01T00:00:00Z}\n" +
			"  - id: off\n    disabled: true\n    keys:\n" + disabled.Lines()
	})
	key := h.keys["search"]
	want := h.ask("GET", tasksPath, "", "Authorization", "Bearer slk_unknown")
	want.wants(t, 401, "authenticate/key", "InvalidApiKey")
	if want.header.Get("Www-Authenticate") != `Bearer realm="sluice"` {
		t.Errorf("Www-Authenticate %q", want.header.Get("Www-Authenticate"))
	}
	for _, tt := range []struct{ name, line string }{
		{"A47 no header", ""},
		{"A47 scheme alone", "Authorization: Bearer"},
		{"A47 two blanks", "Authorization: Bearer  " + key},
		{"A47 tab", "Authorization: Bearer\t" + key},
		{"A47 list", "Authorization: Bearer " + key + ", Bearer " + key},
		{"A47 two headers", "Authorization: Bearer " + key + "\r\nAuthorization: Bearer " + key},
		{"A47 two headers, one wrong", "Authorization: Bearer x\r\nAuthorization: Bearer " + key},
		{"A48 Basic", "Authorization: Basic " + key},
		{"A48 X-Api-Key", "X-Api-Key: " + key},
		{"A48 cookie", "Cookie: Authorization=" + key},
		{"A49 too long", "Authorization: Bearer " + strings.Repeat("k", 257)},
		{"A49 SQL", "Authorization: Bearer ' OR 1=1 --"},
		{"A49 glob", "Authorization: Bearer slk_*"},
		{"A49 tag", "Authorization: Bearer {search}"},
		{"prefix", "Authorization: Bearer " + key[:len(key)-1]},
		{"longer", "Authorization: Bearer " + key + "x"},
		{"expired", "Authorization: Bearer " + expired.Reveal()},
		{"disabled team", "Authorization: Bearer " + disabled.Reveal()},
		{"A53 upstream's own key", "Authorization: Bearer " + upstreamKey},
		{"digest in place of the key", "Authorization: Bearer " + fmt.Sprintf("%x", sha(key))},
	} {
		line := tt.line
		if line != "" {
			line += "\r\n"
		}
		got := h.rawAnswer("GET " + tasksPath + "?key=" + key + " HTTP/1.1\r\nHost: x\r\n" + line + "\r\n")
		if got.blank() != want.blank() {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got.blank(), want.blank())
		}
	}
	if n := len(h.sim.Requests()); n != 0 {
		t.Errorf("%d requests reached the service", n)
	}
	if n := accepted.Load(); n != 0 {
		t.Errorf("%d keys were accepted", n)
	}
	if h.ask("GET", tasksPath, ""); accepted.Load() != 1 {
		t.Errorf("%d keys were accepted, want the right one", accepted.Load())
	}
	if !strings.Contains(h.log.String(), "presented the service's own key") || strings.Contains(h.log.String(), upstreamKey) {
		t.Errorf("A53: the log says %s", h.log.String())
	}
}

// A key with a blank, a tab or a comma in it is invalid, even if the teams file has its hash: two readers of the header
// could disagree about its end.
func TestAKeyWithABlankInsideIsNone(t *testing.T) {
	keys := []string{"half an-other-half", "half\tother", "half,other", "half-other"}
	h := build(t, func(p *plan) {
		p.teams = "  - id: odd\n    keys:\n"
		for i, key := range keys {
			p.teams += fmt.Sprintf("      - {id: abcdefghijk%d, sha256: %s}\n", i, hexSHA(key))
		}
	})
	for _, key := range keys {
		got := h.rawAnswer(line("GET", tasksPath, key) + "\r\n")
		if key == "half-other" && got.status != http.StatusOK || key != "half-other" && got.status != http.StatusUnauthorized {
			t.Errorf("%q: %d %s", key, got.status, got.body)
		}
	}
}

func mint(t testing.TB) teams.MintedKey {
	t.Helper()
	key, err := teams.MintKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestSchemeInAnyCase(t *testing.T) {
	h := build(t)
	for _, scheme := range []string{"Bearer", "bearer", "BEARER"} {
		if got := h.ask("GET", tasksPath, "", "Authorization", scheme+" "+h.keys["search"]); got.status != http.StatusOK {
			t.Errorf("%s: %d", scheme, got.status)
		}
	}
}

// Teams change with the next request; a team's tasks stay its own.
func TestTeamsAreReplacedAtOnce(t *testing.T) {
	h := build(t)
	id := h.ask("POST", imagePath, imageBody, "X-Service-Async", "enable").member(t, "output", "task_id")
	next := mint(t)
	both := strings.Replace(h.teamsDoc, "  - id: search\n    keys:\n", "  - id: search\n    keys:\n"+next.Lines(), 1)
	h.gateway.SetTeams(parse(t, both))
	for _, key := range []string{h.keys["search"], next.Reveal()} {
		if got := h.ask("GET", tasksPath+"/"+id, "", "Authorization", "Bearer "+key); got.status != http.StatusOK {
			t.Errorf("H23: one of two keys: %d", got.status)
		}
	}
	h.gateway.SetTeams(parse(t, "teams:\n  - id: search\n    keys:\n"+next.Lines()))
	h.ask("GET", tasksPath+"/"+id, "").wants(t, 401, "authenticate/key", "InvalidApiKey")
	h.ask("GET", tasksPath, "", "Authorization", "Bearer "+h.keys["shop"]).wants(t, 401, "authenticate/key", "InvalidApiKey")
	if got := h.ask("GET", tasksPath+"/"+id, "", "Authorization", "Bearer "+next.Reveal()); got.status != http.StatusOK {
		t.Errorf("A56: the team's task by its new key: %d", got.status)
	}
}

func parse(t testing.TB, doc string) *teams.File {
	t.Helper()
	file, err := teams.Parse([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// The upstream key is replaced with the next request; it is never the client's.
func TestUpstreamKeyIsReplaced(t *testing.T) {
	h := build(t, func(p *plan) { p.sim.Keys = []string{upstreamKey, "sk-second"} })
	h.ask("POST", textPath, textBody)
	h.gateway.SetUpstream(accounts.Main("sk-second"))
	h.ask("POST", textPath, textBody)
	for i, want := range []string{upstreamKey, "sk-second"} {
		if got := h.sim.Requests()[i].Header["Authorization"]; len(got) != 1 || got[0] != "Bearer "+want {
			t.Errorf("request %d: %q", i, got)
		}
	}
}

func TestUpstreamRefusesOurKey(t *testing.T) {
	h := build(t, func(p *plan) { p.sim.Keys = []string{"another"} })
	got := h.ask("POST", textPath, textBody)
	got.wants(t, 502, "forward/key", "InternalError")
	if strings.Contains(got.body, "InvalidApiKey") || !strings.Contains(h.log.String(), "refused the gateway's own key") {
		t.Errorf("%s; log %s", got.body, h.log.String())
	}
}

// Endpoints and models are limited by the teams file, and the order of the checks is kept.
func TestConfinedTeam(t *testing.T) {
	var key teams.MintedKey
	h := build(t, func(p *plan) {
		key = mint(t)
		p.teams = "  - id: narrow\n    models: [\"llm-m*\"]\n    endpoints: [text]\n    keys:\n" + key.Lines()
		p.config.MaxBody = 4 << 10
	})
	auth := []string{"Authorization", "Bearer " + key.Reveal()}
	if got := h.ask("POST", textPath, textBody, auth...); got.status != http.StatusOK {
		t.Fatalf("an allowed request: %d %s", got.status, got.body)
	}
	other := strings.Replace(textBody, "llm-max", "llm-plus", 1)
	large := textBody + strings.Repeat(" ", 4<<10)
	for _, tt := range []struct {
		name, method, path, body string
		more                     []string
		status                   int
		row, code                string
	}{
		{"model", "POST", textPath, other, nil, 403, "inspect/model", "Model.AccessDenied"},
		{"endpoint", "GET", tasksPath, "", nil, 403, "authenticate/endpoint", "AccessDenied"},
		{"method before key", "GET", textPath, "", []string{"Authorization", "x"}, 405, "route/method", "InvalidParameter"},
		{"path before method", "DELETE", "/api/v1/x", "", []string{"Authorization", "x"}, 404, "route/path", "NotFound"},
		{"key before endpoint", "GET", tasksPath, "", []string{"Authorization", "Bearer x"}, 401, "authenticate/key", "InvalidApiKey"},
		{"endpoint before size", "POST", multimodalPath, large, nil, 403, "authenticate/endpoint", "AccessDenied"},
		{"size before type", "POST", textPath, large, []string{"Content-Type", "text/plain"}, 413, "inspect/large", "BadRequest.TooLarge"},
		{"type before body", "POST", textPath, "{", []string{"Content-Type", "text/plain"}, 415, "inspect/media", "InvalidParameter"},
		{"body before model", "POST", textPath, `{"model":"llm-plus","model":"llm-plus"}`, nil, 400, "inspect/body", "InvalidParameter"},
		{"model before rules", "POST", textPath, `{"model":"llm-plus"}`, nil, 403, "inspect/model", "Model.AccessDenied"},
		{"rules", "POST", textPath, `{"model":"llm-max"}`, nil, 400, "inspect/rules", "InvalidParameter"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h.ask(tt.method, tt.path, tt.body, append(auth, tt.more...)...).wants(t, tt.status, tt.row, tt.code)
		})
	}
	if n := len(h.sim.Requests()); n != 1 {
		t.Errorf("%d requests reached the service, want the one that is allowed", n)
	}
}

// Every wrong key costs the same look-up. There is one path (policy's tests); here only that no kind of wrong key is
// answered an order of magnitude faster.
func TestWrongKeysTakeAlike(t *testing.T) {
	h := build(t)
	took := func(best time.Duration, key string) time.Duration {
		start := time.Now()
		h.ask("GET", tasksPath, "", "Authorization", "Bearer "+key)
		return min(best, time.Since(start))
	}
	unknown, near := time.Hour, time.Hour
	for range 50 { // in turn, so that a slow moment meets both
		unknown, near = took(unknown, "nothing"), took(near, h.keys["search"][:20]+strings.Repeat("0", 40))
	}
	if unknown > 10*near || near > 10*unknown {
		t.Errorf("an unknown key took %v, one with a known beginning %v", unknown, near)
	}
}
