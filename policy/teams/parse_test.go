package teams_test

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/policy"
	"sluice/policy/teams"
)

// A faulty teams file gives all faults at once, each with the allowed values, and never a key.
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
	// line 3:9: teams[0].id: got "Search", allowed: 1 to 63 of a–z, 0–9 and -, the first no -
	// line 6:17: teams[0].keys[0].sha256: got no SHA-256 (not shown: it may be a plain key), allowed: the SHA-256 of the whole key as 64 hexadecimal digits
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

// TestTeamsManyTeams: a file of thousands of teams is read and each key leads to its team, from many requests at once.
func TestTeamsManyTeams(t *testing.T) {
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
