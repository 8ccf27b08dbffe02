package teams_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/policy/teams"
)

var updateTeams = flag.Bool("update-teams", false, "write the golden files of the teams file's faults and warnings")

// TestAllFaultsOfAFileAtOnce: one file with every fault gives all of them at once, in the order of its lines.
func TestAllFaultsOfAFileAtOnce(t *testing.T) {
	faults := faultsOf(t, readDoc(t, "testdata/faults.yaml"))
	goldenDoc(t, "testdata/faults.golden", faults.Error()+"\n")
	var carets strings.Builder
	for _, f := range faults {
		carets.WriteString(f.Caret())
	}
	goldenDoc(t, "testdata/carets.golden", carets.String())
	for _, text := range []string{faults.Error(), carets.String()} {
		if strings.Contains(text, "canary") {
			t.Error("a fault shows a canary")
		}
	}
}

// TestAllWarningsOfAFile: a legal but maybe unintended value is a warning, not a fault.
func TestAllWarningsOfAFile(t *testing.T) {
	file, err := teams.Parse(readDoc(t, "testdata/warnings.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	goldenDoc(t, "testdata/warnings.golden", strings.Join(file.Warnings(), "\n")+"\n")
}

// faultsOf parses a file that must have faults.
func faultsOf(t testing.TB, doc []byte) teams.Faults {
	t.Helper()
	file, err := teams.Parse(doc)
	var faults teams.Faults
	if !errors.As(err, &faults) || file != nil || len(faults) == 0 {
		t.Fatalf("Parse gave %v, %v, want nil and faults for:\n%s", file, err, doc)
	}
	return faults
}

func readDoc(t testing.TB, name string) []byte {
	t.Helper()
	doc, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func goldenDoc(t *testing.T, name, got string) {
	t.Helper()
	if *updateTeams {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(readDoc(t, name)), got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", name, diff)
	}
}

// Every field's faults, in documents of one fault. A want without a line is a part of the fault.
func TestFaultsOfEachField(t *testing.T) {
	const address = `an address such as https://login.example/realm, without user, query and fragment (http on this machine alone)`
	for _, group := range []struct {
		before, after string
		faults        map[string]string
	}{
		{"teams: []\n", "", map[string]string{
			"catalogue: llm-max":                `line 2:12: catalogue: got a single value, allowed: a list of model names`,
			"catalogue: [a, a]":                 `line 2:16: catalogue[1]: got "a", allowed: each model once`,
			"catalogue: [\"llm-*\"]":            `line 2:13: catalogue[0]: got "llm-*", allowed: a model's name of 1 to 128 bytes without spaces and *`,
			"aliases: [a]":                      `line 2:10: aliases: got a list, allowed: names with the models that they stand for`,
			"aliases: {\"gpt *\": llm-max}":     `line 2:11: aliases."gpt *": got "gpt *", allowed: a model's name of 1 to 128 bytes without spaces and *`,
			"aliases: {gpt-4o: }":               `line 2:18: aliases.gpt-4o: got no value, allowed: a model's name of 1 to 128 bytes without spaces and *`,
			"aliases: {a: b, b: llm-max}":       `line 2:14: aliases.a: got "b", allowed: a model of the service, not another alias`,
			"aliases: {a: b, a: c}":             `line 2:17: aliases.a: stands twice, first in line 2`,
			"aliases: {gpt-4o: gpt-4o}":         `line 2:19: aliases.gpt-4o: got "gpt-4o", allowed: a model of the service, not another alias`,
			"aliases: {gpt-4o: {model: llm-x}}": `line 2:19: aliases.gpt-4o: got fields with values, allowed: a model's name of 1 to 128 bytes without spaces and *`,
		}},
		{"teams: []\nissuers: [", "]", map[string]string{
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
		}},
		{"", "", map[string]string{
			"teams: [{id: a, tag_quotas: {spend: {day: 5}}}]":                                        `line 1:29: teams[0].tag_quotas: got tag_quotas without a tag_key, allowed: with a tag_key, which names the tag that they count by`,
			"teams: [{id: a, tag_key: none, tag_quotas: {spend: {day: 5}}}]":                         `line 1:44: teams[0].tag_quotas: got tag_quotas without a tag_key, allowed: with a tag_key, which names the tag that they count by`,
			"defaults: {tag_quotas: {spend: {day: 5}}}\nteams: [{id: a}]":                            `line 1:24: defaults.tag_quotas: got tag_quotas without a tag_key, allowed: with a tag_key, which names the tag that they count by`,
			"defaults: {tag_key: p, tag_quotas: {spend: {day: 5}}}\nteams: [{id: a, tag_key: none}]": `line 2:9: teams[0]: got tag_quotas without a tag_key, allowed: with a tag_key, which names the tag that they count by`,
			"teams: [{id: a, tag_key: P, tag_quotas: {spend: {day: 5}}}]":                            `line 1:26: teams[0].tag_key: got "P", allowed: the name of a tag, 1 to 62 of a–z, 0–9, dot, underscore and hyphen, or none`,
			"teams: [{id: a, tag_key: p, tag_quotas: {spend: {week: 5}}}]":                           `line 1:50: teams[0].tag_quotas.spend.week: unknown field, allowed: day or month`,
			"teams: [{id: a, tag_key: p, tag_quotas: {money: {day: 5}}}]":                            `line 1:42: teams[0].tag_quotas.money: unknown field, allowed: requests, tokens, images or spend`,
			"teams: [{id: a, tag_key: p, tag_quotas: {images: {day: -1}}}]":                          `line 1:56: teams[0].tag_quotas.images.day: got "-1", allowed: a whole number from 0 to 9007199254740991`,
			"defaults: {members: [a]}\nteams: []":                                                    "line 1:12: defaults.members: unknown field, allowed: models, ",
		}},
		{"teams:\n  - {id: maps, ", "}\n", map[string]string{
			`members: [""]`:                                          `teams[0].members[0]: got "", allowed: a group or an e-mail`,
			`members: [" alice"]`:                                    "without spaces at its ends",
			`members: ["a\u202eb"]`:                                  "allowed: a group or an e-mail",
			`members: [a, b, a]`:                                     `teams[0].members[2]: got "a", allowed: each group and e-mail once`,
			`members: alice`:                                         "got a single value, allowed: a list of groups and e-mails",
			`members: [[a]]`:                                         "got a list, allowed: a group",
			`members: [` + strings.Repeat("a", 201) + `]`:            "1 to 200 characters",
			`members: [` + strings.Repeat("x, y, ", 60) + `z]`:       "each group and e-mail once",
			`members: [m` + strings.Join(numbered(101), ", m") + `]`: "teams[0].members: got 101 groups and e-mails, allowed: at most 100",
			`self_service: "yes"`:                                    "teams[0].self_service: got \"yes\", allowed: true or false, without quotes",
			`self_service: perhaps`:                                  "allowed: true or false",
		}},
	} {
		for given, want := range group.faults {
			got := faultsOf(t, []byte(group.before+given+group.after)).Error()
			if got != want && (strings.HasPrefix(want, "line") && !strings.HasSuffix(want, " ") || !strings.Contains(got, want)) {
				t.Errorf("%.80s\n got %s\nwant %s", given, got, want)
			}
		}
	}
}

func TestAtMost16IssuersEachOnce(t *testing.T) {
	var many strings.Builder
	for i := range 17 {
		fmt.Fprintf(&many, "\n  - {url: https://a.example, audience: a%d, teams: {}}", i%16)
	}
	got := faultsOf(t, []byte("teams: []\nissuers:"+many.String())).Error()
	for _, want := range []string{`issuers[16]: got "https://a.example", allowed: each url once with the same audience`, `issuers: got 17 issuers, allowed: at most 16`} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
}

func numbered(n int) (all []string) {
	for i := range n {
		all = append(all, strconv.Itoa(i))
	}
	return all
}
