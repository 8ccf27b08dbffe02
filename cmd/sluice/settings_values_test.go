package main

import (
	"strings"
	"testing"

	"sluice/cmd/sluice/settings"
)

// TestFaultyRulesAreNamed: unknown rules and modes are all reported, each with the nearest known one, in the setting and in the
// teams file. Text without a rule's form may be a secret in the wrong variable, and is hidden.
func TestFaultyRulesAreNamed(t *testing.T) {
	const ids = ", allowed: the ids that sluice check --rules prints"
	for text, want := range map[string]string{
		"image.promt.length=refuse":      "image.promt.length: unknown rule (meant image.prompt.length?)" + ids,
		"header.sse=loud":                `header.sse: got "loud", allowed: refuse, warn or off`,
		"header.sse=warn,header.sse=off": "header.sse: stands twice, allowed: each rule once",
		"header.sse":                     `header.sse: got "", allowed: refuse, warn or off`,
		"text.topp=off,nothing.of.the.kind=warn": "text.topp: unknown rule (meant text.top_p?)" + ids +
			"; nothing.of.the.kind: unknown rule" + ids,
		"sk-1234abcd=off":                            "[hidden]: unknown rule" + ids,
		"header.sse=Passw0rd":                        `header.sse: got "[hidden]", allowed: refuse, warn or off`,
		"header.sse =off":                            `"header.sse ": unknown rule (meant header.sse?)` + ids,
		"header.sse=off, image.prompt.length=refuse": "",
	} {
		if got := faultsOf(t, with("SLUICE_RULES="+text))["SLUICE_RULES"]; got != want {
			t.Errorf("%s\nsays %s\nwant %s", text, got, want)
		}
	}
	const teams = "teams:\n  - id: search\n    rules: {image.promt.length: refuse, header.sse: loud}\n"
	got := command(t.Context(), with("SLUICE_TEAMS_FILE="+write(t, teams)), "check")
	for _, want := range []string{"unknown rule (meant image.prompt.length?)", `got "loud", allowed: refuse, warn or off`} {
		if got.code != exitFaulty || !strings.Contains(got.stderr, want) {
			t.Errorf("the teams file: %q is missing in\n%s", want, got.stderr)
		}
	}
}

// Each row is one variable with valid and invalid values.
var settingBounds = []struct {
	name       string
	good, evil []string
}{
	{"LISTEN", []string{":0", "127.0.0.1:80", "[::1]:65535", "host:1"}, []string{"8080", "host", ":http", ":65536", ":-1", "a:b:c"}},
	{"ADMIN_LISTEN", []string{":8081", "127.0.0.1:0"}, []string{"8081", ":8080"}},
	{"ADMIN_PPROF", []string{"true", "false", "1"}, []string{"yes", "on"}},
	{"TRUSTED_PROXIES", []string{"10.0.0.0/8", "10.0.0.1/32, fd00::/8", "0.0.0.0/0", "10.0.0.1, fd00::1"}, []string{
		"::ffff:10.0.0.1", "fe80::1%eth0", "10.0.0.1/8", "10.0.0.0/33", "fd00::1/8", "::ffff:10.0.0.0/104", "10.0.0.0/8,", ",", "proxy.example",
		"10.0.0.0/08", "fe80::%eth0/10",
	}},
	{"CORS_ORIGINS", []string{
		"https://chat.example", "http://localhost:3000, https://a.example:8443", "https://CHAT.example", "http://127.0.0.1:8080",
		"http://[::1]:3000", "https://[fd00::1]",
		"chrome-extension://abcdefghijklmnop", "tauri://localhost", "app://obsidian.md",
	}, []string{
		"*", "https://*", "https://*.example", "null", "chat.example", "//chat.example", "https:chat.example", "https://",
		"https://chat.example/", "https://chat.example/ui",
		"https://chat.example?a", "https://chat.example#a", "https://user@chat.example", "https://chat.example:443", "http://chat.example:80",
		"https://chat.example:",
		"https://chat.example:0", "https://chat.example:08443", "https://chat.example:65536", "https://chat.example:http",
		"https://ch at.example", "https://münchen.example",
		"https://chat.example,", ",", "http://[::1", "http://::1", "http://[0:0:0:0:0:0:0:1]", "http://[::ffff:10.0.0.1]",
		"http://[fe80::1%eth0]", "http://[127.0.0.1]", "file:///", "http://.example", "http://a.",
	}},
	{"RESULT_HOSTS", []string{"store.example", "*.store.example, store.example:8443", "127.0.0.1:9000"},
		[]string{"*", "https://store.example", "store.example/a", "a.example,", "*.example"}},
	{"HOOK_NETWORKS", []string{"10.0.0.0/8", "127.0.0.0/8, fd00::/8"}, []string{"10.0.0.1/8", ",", "jobs.example"}},
	{"RESULT_NETWORKS", []string{"10.0.0.0/8", "127.0.0.0/8, fd00::/8"}, []string{"10.0.0.1/8", ",", "store.example"}},
	{"UPSTREAM_URL", []string{"http://127.0.0.1:9000/api/v1", "https://service.example/a/b/api/v1"}, []string{
		"service.example/api/v1", "//service.example/api/v1", "ftp://service.example/api/v1", "https:///api/v1", "https://:443/api/v1",
		"https://service.example", "https://service.example/api/v1/", "https://service.example/api/v2", "https://service.example/api/v1?a=b",
		"https://service.example/api/v1?", "https://service.example/api/v1#a", "https://user:pass@service.example/api/v1",
		"https://user@service.example/api/v1", "http:api/v1", "https://service.example/%61pi/v1/x%2f/api/v1", "https://ser vice/api/v1",
	}},
	{"HEADER_PREFIX", []string{"X-Service-", "X-Other-Word-"}, []string{"X-Service", "-", "X Service-", "X-Sérvice-", "X:-"}},
	{"WORKSPACE", []string{"strip", "forward", "ws 1"}, []string{"w\ns", "wörk", "w\x7f"}},
	{"DATA_INSPECTION", []string{"strip", `{"input":"cip"}`}, []string{"\x01"}},
	{"FORWARD_PATHS", []string{"uploads", "uploads,services/embeddings", "services/video=native,chat=openai,x=responses,y=messages,z=opaque",
		"services/aigc/video-generation", "task"}, []string{
		"/uploads", "uploads/", "uploads,", ",", "x=", "x=chat", "x,x/y=native", "x=native,X/y=openai", "x=native=native", "a//b", "../x",
		"a/../b", "a/./b", "up%6coads", "a?b", "a b", "*",
		"tasks", "tasks/x", "TASKS", "services", "services/aigc", "services/aigc/text-generation",
		"services/aigc/image-generation/generation", "services/aigc/image-generation/generation/v2", "Services/AIGC",
	}},
	{"TEAMS_POLL", []string{"10ms", "1m", "8760h"}, []string{"9ms", "8760h1s", "300000h", "0", "0s", "-5s", "5", "soon"}},
	{"REDIS_URL", []string{
		"redis://h", "rediss://:pass@h:6379/0", "redis+cluster://h1:1,h2", "rediss+cluster://h1,h2", "redis+sentinel://h1,h2/master/0",
		"redis+sentinel://:a@h1,h2/master?sentinel=:b",
	}, []string{"h:6379", "http://h", "redis://", "redis+other://h", "redis+sentinel://h1,h2", "redis+sentinel://h/", "redisx://h",
		"red://h", "redis://h?sentinel=:b"}},
	{"REDIS_TIMEOUT", []string{"50ms"}, []string{"0", "-1ms", "8761h"}},
	{"ON_STATE_LOSS", []string{"local", "refuse"}, []string{"Local", "open"}},
	{"OUTAGE_BRIDGE", []string{"1m", "10m", "1h"}, []string{"0", "59s", "61m", "-10m", "10"}},
	{"REPLICAS", []string{"1", "100"}, []string{"0", "-1", "1.5", "99999999999999999999"}},
	{"POLL_INTERVAL", []string{"100ms", "5s"}, []string{"99ms", "0", "-5s", "8761h"}},
	{"TASK_QUERY_RATE", []string{"1", "20"}, []string{"0", "-20", "20/s"}},
	{"TASK_TTL", []string{"24h"}, []string{"0", "-24h", "1d", "8761h"}},
	{"TASK_TIMEZONE", []string{"+08:00", "-03:30", "+00:00"}, []string{"UTC", "Asia/Shanghai", "8", "+8", "+08:60", "+25:00"}},
	{"MAX_BODY", []string{"1", "1B", "64KiB", "256MiB"}, []string{"0", "-1", "64MB", "1.5MiB", "64 MiB", "MiB", "8589934592GiB", "257MiB"}},
	{"BODY_BUDGET", []string{"128MiB", "1GiB"}, []string{"0", "127MiB", "64MiB", "-1GiB"}},
	{"CONNECT_TIMEOUT", []string{"1s", "8760h"}, []string{"0", "-1s", "8761h", "2560000h"}},
	{"HEADER_TIMEOUT", []string{"1s", "8760h"}, []string{"0", "-1s", "8761h", "2560000h"}},
	{"IDLE_TIMEOUT", []string{"1s", "8760h"}, []string{"0", "-1s", "8761h", "2560000h"}},
	{"WRITE_TIMEOUT", []string{"1s", "8760h"}, []string{"0", "-1s", "8761h", "2560000h"}},
	{"SHUTDOWN_DELAY", []string{"0", "0s", "5s"}, []string{"-1s", "5", "8761h"}},
	{"SHUTDOWN_GRACE", []string{"1s", "8760h"}, []string{"0", "-1s", "8761h", "2560000h"}},
	{"IMAGE_WAIT", []string{"10m"}, []string{"0", "8761h"}},
	{"RULES", []string{"image.prompt.length=refuse", "text.top_p=off, image.prompt.length=warn"}, []string{
		"image.prompt.length", "image.prompt.length=", "image.prompt.length=on", "image.prompt.length=Refuse", "=off", "no.such.rule=off",
		"image.prompt.length=off,", "image.prompt.length=off,image.prompt.length=warn", "image.prompt.length =off", "image.prompt.length=off=off",
	}},
	{"SYNC_IMAGE_MODELS", []string{"*", "a,b*"}, []string{"a,", ",a", "a,,b", "a\x01"}},
	{"EDIT_IMAGE_MODELS", []string{"gen2.6-image"}, []string{","}},
	{"THINKING_MODELS", []string{"llm-*"}, []string{","}},
	{"VISION_MODELS", []string{"llm-*"}, []string{","}},
	{"REASONING_MODELS", []string{"llm-*"}, []string{","}},
	{"PROVIDER_NAME", []string{"service", "acme.cloud_1"}, []string{"a b", "é", strings.Repeat("a", 65)}},
	{"TRACE_CONTEXT", []string{"link", "join"}, []string{"Link", "follow"}},
	{"TRACE_UPSTREAM", []string{"true"}, []string{"always"}},
	{"CAPTURE_CONTENT", []string{"true"}, []string{"some"}},
	{"LOG_LEVEL", []string{"debug", "INFO", "warn", "error"}, []string{"loud", "trace"}},
	{"LOG_FORMAT", []string{"json", "text"}, []string{"JSON", "xml"}},
}

func TestBoundsOfEverySetting(t *testing.T) {
	for _, tt := range settingBounds {
		name := settings.Prefix + tt.name
		for _, value := range tt.good {
			if text, bad := faultsOf(t, with(name+"="+value))[name]; bad {
				t.Errorf("%s=%s is refused: %s", name, value, text)
			}
		}
		for _, value := range tt.evil {
			if _, bad := faultsOf(t, with(name+"="+value))[name]; !bad && !faulty(t, name, value) {
				t.Errorf("%s=%q passes", name, value)
			}
		}
	}
}

// faulty handles the pair of settings where the fault of one names the other.
func faulty(t *testing.T, name, value string) bool {
	t.Helper()
	return name == "SLUICE_MAX_BODY" && faultsOf(t, with(name+"="+value))["SLUICE_BODY_BUDGET"] != ""
}

func TestTLSFilesComeInPairs(t *testing.T) {
	for set, missing := range map[string]string{
		"SLUICE_TLS_CERT_FILE": "SLUICE_TLS_KEY_FILE",
		"SLUICE_TLS_KEY_FILE":  "SLUICE_TLS_CERT_FILE",
	} {
		if text := faultsOf(t, with(set+"=file.pem"))[missing]; !strings.Contains(text, set) {
			t.Errorf("%s alone: %q, want a fault of %s", set, text, missing)
		}
	}
}

func TestEqualListenersAreRefusedUnlessTheSystemPicksThePort(t *testing.T) {
	if fs := faultsOf(t, with("SLUICE_LISTEN=:0", "SLUICE_ADMIN_LISTEN=:0")); len(fs) > 0 {
		t.Errorf("faults: %v", fs)
	}
	if fs := faultsOf(t, with("SLUICE_LISTEN=:1", "SLUICE_ADMIN_LISTEN=:1")); len(fs) != 1 {
		t.Errorf("faults: %v, want one", fs)
	}
}
