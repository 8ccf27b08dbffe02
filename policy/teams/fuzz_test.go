package teams_test

import (
	"errors"
	"strings"
	"testing"

	"sluice/policy/strictyaml"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// FuzzParse: no file ends the process, gives half a result, or makes a fault repeat a key.
func FuzzParse(f *testing.F) {
	for _, name := range []string{exampleFile, "testdata/faults.yaml", "testdata/warnings.yaml", "testdata/read/whole.yaml"} {
		f.Add(readDoc(f, name))
	}
	for _, seed := range []string{
		"", "teams: []", "{teams: [{id: a, keys: [{id: 7f3k9q2m4x1c, sha256: slk_aaaaaaaaaaaa_canary00000000000000000000000000000000000pX1}]}]}",
		"teams: &a [*a]", "? [a]\n: b", "teams: !!a\n  -", "%a\n---\n",
		"- - - a", "{a: [{b: c}, d], e}", "a: |\n  b\nc: >-\n d", "'", "\ufeff\r\n", "teams:\n- \n- id", "? \n? -", "<<: *a", "a: \"\\u00",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		if len(doc) > 16<<10 {
			return // the YAML library's time grows with the square of a mapping's width
		}
		file, err := teams.Parse(doc)
		if err == nil {
			checkTeams(t, file)
			return
		}
		var faults strictyaml.Faults
		if !errors.As(err, &faults) || len(faults) == 0 || file != nil {
			t.Fatalf("got %v, %v", file, err)
		}
		line := 0
		for _, fault := range faults {
			if fault.Line < line || strings.Contains(fault.String(), "\n") || fault.Detail() == "got " {
				t.Errorf("%q comes after line %d", fault, line)
			}
			line = fault.Line
		}
		checkNoKey(t, err.Error())
	})
}

// checkTeams checks an accepted file against the promises of its types.
func checkTeams(t *testing.T, file *teams.File) {
	t.Helper()
	checkNoKey(t, strings.Join(file.Warnings(), "\n"))
	seen := map[string]bool{}
	for _, team := range file.List {
		if seen[team.ID] || file.Team(team.ID) != team {
			t.Errorf("two teams %q", team.ID)
		}
		seen[team.ID] = true
		for _, rate := range team.Rates {
			per := rate.Per.Microseconds()
			if per < 1e6 || rate.Limit < 1 || rate.Burst < 1 || rate.Burst > unit.Most/per ||
				rate.Burst*per/rate.Limit < (per+rate.Limit-1)/rate.Limit {
				t.Errorf("%+v", rate)
			}
		}
		for _, quota := range team.Quotas {
			if quota.Limit < 0 || quota.Limit > unit.Most {
				t.Errorf("%+v", quota)
			}
		}
		for _, key := range team.Keys {
			if !file.HasKey(key.SHA256) {
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
