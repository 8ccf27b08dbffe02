package hooks

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice/gateway/upstream"
	"sluice/policy/event"
)

func TestAPingIsAnswered(t *testing.T) {
	r := newReceiver(t, func(w http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		if !strings.Contains(string(body), `"type":"ping"`) {
			t.Errorf("%s", body)
		}
		if request.URL.Path == "/bad" {
			w.WriteHeader(http.StatusTeapot)
			_, _ = io.WriteString(w, "no\x1b[31m\n\ntea "+strings.Repeat("x", 300))
		}
	})
	p := r.poster(t, map[string]string{"a": testSecret}, "127.0.0.1")
	good, bad, lost := *r.hook("a"), *r.hook("a"), *r.hook("b")
	bad.ID, bad.URL, lost.ID = "bad", strings.Replace(bad.URL, "/hook?CANARY", "/bad", 1), "lost"
	var out strings.Builder
	err := Test(t.Context(), &out, p, "search", []event.Hook{good, bad, lost}, time.Now())
	want := "jobs: 200 OK\nbad: 418 I'm a teapot: no [31m tea " + strings.Repeat("x", 200-len("no [31m tea ")) +
		"…\nlost: no answer: secret 1: no such file\n"
	if out.String() != want || err == nil || err.Error() != "2 of 3 hooks did not take the ping" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

func TestHooksAreFound(t *testing.T) {
	file := parse(t, twoTeams+"hooks: [{id: ops, url: \"https://chat.example/\", events: [\"*\"], kind: slack}]")
	for _, tt := range []struct{ owner, id, want string }{
		{"search", "", "jobs"}, {"search", "jobs", "jobs"}, {event.Operators, "", "ops"},
		{"search", "ops", "allowed: jobs"}, {"unknown", "", "--team: no team"},
	} {
		list, err := Of(file, tt.owner, tt.id)
		if err != nil && !strings.Contains(err.Error(), tt.want) || err == nil && list[0].ID != tt.want {
			t.Errorf("%+v: %v, %v", tt, list, err)
		}
	}
	if _, err := Of(parse(t, "teams: [{id: a}]"), "a", ""); err == nil {
		t.Error("no hooks")
	}
}

// What many teams have from the defaults is told once.
func TestFaultsOfSecretsAreToldOnce(t *testing.T) {
	file := parse(t, `
defaults: {hooks: [{id: jobs, url: "https://jobs.example/", secret_file: lost}]}
teams: [{id: a}, {id: b}, {id: c, hooks: [{id: own, url: "https://10.0.0.1/", secrets: [short, good]}]}]
`)
	faults := Faults(file, PosterConfig{Secret: func(path string) (upstream.Secret, error) {
		switch path {
		case "good":
			return testSecret, nil
		case "short":
			return "whsec_CANARY", nil
		}
		return "", errors.New("no such file")
	}})
	const want = "hooks.jobs of team a and 1 more: the file of its secret: no such file, allowed: a readable file with nothing but whsec_ " +
		"and 24 to 64 bytes in base64\n" +
		"hooks.own.url of team c: got an address that is not public, allowed: public ones, and the networks of SLUICE_HOOK_NETWORKS\n" +
		"hooks.own of team c: the file of its secret: the content is not whsec_ and 24 to 64 bytes in base64, allowed: a readable file with " +
		"nothing but whsec_ and 24 to 64 bytes in base64"
	if faults.Error() != want {
		t.Errorf("%v", faults)
	}
}

func TestAnEventIsDeliveredAgain(t *testing.T) {
	var out strings.Builder
	id := anEvent().ID.String()
	if err := Again(t.Context(), &out, &box{}, []string{"house", "search"}, id); err != nil || out.String() != id+" is delivered again\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
	if err := Again(t.Context(), &out, &box{}, []string{"shop"}, id); !errors.Is(err, event.ErrID) {
		t.Error(err)
	}
	if err := Again(t.Context(), &out, nil, []string{"search"}, id); err == nil {
		t.Error("without an outbox")
	}
}
