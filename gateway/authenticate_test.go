package gateway_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"sluice/gateway/oidc"
	"sluice/gateway/oidc/oidctest"
	"sluice/policy/teams"
)

// workload is a subject of an issuer that a gateway trusts.
type workload struct {
	*harness
	issuer *oidctest.Issuer
}

func buildWithIssuer(t *testing.T) *workload {
	w := &workload{issuer: oidctest.Start(t)}
	tokens := oidc.NewVerifier(oidc.VerifierConfig{Now: time.Now})
	t.Cleanup(tokens.Close)
	w.harness = build(t, func(p *plan) {
		p.tokens = tokens
		p.teams = "  - {id: off, disabled: true}\nissuers:\n  - {url: \"" + w.issuer.URL +
			"\", audience: sluice, teams: {indexer: search, painter: shop, idle: off, lost: nowhere}}\n"
	})
	return w
}

// token is a new one of a subject.
func (w *workload) token(subject string) string {
	now := time.Now()
	return w.issuer.Sign(oidctest.Claims{
		"iss": w.issuer.URL, "aud": "sluice", "sub": subject, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(), "canary": "canary-claim",
	})
}

// TestATokenStandsInPlaceOfAKey: for the team's limits, its tasks and its log. Another token of the subject counts as the same.
func TestATokenStandsInPlaceOfAKey(t *testing.T) {
	w := buildWithIssuer(t)
	created := w.ask("POST", imagePath, imageBody, "Authorization", "Bearer "+w.token("indexer"), "X-Service-Async", "enable")
	if created.status != 200 {
		t.Fatalf("%d %s", created.status, created.body)
	}
	task := tasksPath + "/" + created.member(t, "output", "task_id")
	if polled := w.ask("GET", task, "", "Authorization", "bearer "+w.token("indexer")); polled.status != 200 {
		t.Errorf("%d %s", polled.status, polled.body)
	}
	if polled := w.ask("GET", task, "", "Authorization", "Bearer "+w.keys["search"]); polled.status != 200 {
		t.Errorf("with the team's key: %d %s", polled.status, polled.body)
	}
	w.ask("GET", task, "", "Authorization", "Bearer "+w.token("painter")).wants(t, 404, "recall/task", "NotFound")
	key := ""
	for i, r := range w.records.await(t, 4)[:2] {
		if r.Team != "search" || !strings.HasPrefix(r.Key, "jwt:") || len(r.Key) != 16 || i > 0 && r.Key != key {
			t.Errorf("team %q, key %q after %q", r.Team, r.Key, key)
		}
		key = r.Key
	}
	if strings.Contains(w.log.String(), "canary-claim") {
		t.Error("a claim is in the log")
	}
}

// TestEveryWrongTokenHasTheAnswerOfAWrongKey, and no part of the token is in it.
func TestEveryWrongTokenHasTheAnswerOfAWrongKey(t *testing.T) {
	w := buildWithIssuer(t)
	want := w.ask("GET", tasksPath, "", "Authorization", "Bearer slk_unknown")
	good := w.token("indexer")
	for about, tt := range map[string]struct{ token, inside string }{
		"no token":          {"a.b.c", oidc.ErrForm.Error()},
		"a changed one":     {good[:len(good)-8] + "AAAAAAAA", oidc.ErrSignature.Error()},
		"unknown subject":   {w.token("stranger"), oidc.ErrClaim.Error()},
		"a disabled team":   {w.token("idle"), "does not exist or is disabled"},
		"a team of nowhere": {w.token("lost"), "does not exist or is disabled"},
		"too long":          {strings.Repeat("a.", 2) + strings.Repeat("x", 8<<10), ""},
	} {
		got := w.ask("GET", tasksPath, "", "Authorization", "Bearer "+tt.token)
		got.wants(t, 401, "authenticate/key", "InvalidApiKey")
		if got.blank() != want.blank() {
			t.Errorf("%s:\n%s\nwant\n%s", about, got.blank(), want.blank())
		}
		if log := w.log.String(); !strings.Contains(log, tt.inside) || strings.Contains(log, "canary") {
			t.Errorf("%s: the log says %s", about, log)
		}
	}
}

// TestTheIssuersOfAnotherFileCount with the next request.
func TestTheIssuersOfAnotherFileCount(t *testing.T) {
	w := buildWithIssuer(t)
	token := "Bearer " + w.token("indexer")
	if got := w.ask("GET", tasksPath, "", "Authorization", token); got.status != 200 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	file, err := teams.Parse([]byte("teams: [{id: search}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	w.gateway.SetTeams(file)
	w.ask("GET", tasksPath, "", "Authorization", token).wants(t, 401, "authenticate/key", "InvalidApiKey")
}

// waiting refuses, or names one team, and reports a longer wait for the issuer than the whole request takes.
type waiting struct{ team string }

func (waiting) Follow([]*teams.Issuer) {}

func (w waiting) Identify(context.Context, string) (oidc.Workload, error) {
	if w.team == "" {
		return oidc.Workload{Waited: time.Hour}, errors.New("the issuer hangs")
	}
	return oidc.Workload{Team: w.team, Key: "jwt:0123456789ab", Waited: time.Hour}, nil
}

// TestTheWaitForAnIssuerIsNotOverhead: neither in the header nor in the record, whether the token is taken or refused.
func TestTheWaitForAnIssuerIsNotOverhead(t *testing.T) {
	for team, status := range map[string]int{"search": 200, "": 401} {
		h := build(t, func(p *plan) { p.tokens = waiting{team} })
		got := h.ask("GET", tasksPath, "", "Authorization", "Bearer a.b.c")
		if got.status != status {
			t.Fatalf("%d %s", got.status, got.body)
		}
		record := h.records.await(t, 1)[0]
		if told := got.header.Get("Server-Timing"); told != "sluice;dur=0.0" || record.Overhead != 0 {
			t.Errorf("%d: Server-Timing %q, overhead %v of %v", status, told, record.Overhead, record.Duration)
		}
	}
}
