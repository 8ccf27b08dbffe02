package teams_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"sluice/policy/teams"
)

const exampleFile = "../../teams.example.yaml"

// TestTeamsExample: the example parses without faults or warnings, and matches its comments.
func TestTeamsExample(t *testing.T) {
	file, err := teams.Parse(readDoc(t, exampleFile))
	if err != nil {
		t.Fatal(err)
	}
	if warnings := file.Warnings(); warnings != nil {
		t.Errorf("the example is warned of: %q", warnings)
	}
	batch := file.Team("batch-reports")
	if batch.Concurrent != 100 || len(batch.Rates) != 1 || len(batch.Quotas) != 0 || !batch.MayUseModel("any") {
		t.Errorf("the least team is %+v", batch)
	}
}

// unknownMember is a field unknown to every mapping.
const unknownMember = "zzz"

// TestTeamsExampleIsComplete adds an unknown field to each mapping of the example: every field that the fault then lists
// must occur in the example.
func TestTeamsExampleIsComplete(t *testing.T) {
	var root map[string]any
	if err := yaml.Unmarshal(readDoc(t, exampleFile), &root); err != nil {
		t.Fatal(err)
	}
	given := map[string]bool{}
	spoil(root, "", given)
	doc, err := yaml.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	offered := offeredFields(faultsOf(t, doc))
	if len(offered) < 40 {
		t.Fatalf("only %d fields are known; is the test still reading the faults?", len(offered))
	}
	for _, field := range slices.Sorted(maps.Keys(offered)) {
		if !given[field] {
			t.Errorf("%s is a field of the teams file and not in %s", field, exampleFile)
		}
	}
}

var (
	position = regexp.MustCompile(`\[[0-9]+\]`)
	offer    = regexp.MustCompile(`^unknown field.*, allowed: (.*)$`)
)

// place writes a path without positions; a team may have every field of the defaults.
func place(path string) string {
	path = position.ReplaceAllString(strings.TrimPrefix(path, "."), "[]")
	return regexp.MustCompile(`^defaults\.`).ReplaceAllString(path, "teams[].")
}

// spoil notes the path of every field under value and adds an unknown one to every mapping.
func spoil(value any, path string, given map[string]bool) {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			given[place(path+"."+name)] = true
			spoil(member, path+"."+name, given)
		}
		v[unknownMember] = 1
	case []any:
		for _, item := range v {
			spoil(item, path+"[0]", given)
		}
	}
}

// offeredFields returns the paths of the fields that are allowed beside the unknown ones.
func offeredFields(faults teams.Faults) map[string]bool {
	offered := map[string]bool{}
	for _, f := range faults {
		names := offer.FindStringSubmatch(f.Text)
		if names == nil {
			continue
		}
		at := strings.TrimSuffix(f.Field, unknownMember)
		for _, name := range strings.Split(strings.ReplaceAll(names[1], " or ", ", "), ", ") {
			offered[place(at+name)] = true
		}
	}
	return offered
}

// TestFD2TornTeamsFile: a partly written file is refused or has teams; no beginning of it is accepted as a file without
// teams, which would lock out everybody.
func TestFD2TornTeamsFile(t *testing.T) {
	doc := readDoc(t, exampleFile)
	for end := range doc {
		file, err := teams.Parse(doc[:end])
		if err == nil && len(file.List) == 0 {
			t.Errorf("the first %d bytes are a file without teams", end)
		}
	}
}
