package console

import (
	"net/http"
	"testing"

	"sluice/policy/teams"
)

// richDocument is a directory with everything that a team may have, in the notation of people.
const richDocument = `
version: 7
teams:
  - {id: all, description: "Büro <b> & 'x' \\ \"y\" 搜索 #1: {a}, [b]", members: [map-people, "alice@example.com", "1.50"], self_service: true, disabled: false, shadow: true,
     models: ["llm-*", "5", "*"], endpoints: [text, image, tasks], tag_key: project, key_days: none, concurrent: 3, open_tasks: none,
     rates: {requests: {per: 90s, limit: 60, burst: 5}, tokens: none, images: {per: "1m", limit: 4}},
     quotas: {requests: {day: 0}, tokens: {day: 9007199254740991, month: none}, spend: {day: 0.000000001, month: 800.10}},
     rules: {text.top_p: off}}
  - id: keyed
    key_days: 30
    description: 5
    keys:
      - {id: bbbbbbbbbbbb, sha256: 9F86D081884C7D659A2FEAA0C55AD015A3BF4F1B2B0B822CD15D6C15B0F00A09, note: "never ends"}
      - {id: cccccccccccc, sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a0a, expires: "2099-06-30T02:00:00+02:00", disabled: true}
      - {id: dddddddddddd, sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a0b, expires: "2001-01-01T00:00:00.5Z"}
  - {id: nulls, rates: , quotas: , members: , keys: , rules: }
  - id: bare
`

// TestPutOfWhatGetGave makes no change, no entry and no other ETag, whatever the team has.
func TestPutOfWhatGetGave(t *testing.T) {
	w := newWorld(t)
	given, err := teams.ReadDocument([]byte(richDocument))
	if err != nil {
		t.Fatal(err)
	}
	_, err = teams.Commit(t.Context(), w.store, teams.Order{Who: "test", Now: noon}, func(teams.Document) (teams.Change, error) {
		return teams.Import{Document: given}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, team := range given.Teams {
		got := w.expect(operator, "GET /teams/"+team.ID, "", http.StatusOK, "")
		etag := got.header.Get("ETag")
		put := w.expect(operator, "PUT /teams/"+team.ID, got.body, http.StatusOK, "", "If-Match: "+etag)
		if put.body != got.body || put.header.Get("ETag") != etag {
			t.Errorf("%s was\n%s\n%s\nand is\n%s\n%s", team.ID, etag, got.body, put.header.Get("ETag"), put.body)
		}
	}
	var entries List[Key]
	w.expect(operator, "GET /audit", "", http.StatusOK, "").into(t, &entries)
	if len(entries.Data) != 1 {
		t.Errorf("%d entries, want that of the import", len(entries.Data))
	}
}
