package teams_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"sluice/policy"
	"sluice/policy/strictyaml"
	"sluice/policy/teams"
)

// A faulty teams file yields all faults together, each with the allowed values, and never a key.
func ExampleParse() {
	_, err := teams.Parse([]byte(`
teams:
  - id: Search
    keys:
      - id: 7f3k9q2m4x1c
        sha256: my secret
    rates:
      request: {per: 1m, limit: 600}
`))
	fmt.Println(err)
	// Output:
	// line 3:9: teams[0].id: got "Search", allowed: 1 to 63 of a–z, 0–9 and -, not beginning with -
	// line 6:17: teams[0].keys[0].sha256: got another text (not shown: it may be a plain key), allowed: the SHA-256 of the whole key as 64 hexadecimal digits
	// line 8:7: teams[0].rates.request: unknown field (meant requests?), allowed: requests, tokens or images
}

// A key is looked up by the string that a client presented, at the time of the request.
func ExampleFile_Lookup() {
	sum := sha256.Sum256([]byte("slk_demo"))
	file, err := teams.Parse(fmt.Appendf(nil, `
teams:
  - id: search
    endpoints: [text]
    keys:
      - {id: 7f3k9q2m4x1c, sha256: %x, expires: 2027-06-30T00:00:00Z}
`, sum))
	if err != nil {
		fmt.Println(err)
		return
	}
	before := time.Date(2027, 6, 29, 0, 0, 0, 0, time.UTC)
	team, key, ok := file.Lookup("slk_demo", before)
	fmt.Println(team.ID, key.ID, ok, team.MayUse(policy.EndpointText), team.MayUse(policy.EndpointImage))
	_, _, ok = file.Lookup("slk_demo", before.AddDate(0, 0, 1))
	fmt.Println(ok)
	// Output:
	// search 7f3k9q2m4x1c true true false
	// false
}

// TestThousandsOfTeams: a file of thousands of teams is read and each key leads to its team, in concurrent requests.
func TestThousandsOfTeams(t *testing.T) {
	const count = 3000
	var doc strings.Builder
	doc.WriteString("teams:\n")
	for i := range count {
		fmt.Fprintf(&doc, "  - id: team-%d\n    keys:\n      - %s\n", i, keyLine(fmt.Sprintf("%012d", i), "key "+strconv.Itoa(i), ""))
	}
	teams := mustParse(t, doc.String())
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			for i := worker; i < count; i += 4 {
				team, _, ok := teams.Lookup("key "+strconv.Itoa(i), noon)
				if !ok || team.ID != "team-"+strconv.Itoa(i) || teams.Team(team.ID) != team {
					t.Errorf("key %d belongs to %v, %v", i, team, ok)
				}
			}
		})
	}
	group.Wait()
}

// BenchmarkParse reads the example, as every reload of a changed file does.
func BenchmarkParse(b *testing.B) {
	doc := readDoc(b, exampleFile)
	for b.Loop() {
		if _, err := teams.Parse(doc); err != nil {
			b.Fatal(err)
		}
	}
}

const exampleFile = "../../teams.example.yaml"

// TestExample: the example parses without faults or warnings, and matches its comments.
func TestExample(t *testing.T) {
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

// TestExampleHasEveryField adds an unknown field to each mapping of the example: every field that the fault then lists
// must occur in the example.
func TestExampleHasEveryField(t *testing.T) {
	var root map[string]any
	if err := yaml.Unmarshal(readDoc(t, exampleFile), &root); err != nil {
		t.Fatal(err)
	}
	given := map[string]bool{}
	spoil(root, "", given)
	given["teams[].regions"] = bytes.Contains(readDoc(t, exampleFile), []byte("\n    # regions: [")) // it needs an accounts file
	given["teams[].hooks"] = bytes.Contains(readDoc(t, exampleFile), []byte("\n    # hooks:\n"))     // they need files with secrets
	given["hooks"] = bytes.Contains(readDoc(t, exampleFile), []byte("\n# hooks:\n"))
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

var position = regexp.MustCompile(`\[[0-9]+\]`)

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
func offeredFields(faults strictyaml.Faults) map[string]bool {
	offered := map[string]bool{}
	for _, f := range faults {
		if f.Text != "unknown field" {
			continue
		}
		at := strings.TrimSuffix(f.Field, unknownMember)
		for name := range strings.SplitSeq(strings.ReplaceAll(f.Allowed, " or ", ", "), ", ") {
			offered[place(at+name)] = true
		}
	}
	return offered
}

// TestTornFileIsNoFileWithoutTeams: a partly written file is refused or has teams; no beginning of it is accepted as a file
// without teams, which would lock out every client.
func TestTornFileIsNoFileWithoutTeams(t *testing.T) {
	doc := regexp.MustCompile(`(?m)^ *#.*\n`).ReplaceAll(readDoc(t, exampleFile), nil) // comments are long and change nothing
	step := 1
	if testing.Short() {
		step = 37
	}
	for end := 0; end < len(doc); end += step {
		file, err := teams.Parse(doc[:end])
		if err == nil && len(file.List) == 0 {
			t.Errorf("the first %d bytes are a file without teams", end)
		}
	}
}
