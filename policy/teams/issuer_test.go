package teams_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/policy/teams"
)

func TestIssuers(t *testing.T) {
	file, err := teams.Parse([]byte(`
teams: [{id: search}, {id: maps}]
issuers:
  - url: https://kubernetes.default.svc.cluster.local
    audience: sluice
    teams: {"system:serviceaccount:search:indexer": search}
  - url: http://127.0.0.1:8090/realms/work
    audience: sluice
    algorithms: [ES256, EdDSA]
    claim: https://work.example/team
    teams: {A: maps, a: search, "*": search}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []*teams.Issuer{
		{
			URL: "https://kubernetes.default.svc.cluster.local", Audience: "sluice", Algorithms: []string{"RS256", "ES256"}, Claim: "sub",
			Teams: map[string]string{"system:serviceaccount:search:indexer": "search"},
		},
		{
			URL: "http://127.0.0.1:8090/realms/work", Audience: "sluice", Algorithms: []string{"ES256", "EdDSA"}, Claim: "https://work.example/team",
			Teams: map[string]string{"A": "maps", "a": "search", "*": "search"},
		},
	}
	if diff := cmp.Diff(want, file.Issuers); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if warnings := file.Warnings(); len(warnings) > 0 {
		t.Errorf("a team that a token can name needs no key: %q", warnings)
	}
}

func TestFaultsOfIssuers(t *testing.T) {
	const address = `an address such as https://login.example/realm, without user, query and fragment (http on this machine alone)`
	for given, want := range map[string]string{
		"{audience: a, teams: {}}":                                                                "line 2:11: issuers[0]: url is missing",
		"{url: https://a.example, teams: {}}":                                                     "line 2:11: issuers[0]: audience is missing",
		"{url: https://a.example, audience: a}":                                                   "line 2:11: issuers[0]: teams is missing",
		"{url: http://a.example, audience: a, teams: {}}":                                         `line 2:17: issuers[0].url: got "http://a.example", allowed: ` + address,
		"{url: \"https://a.example/?a=b\", audience: a, teams: {}}":                               `line 2:17: issuers[0].url: got "https://a.example/?a=b", allowed: ` + address,
		"{url: a.example, audience: a, teams: {}}":                                                `line 2:17: issuers[0].url: got "a.example", allowed: ` + address,
		"{url: https://a.example, audience: \"\", teams: {}}":                                     `line 2:46: issuers[0].audience: got "", allowed: 1 to 512 bytes without control characters`,
		"{url: https://a.example, audience: a, algorithms: [], teams: {}}":                        `line 2:61: issuers[0].algorithms: got no algorithm, allowed: RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512 or EdDSA`,
		"{url: https://a.example, audience: a, algorithms: [none], teams: {}}":                    `line 2:62: issuers[0].algorithms[0]: got "none", allowed: RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512 or EdDSA`,
		"{url: https://a.example, audience: a, algorithms: [HS256], teams: {}}":                   `line 2:62: issuers[0].algorithms[0]: got "HS256", allowed: RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512 or EdDSA`,
		"{url: https://a.example, audience: a, claim: \"a b\", teams: {}}":                        `line 2:56: issuers[0].claim: got "a b", allowed: the name of a claim, 1 to 128 letters, digits, _ . : / and -`,
		"{url: https://a.example, audience: a, teams: {x: No}}":                                   `line 2:60: issuers[0].teams.x: got "No", allowed: the id of a team`,
		"{url: https://a.example, audience: a, teams: [x]}":                                       "line 2:56: issuers[0].teams: got a list, allowed: values of the claim with the ids of their teams",
		"{url: https://a.example, audience: a, teams: {}, patterns: {}}":                          "line 2:60: issuers[0].patterns: unknown field, allowed: url, audience, algorithms, claim or teams",
		"{url: https://a.example, audience: a, teams: {\"" + strings.Repeat("x", 513) + "\": a}}": "1 to 512 bytes without control characters",
	} {
		if got := faultsOf(t, []byte("teams: []\nissuers: ["+given+"]")).Error(); !strings.HasSuffix(got, want) {
			t.Errorf("%s:\n got %s\nwant %s", given, got, want)
		}
	}
	var many strings.Builder
	for i := range 17 {
		fmt.Fprintf(&many, "\n  - {url: https://a.example, audience: a%d, teams: {}}", i%16)
	}
	got := faultsOf(t, []byte("teams: []\nissuers:"+many.String())).Error()
	for _, want := range []string{`issuers[16]: got "https://a.example", allowed: each url once with the same audience`, `issuers: got "17 issuers", allowed: at most 16`} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
}
