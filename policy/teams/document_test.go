package teams_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"sluice/policy/teams"
)

// TestTextsStayAsTheyAre: whatever a person writes into a text is kept letter for letter, or refused.
func TestTextsStayAsTheyAre(t *testing.T) {
	letters := rapid.RuneFrom([]rune("\"'\\/:,#{}[]&*!|>%@`~-?=<. \u00a0ntux0aä搜😀\u200d\u202e\u0301\ufeff\t\u2028\u0085"))
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(letters, 0, 12, -1).Draw(t, "text")
		value, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		members, _ := json.Marshal([]string{text})
		given := spec("search", "description", string(value))
		if rapid.Bool().Draw(t, "members") {
			given = spec("search", "description", string(value), "members", string(members))
		}
		d, _, err := teams.Apply(teams.Document{}, teams.CreateTeam{Team: given})
		if err != nil {
			if teams.IsProse(text) && given.Members["members"] == nil {
				t.Fatalf("%q is refused: %v", text, err)
			}
			return
		}
		var kept string
		if err := json.Unmarshal(d.Teams[0].Members["description"], &kept); err != nil || kept != text {
			t.Fatalf("%q is kept as %q", text, kept)
		}
		again, err := teams.ReadDocument(d.Text())
		if err != nil || string(again.Text()) != string(d.Text()) {
			t.Fatalf("%q is read again as %s, %v", text, again.Text(), err)
		}
	})
}
