package main

import (
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/gateway/mirror/store"
	"sluice/gateway/simulator"
	"sluice/gateway/upstream/upstreamtest"
	"sluice/policy/limit/limittest"
)

// Through the house's proxy check reaches the service as the gateway does, and says what the proxy answers.
func TestCheckTriesTheServiceThroughTheHousesProxy(t *testing.T) {
	_, upstream := newService(t, simulator.Config{})
	proxy := upstreamtest.NewProxy(t, upstream.Listener.Addr().String(), false)
	proxy.User = "sluice:CANARY"
	for user, want := range map[string]string{
		"sluice:CANARY":      "ok: the service, account main, ",
		"sluice:wrongCANARY": "wrong: the service, account main: the proxy answered CONNECT with 407 Proxy Authentication Required\n",
	} {
		got := command(t.Context(), []string{
			"SLUICE_UPSTREAM_URL=http://service.example/api/v1", "SLUICE_UPSTREAM_KEY=sk-upstream", "SLUICE_TEAMS_FILE=" + write(t, someTeams),
			"SLUICE_UPSTREAM_PROXY=" + strings.Replace(proxy.URL, "//", "//"+user+"@", 1),
		}, "check", "--connect")
		if !strings.HasPrefix(got.stdout, want) || strings.Contains(got.text(), "CANARY") || proxy.Heard.Load() != "CONNECT service.example:80" {
			t.Errorf("%s: %+v, asked for %v", user, got, proxy.Heard.Load())
		}
	}
}

// A service with a certificate of the house is reached by check and by the gateway once SSL_CERT_DIR has its authority, beside what else
// lies there.
func TestAuthoritiesOfTheHouseAreInAFolder(t *testing.T) {
	t.Parallel()
	upstream := httptest.NewTLSServer(simulator.New(simulator.Config{Keys: []string{"sk-upstream"}}))
	t.Cleanup(upstream.Close)
	authorities, address := t.TempDir(), "127.0.0.1:"+fmt.Sprint(limittest.FreePort(t))
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: upstream.Certificate().Raw})
	must(t, os.WriteFile(filepath.Join(authorities, "house.crt"), authority, 0o600))
	must(t, os.WriteFile(filepath.Join(authorities, "README"), []byte("no certificate\n"), 0o600))
	said, _ := runScript(t, endJobs+`
if sluice check --connect; then exit 1; fi
export SSL_CERT_DIR=`+authorities+`
sluice check --connect
sluice serve &
until sluice health 2> health.txt; do sleep 0.1; done
curl -s -H 'Authorization: Bearer test' -H 'Content-Type: application/json' http://`+address+
		`/v1/chat/completions -d '{"model":"llm-plus","messages":[{"role":"user","content":"a"}]}'
`, "SLUICE_UPSTREAM_URL="+upstream.URL+"/api/v1", "SLUICE_UPSTREAM_KEY=sk-upstream", "SLUICE_TEAMS_FILE="+write(t, someTeams),
		"SLUICE_CONSOLE_LISTEN=off",
		"SLUICE_LISTEN="+address, "SLUICE_ADMIN_LISTEN=127.0.0.1:"+fmt.Sprint(limittest.FreePort(t)))
	for _, want := range []string{"wrong: the service, account main: tls: failed to verify certificate: x509: ",
		"\nok: the service, account main, ", `"finish_reason":"stop"`} {
		if !strings.Contains("\n"+said, want) {
			t.Errorf("it never prints %q; it said\n%s", want, said)
		}
	}
}

// Check tries what the gateway connects to, at no cost, and shows no secret.
func TestCheckTriesWhatIsConnectedTo(t *testing.T) {
	service, upstream := newService(t, simulator.Config{})
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/.well-known/openid-configuration" {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer issuer.Close()
	file := write(t, someTeams+fmt.Sprintf("    hooks: [{id: chat, url: \"https://localhost/CANARY\", kind: slack, events: "+
		"[\"*\"]}]\nissuers: [{url: %q, audience: sluice, teams: {a: search}}]\n", issuer.URL))
	pictures := t.TempDir()
	environ := func(key, redis string) []string {
		return []string{
			"SLUICE_UPSTREAM_URL=" + upstream.URL + "/api/v1", "SLUICE_UPSTREAM_KEY=" + key, "SLUICE_TEAMS_FILE=" + file,
			"SLUICE_REDIS_URL=" + redis,
			"SLUICE_REDIS_TIMEOUT=5s", "SLUICE_MIRROR_URL=file://" + pictures, "SLUICE_MIRROR_PROXY=true", "SLUICE_RESULT_HOSTS=a.example",
			"HTTPS_PROXY=http://CANARY.example:3128",
		}
	}
	got := command(t.Context(), environ("sk-upstream", startRedis(t).url()), "check", "--connect")
	for _, want := range []string{
		"warning: SLUICE_UPSTREAM_PROXY: not set, so the service is reached directly; the environment's HTTPS_PROXY is not used\n",
		"ok: Redis, ", "ok: the mirror, ", "ok: the service, account main, ", "ok: the issuer " + issuer.URL + ", ",
		"warning: the name of hook chat of search, ", "it leads to a private address, which SLUICE_HOOK_NETWORKS does not list\n",
	} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("%q is missing in\n%s", want, got.text())
		}
	}
	if got.code != exitClean || strings.Contains(got.text(), "CANARY") {
		t.Errorf("%+v", got)
	}
	if len(service.Requests()) != 1 {
		t.Errorf("the service got %d requests", len(service.Requests()))
	}
	if left, err := store.Open(store.Address{Dir: pictures}, store.Keys{}, nil); err != nil {
		t.Error(err)
	} else if list, err := left.List(t.Context(), "", "", 9); err != nil || len(list) > 0 {
		t.Errorf("the mirror keeps %v, %v", list, err)
	}
	pictures = file // no folder
	got = command(t.Context(), environ("sk-CANARY", "redis://127.0.0.1:1"), "check", "--connect")
	if got.code != exitFailure || !strings.Contains(got.stdout, "wrong: Redis: ") ||
		!strings.Contains(got.stdout, "wrong: the service, account main: the key is refused with 401\n") ||
		!strings.Contains(got.stderr, "3 of 5 are wrong") || !strings.Contains(got.stdout, "wrong: the mirror: ") ||
		strings.Contains(got.text(), "CANARY") {
		t.Errorf("%+v", got)
	}
}

// TestCheckSaysWhatIsWrongWithRedis: an address that does not answer as Redis does is not a busy one, and Redis that serve refuses is not
// ok.
func TestCheckSaysWhatIsWrongWithRedis(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // it accepts and never answers
	must(t, err)
	t.Cleanup(func() { _ = silent.Close() })
	plain, silentOnItself := startRedis(t), startRedis(t)
	silentOnItself.do("ACL", "SETUSER", "sluice", "on", ">CANARY", "~sl1:*", "+@all", "-info")
	for redis, want := range map[string]string{
		"redis://" + silent.Addr().String(): "wrong: Redis: Redis was not asked: no connection " +
			"within 2s\n",
		"rediss://" + plain.address(): "wrong: Redis: Redis was not asked: no connection within 2s\n",
		startRedis(t, "--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lru").
			url(): "wrong: Redis: the eviction policy of Redis is allkeys-lru, ",
		startRedis(t, "--maxmemory", "1").url():             "wrong: Redis: a write fails: OOM command not allowed",
		startRedis(t, "--replicaof", "127.0.0.1 1").url():   "wrong: Redis: a write fails: READONLY You can't write against a read only replica.",
		"redis://sluice:CANARY@" + silentOnItself.address(): " ms: its eviction policy could not be read; maxmemory-policy must be noeviction\n",
		plain.url(): "ok: Redis, ",
	} {
		got := command(t.Context(), []string{
			"SLUICE_UPSTREAM_URL=http://127.0.0.1:1/api/v1", "SLUICE_UPSTREAM_KEY=sk-upstream", "SLUICE_TEAMS_FILE=" + write(t, someTeams),
			"SLUICE_REDIS_URL=" + redis, "SLUICE_REDIS_TIMEOUT=5s", // the round trips of a busy machine cause no warning
		}, "check", "--connect")
		if !strings.Contains(got.stderr, " of 2 ") || strings.Contains(got.stderr, "reached") {
			t.Errorf("%s: the sum is\n%s", redis, got.stderr)
		}
		if !strings.Contains(got.stdout, want) {
			t.Errorf("%s: %q is missing in\n%s", redis, want, got.text())
		}
	}
}
