package event_test

import (
	"strings"
	"testing"

	"sluice/policy/event"
)

func TestAddressesOfHooks(t *testing.T) {
	for text, want := range map[string]struct{ plain, insecure bool }{
		"https://jobs.example/hook":          {true, true},
		"https://jobs.example:8443/hook?a=1": {true, true},
		"http://127.0.0.1:9000/":             {true, true},
		"http://localhost":                   {true, true},
		"http://[::1]/hook":                  {true, true},
		"http://jobs.example/hook":           {false, true},
		"http://10.0.0.1/":                   {false, true},
		"":                                   {},
		"jobs.example/hook":                  {},
		"//jobs.example/hook":                {},
		"ftp://jobs.example/":                {},
		"https://":                           {},
		"https:jobs.example":                 {},
		"https://user@jobs.example/":         {},
		"https://jobs.example/#part":         {},
		"https://jöbs.example/":              {},
		"https://[fe80::1%25eth0]/":          {},
		"https://jobs.example/" + strings.Repeat("x", 2<<10): {},
	} {
		if got := event.IsHookURL(text, false); got != want.plain {
			t.Errorf("%.40q is %v", text, got)
		}
		if got := event.IsHookURL(text, true); got != want.insecure {
			t.Errorf("%.40q, insecure, is %v", text, got)
		}
	}
}

// A target's path and query stand below the hook's own.
func TestPathsStandBelowTheURL(t *testing.T) {
	for _, tt := range [][3]string{
		{"https://a.example/hook", "", "https://a.example/hook"},
		{"https://a.example/hook", "shots/42?x=1", "https://a.example/hook/shots/42?x=1"},
		{"https://a.example/hook/?k=v", "shots/42?x=1", "https://a.example/hook/shots/42?k=v&x=1"},
		{"https://a.example", "shots", "https://a.example/shots"},
		{"https://a.example/hook?k=v", "?x=1", "https://a.example/hook?k=v&x=1"},
		{"https://a.example/hook?k=v", "a", "https://a.example/hook/a?k=v"},
	} {
		h := event.Hook{URL: tt[0]}
		if got := h.At(tt[1]); got != tt[2] {
			t.Errorf("%s and %s: %s, want %s", tt[0], tt[1], got, tt[2])
		}
	}
}

// A client names a hook of its team and what stands below it, never a host.
func TestCallbacksNameNoHost(t *testing.T) {
	hooks := []event.Hook{{ID: "jobs"}, {ID: "audit"}}
	for text, path := range map[string]string{
		"jobs": "", "jobs/": "", "jobs/shots/42?x=1": "shots/42?x=1", "jobs?x=1": "?x=1", "jobs/a%20b": "a%20b", "jobs/a//b": "a//b",
		"jobs/...": "...", "jobs/?a=../b": "?a=../b",
		"jobs/a;b=c": "a;b=c", "jobs/...;a": "...;a", "jobs/a..;/b": "a..;/b", "jobs/?a=%2525": "?a=%2525", "jobs/%C3%A4": "%C3%A4",
	} {
		got, err := event.ReadCallback([]string{text}, hooks)
		to := event.Calling(nil, "search", hooks, got)
		if err != nil || got != text || len(to) != 1 || to[0] != (event.Target{Address: event.Address{Owner: "search", Hook: "jobs"},
			Path: path}) {
			t.Errorf("%q: %q, %+v, %v", text, got, to, err)
		}
		if again := event.Calling(to, "search", hooks, got); len(again) != 1 {
			t.Errorf("%q is two targets", text)
		}
		if gone := event.Calling(nil, "search", hooks[1:], got); gone != nil {
			t.Errorf("%q calls a hook that has gone", text)
		}
	}
	for text, word := range map[string]string{
		"": "jobs, audit", "shots": "jobs, audit", "https://evil.example/": "jobs, audit", "//evil.example": "jobs, audit", "Jobs": "jobs, audit",
		"jobs//evil.example": "without a host", "jobs/../x": `".."`, "jobs/a/..": `".."`, "jobs/%2e%2E/x": `".."`, "jobs/.": `"."`,
		"jobs/a%2f..": "512", "jobs/a\\b": "512", "jobs/a#b": "512",
		"jobs/..;/x": `before ";"`, "jobs/a/..;a=b": `before ";"`, "jobs/%2e%2e;/x": `before ";"`, "jobs/..%3b/x": `before ";"`,
		"jobs/.;/x": `before ";"`, "jobs/..%3f/x": `"?"`, "jobs/..%23": `"#"`,
		"jobs/%252e%252e/x": `no escaped "/", "\", "%"`, "jobs/%25252e./x": `"%"`, "jobs/a%25": `"%"`, "jobs/a%252f..": `"%"`,
		"jobs/%5c..": `"\"`, "jobs/%2F": `escaped "/"`,
		"jobs/%c0%ae%c0%ae/x": `".."`, "jobs/..%00": "control", "jobs/%0a": "control", "jobs/%7f": "control",
		"jobs/ a": "512", "jobs/a\n": "512", "jobs/ä": "512", "jobs/%zz": "512", "jobs/a%2": "512", "jobs/?%": "512",
		"jobs/" + strings.Repeat("x", 508): "512",
	} {
		if got, err := event.ReadCallback([]string{text}, hooks); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%.40q: %+v, %v", text, got, err)
		}
	}
	if got, err := event.ReadCallback(nil, hooks); err != nil || got != "" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := event.ReadCallback([]string{"jobs", "audit"}, hooks); err == nil || !strings.Contains(err.Error(), "once") {
		t.Error(err)
	}
	if _, err := event.ReadCallback([]string{"jobs"}, nil); err == nil || !strings.Contains(err.Error(), "it has none") {
		t.Error(err)
	}
}
