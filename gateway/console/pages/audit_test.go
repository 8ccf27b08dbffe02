package pages_test

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"sluice/policy/teams"
)

var moreEntries = regexp.MustCompile(`href="(/audit\?before=[^"]*)"`)

// TestAPageOfTheAuditIsBounded: 1 MiB of HTML, whatever the entries have; and every entry is on a page.
func TestAPageOfTheAuditIsBounded(t *testing.T) {
	g := empty()
	for i := range 130 {
		long := strings.Repeat([]string{"\"", "<", "\u202e", "x"}[i%4], 1300)
		if i%50 == 7 { // from when entries had whole teams
			long = strings.Repeat(long, 400)
		}
		text, err := json.Marshal(map[string]string{"description": long})
		if err != nil {
			t.Fatal(err)
		}
		prose := strings.Repeat("\"", 200)
		g.entries = append(g.entries, teams.Entry{Seq: int64(130 - i), Time: noon, Who: prose, Reason: prose, What: "team.change",
			Team: "search", Before: text, After: text})
	}
	h, seen := g.handler(operator), 0
	for path := "/audit"; path != ""; {
		w := get(t, h, path)
		text := w.Body.String()
		if w.Code != http.StatusOK || len(text) > 1<<20 {
			t.Fatalf("%s: %d with %d bytes", path, w.Code, len(text))
		}
		if at := strings.Count(text, "bytes more: sluice audit --json has them"); strings.Contains(text,
			fmt.Sprintf(">%d</th>", 130-7)) && at == 0 {
			t.Errorf("%s does not say that a text is cut", path)
		}
		here := strings.Count(text, `<tr><th scope="row"`)
		if seen += here; here == 0 {
			t.Fatalf("%s has no entry", path)
		}
		path = ""
		if next := moreEntries.FindStringSubmatch(text); next != nil {
			path = html.UnescapeString(next[1])
		}
	}
	if seen != len(g.entries) {
		t.Errorf("%d entries are on pages, want %d", seen, len(g.entries))
	}
}
