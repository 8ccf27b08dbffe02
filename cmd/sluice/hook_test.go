package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const hookSecretText = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// hookWorld is a folder with a teams file, whose hooks are at an address, and a secret.
func hookWorld(t *testing.T, address string) (environ []string, dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range map[string]string{
		"secret": hookSecretText + "\n",
		"teams.yaml": "teams:\n  - id: search\n    hooks:\n      - {id: jobs, url: \"" + address +
			"/hook\", events: [\"task.*\"], secret_file: secret}\n" +
			"hooks: [{id: ops, url: \"" + address + "/chat\", events: [\"*\"], kind: slack}]\n",
	} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return with("SLUICE_TEAMS_FILE="+filepath.Join(dir, "teams.yaml"), "SLUICE_HOOK_NETWORKS=127.0.0.0/8"), dir
}

func hookRun(t *testing.T, environ []string, args ...string) (code int, out string) {
	t.Helper()
	var text strings.Builder
	code = run(t.Context(), program{environ: environ, stdout: &text, stderr: &text}, args)
	return code, text.String()
}

func TestHooksAreTried(t *testing.T) {
	t.Parallel()
	answer := http.StatusOK
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		wh, _ := standardwebhooks.NewWebhook(hookSecretText)
		if signed := wh.Verify(body, r.Header) == nil; signed != (r.URL.Path == "/hook") {
			t.Errorf("%s is signed: %v", r.URL.Path, signed)
		}
		if r.URL.Path == "/chat" && string(body) != `{"text":"Sluice: this hook works"}` {
			t.Errorf("%s", body)
		}
		w.WriteHeader(answer)
	}))
	defer receiver.Close()
	environ, _ := hookWorld(t, receiver.URL)
	for _, tt := range []struct {
		args   string
		answer int
		code   int
		says   string
	}{
		{"hook --team search test", 200, exitClean, "jobs: 200 OK\n"},
		{"hook --team search --id jobs test", 204, exitClean, "jobs: 204 No Content\n"},
		{"hook --team @operators test", 200, exitClean, "ops: 200 OK\n"},
		{"hook --team search test", 500, exitFailure, "jobs: 500 Internal Server Error\n"},
		{"hook --team search --id shots test", 200, exitFaulty, "allowed: jobs"},
		{"hook --team shop test", 200, exitFaulty, "no team has this id"},
		{"hook --team search", 200, exitFaulty, "allowed: sluice hook --team T"},
		{"hook --team search --resend evt_1", 200, exitFaulty, "not an id of an event of this team"},
		{"hook --team search --id jobs --resend evt_1", 200, exitFaulty, "allowed: sluice hook --team T"}, // it would go to all hooks
		{"hook --resend evt_1", 200, exitFaulty, "not an id of an event"},
		{"hook test", 200, exitFaulty, "allowed: sluice hook --team T"},
		{"hook --team search --resend evt_1 test", 200, exitFaulty, "allowed: sluice hook --team T"},
	} {
		answer = tt.answer
		if code, out := hookRun(t, environ, strings.Fields(tt.args)...); code != tt.code || !strings.Contains(out, tt.says) {
			t.Errorf("%s: %d, %s", tt.args, code, out)
		}
	}
}

// A missing or malformed secret, and an address that is not allowed, are faults of the configuration. They show no secret.
func TestCheckListsFaultyHooks(t *testing.T) {
	t.Parallel()
	environ, dir := hookWorld(t, "http://127.0.0.1:1")
	if code, out := hookRun(t, environ, "check"); code != exitClean {
		t.Errorf("%d, %s", code, out)
	}
	if code, out := hookRun(t, append(environ, "SLUICE_HOOK_NETWORKS=10.0.0.0/8"), "check"); code != exitFaulty ||
		!strings.Contains(out, "hooks.jobs.url of team search: got an address that is not public") {
		t.Errorf("%d, %s", code, out)
	}
	must(t, os.WriteFile(filepath.Join(dir, "secret"), []byte("whsec_CANARY"), 0o600))
	code, out := hookRun(t, environ, "check")
	if code != exitFaulty || !strings.Contains(out, "hooks.jobs of team search: the file of its secret: the content is not whsec_") ||
		strings.Contains(out, "CANARY") {
		t.Errorf("%d, %s", code, out)
	}
	must(t, os.Remove(filepath.Join(dir, "secret")))
	if code, out = hookRun(t, environ, "check"); code != exitFaulty ||
		!strings.Contains(out, "hooks.jobs of team search: the file of its secret: no such file") {
		t.Errorf("%d, %s", code, out)
	}
}

// The hooks of the directory's teams are judged, too.
func TestCheckListsFaultyHooksOfTheDirectory(t *testing.T) {
	t.Parallel()
	environ, dir := hookWorld(t, "http://127.0.0.1:1")
	environ = append(environ, "SLUICE_REDIS_URL="+startRedis(t).url())
	hook := func(secret string) {
		t.Helper()
		doc := filepath.Join(dir, "directory.yaml")
		must(t, os.WriteFile(doc, []byte("teams: [{id: maps, hooks: [{id: tiles, url: \"http://127.0.0.1:1/\", events: [\"*\"], secret_file: "+
			secret+"}]}]\n"), 0o600))
		if code, out := hookRun(t, environ, "directory", "import", "--force", doc); code != exitClean {
			t.Fatalf("%d, %s", code, out)
		}
	}
	hook("secret")
	if code, out := hookRun(t, environ, "check"); code != exitClean || !strings.Contains(out, "# team maps") {
		t.Errorf("%d, %s", code, out)
	}
	hook("missing")
	if code, out := hookRun(t, environ, "check"); code != exitFaulty ||
		!strings.Contains(out, "directory: hooks.tiles of team maps: the file of its secret: no such file") {
		t.Errorf("%d, %s", code, out)
	}
}
