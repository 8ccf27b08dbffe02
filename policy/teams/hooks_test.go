package teams_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/policy/event"
	"sluice/policy/teams"
)

const hooksDoc = `
hooks:
  - {id: ops, url: "https://chat.example/T0/B0", events: ["account.*", task.failed], kind: slack}
defaults:
  alert: [80, 100]
  hooks:
    - {id: jobs, url: "https://jobs.example/hook", events: ["task.*"], secret_file: /secrets/jobs}
teams:
  - id: search
  - id: shop
    alert: none
    hooks:
      - {id: own, url: "http://shop.example/", insecure: true, events: ["*"], secrets: [old, new]}
      - {id: callbacks, url: "https://shop.example/", secret_file: old}
  - id: ads
    hooks: none
`

func TestHooksGetWhatTheyWant(t *testing.T) {
	file := mustParse(t, hooksDoc)
	want := []event.Hook{
		{ID: "own", URL: "http://shop.example/", Insecure: true, Events: []event.Pattern{"*"}, Secrets: []string{"old", "new"}},
		{ID: "callbacks", URL: "https://shop.example/", Secrets: []string{"old"}},
	}
	if diff := cmp.Diff(want, file.Team("shop").Hooks); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{80, 100}, file.Team("search").Alert); diff != "" || file.Team("shop").Alert != nil {
		t.Errorf("%s %v", diff, file.Team("shop").Alert)
	}
	for _, tt := range []struct {
		team string
		of   event.Type
		want string
		call string
	}{
		{"search", event.TaskSucceeded, "search/jobs", ""},
		{"search", event.TaskFailed, "search/jobs @operators/ops", ""},
		{"search", event.QuotaReached, "", ""},
		{"shop", event.QuotaReached, "shop/own", ""},
		{"shop", event.RequestSettled, "", ""},
		{"ads", event.TaskFailed, "@operators/ops", ""},
		{event.Operators, event.AccountOut, "@operators/ops", ""},
		{"unknown", event.TaskSucceeded, "", ""},
		{"search", event.TaskSucceeded, "search/jobs search/jobs?a", "jobs/a"},
		{"shop", event.TaskFailed, "shop/own shop/callbacks @operators/ops", "callbacks"},
		{"search", event.TaskSucceeded, "search/jobs", "gone/a"},
	} {
		var got []string
		for _, to := range file.Hooked(tt.team, tt.of, tt.call) {
			name := to.Owner + "/" + to.Hook
			if to.Path != "" {
				name += "?" + to.Path
			}
			got = append(got, name)
		}
		if text := strings.Join(got, " "); text != tt.want {
			t.Errorf("%s of %s goes to %q, want %q", tt.of, tt.team, text, tt.want)
		}
	}
}

// A team of the directory has hooks as one of the file.
func TestTeamsOfTheDirectoryHaveHooks(t *testing.T) {
	file := mustParse(t, hooksDoc)
	joined, ignored, err := file.Join([]byte(`{"version": 1, "teams": [{"id": "new", "keys": [], "hooks": [{"id": "a",` +
		` "url": "https://a.example", "secret_file": "a"}]}, {"id": "plain", "keys": []}]}`))
	if err != nil || ignored != nil {
		t.Fatal(ignored, err)
	}
	if got := joined.Team("new").Hooks; len(got) != 1 || got[0].ID != "a" {
		t.Errorf("%+v", got)
	}
	if got := joined.Hooked("plain", event.TaskSucceeded, ""); len(got) != 1 || got[0].Hook != "jobs" {
		t.Errorf("%+v", got)
	}
	if _, _, err := file.Join([]byte(`{"teams": [], "hooks": []}`)); err == nil ||
		!strings.Contains(err.Error(), "belongs only in the teams file") {
		t.Error(err)
	}
}

func TestFaultyHooksAreRefused(t *testing.T) {
	for hook, want := range map[string]string{
		`{url: "https://a.example", secret_file: a}`:        "hooks[0]: id is missing",
		`{id: a, secret_file: a}`:                           "hooks[0]: url is missing",
		`{id: A, url: "https://a.example", secret_file: a}`: "hooks[0].id: got",
		`{id: a, url: "http://a.example/CANARY", secret_file: a}`: "hooks[0].url: got another text (not shown: it may be a " +
			"secret), allowed: an address such as https://",
		`{id: a, url: [CANARY], secret_file: a}`: "hooks[0].url: got",
		`{id: a, url: "https://a.example", secret_file: a,` +
			` events: [task.done]}`: `hooks[0].events[0]: got "task.done", allowed: *, task.*, quota.*, or a type of task.succeeded`,
		`{id: a, url: "https://a.example", secret_file: a, events: ["request.*"]}`: "hooks[0].events[0]: got",
		`{id: a, url: "https://a.example", secret_file: a, events: []}`:            "hooks[0].events: got an empty list",
		`{id: a, url: "https://a.example"}`: "hooks[0]: got 0 secrets, allowed: secret_file, or " +
			"secrets with one or two files",
		`{id: a, url: "https://a.example", secrets: [a, b, c]}`:                     "hooks[0]: got 3 secrets",
		`{id: a, url: "https://a.example", secret_file: a, secrets: [b]}`:           "hooks[0]: got secret_file beside secrets",
		`{id: a, url: "https://a.example", secret_file: a, kind: slack}`:            "hooks[0]: got a secret for a hook of kind slack",
		`{id: a, url: "https://a.example", secret_file: a, kind: teams}`:            `hooks[0].kind: got "teams", allowed: slack`,
		`{id: a, url: "https://a.example", secret_file: a, insecure: "yes"}`:        "hooks[0].insecure: got",
		`{id: a, url: "https://a.example", secret_file: a, secret: CANARY}`:         "hooks[0].secret: unknown field",
		`{id: a, url: "https://a.example", kind: slack}, {id: a, url: "https://b"}`: `hooks[1]: got "a", allowed: each id once`,
	} {
		for doc, field := range map[string]string{"teams: []\nhooks: [" + hook + "]": "",
			"teams: [{id: x, hooks: [" + hook + "]}]": "teams[0]."} {
			_, err := teams.Parse([]byte(doc))
			if err == nil || !strings.Contains(err.Error(), field+want) || strings.Contains(err.Error(), "CANARY") {
				t.Errorf("%s: %v", hook, err)
			}
		}
	}
	if _, err := teams.Parse([]byte("teams: [{id: x, alert: [80, 101]}]")); err == nil {
		t.Error("101 per cent")
	}
}
