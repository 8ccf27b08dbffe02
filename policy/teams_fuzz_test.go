package policy_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sluice/policy"
)

// FuzzParseTeams: no file ends the process, gives half a result, or gets a key repeated.
func FuzzParseTeams(f *testing.F) {
	for _, name := range []string{exampleFile, "testdata/teams/faults.yaml", "testdata/teams/warnings.yaml"} {
		f.Add(readDoc(f, name))
	}
	for _, seed := range []string{
		"", "teams: []", designFile, key("id: 7f3k9q2m4x1c, sha256: " + plainCanary), "teams: &a [*a]", "? [a]\n: b", "teams: !!a\n  -", "%a\n---\n",
		"- - - a", "{a: [{b: c}, d], e}", "a: |\n  b\nc: >-\n d", "'", "\ufeff\r\n", "teams:\n- \n- id", "? \n? -", "<<: *a", "a: \"\\u00",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		if len(doc) > 16<<10 {
			return // the YAML library's time grows with the square of a mapping's width
		}
		teams, err := policy.ParseTeams(doc)
		if err == nil {
			checkTeams(t, teams)
			return
		}
		var faults policy.Faults
		if !errors.As(err, &faults) || len(faults) == 0 || teams != nil {
			t.Fatalf("got %v, %v", teams, err)
		}
		line := 0
		for _, fault := range faults {
			if fault.Line < line || strings.Contains(fault.String(), "\n") || fault.Text == "" {
				t.Errorf("%q comes after line %d", fault, line)
			}
			line = fault.Line
		}
		checkNoKey(t, err.Error())
	})
}

// checkTeams holds an accepted file to what its types promise.
func checkTeams(t *testing.T, teams *policy.Teams) {
	t.Helper()
	checkNoKey(t, strings.Join(teams.Warnings(), "\n"))
	seen := map[string]bool{}
	for _, team := range teams.List {
		if seen[team.ID] || teams.Team(team.ID) != team {
			t.Errorf("two teams %q", team.ID)
		}
		seen[team.ID] = true
		for _, rate := range team.Rates {
			per := rate.Per.Microseconds()
			if per < 1e6 || rate.Limit < 1 || rate.Burst < 1 || rate.Burst > policy.MaxAmount/per ||
				rate.Burst*per/rate.Limit < (per+rate.Limit-1)/rate.Limit {
				t.Errorf("%+v", rate)
			}
		}
		for _, quota := range team.Quotas {
			if quota.Limit < 0 || quota.Limit > policy.MaxAmount {
				t.Errorf("%+v", quota)
			}
		}
		for _, key := range team.Keys {
			if !teams.HasKey(key.SHA256) {
				t.Errorf("key %s cannot be found", key.ID)
			}
		}
	}
}

func checkNoKey(t *testing.T, said string) {
	t.Helper()
	if strings.Contains(said, "canary00000000") {
		t.Errorf("a key is repeated: %s", said)
	}
}

// TestPatternProperty holds Pattern to the plain recursive meaning of a star.
func TestPatternProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringOfN(rapid.RuneFrom([]rune("ab*")), 0, 8, -1).Draw(t, "pattern")
		name := rapid.StringOfN(rapid.RuneFrom([]rune("ab")), 0, 10, -1).Draw(t, "name")
		if got, want := policy.Pattern(pattern).Match(name), matches(pattern, name); got != want {
			t.Fatalf("%q matches %q: %v, want %v", pattern, name, got, want)
		}
	})
}

func matches(pattern, name string) bool {
	switch {
	case pattern == "":
		return name == ""
	case pattern[0] == '*':
		return matches(pattern[1:], name) || name != "" && matches(pattern, name[1:])
	default:
		return name != "" && name[0] == pattern[0] && matches(pattern[1:], name[1:])
	}
}
