package limittest

import (
	"testing"

	"sluice/policy/teams"
)

// Team reads a team from lines of a teams file.
func Team(t testing.TB, lines ...string) *teams.Team {
	t.Helper()
	doc := "teams:\n  - id: search\n"
	for _, line := range lines {
		doc += "    " + line + "\n"
	}
	file, err := teams.Parse([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	return file.List[0]
}
