package teams_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"sluice/policy/teams"
)

// someDocument draws a directory.
func someDocument(t *rapid.T) teams.Document {
	d := teams.Document{}
	keys := 0
	for i := range rapid.IntRange(1, 6).Draw(t, "teams") {
		members := []string{}
		for _, member := range [][]string{
			{"description", `"Suche & Karten"`, `"搜索 <x>"`, `"البحث"`}, {"disabled", "true", "false"}, {"concurrent", "3", `"none"`},
			{"key_days", "90", `"none"`}, {"models", `["llm-*","5"]`}, {"rates", `{"requests":{"per":"1m","limit":60}}`, `{"tokens":"none"}`},
			{"quotas", `{"spend":{"month":800.000000001}}`}, {"rules", `{"text.top_p":"off"}`},
		} {
			if rapid.Bool().Draw(t, member[0]) {
				members = append(members, member[0], rapid.SampledFrom(member[1:]).Draw(t, "value of "+member[0]))
			}
		}
		d = changed(t, d, teams.CreateTeam{Team: spec(fmt.Sprintf("team-%d", i), members...)})
		for range rapid.IntRange(0, 2).Draw(t, "keys") {
			keys++
			d = changed(t, d, teams.AddKey{Team: fmt.Sprintf("team-%d", i), Minted: minted(t, keys), Order: teams.KeyOrder{Note: "搜索"}, Now: today})
		}
	}
	return d
}

// TestAnImportIsLosslessAndIdempotent: whatever directory is exported, an import restores it, and another changes nothing.
func TestAnImportIsLosslessAndIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := someDocument(t)
		read, err := teams.ReadDocument(d.Text())
		if err != nil || string(read.Text()) != string(d.Text()) {
			t.Fatalf("%v\nwas  %s\nread %s", err, d.Text(), read.Text())
		}
		empty := changed(t, teams.Document{}, teams.Import{Document: read})
		if string(empty.Text()) != string(d.Text()) {
			t.Fatalf("was      %s\nrestored %s", d.Text(), empty.Text())
		}
		other := changed(t, d, teams.CreateTeam{Team: spec("other")})
		for _, from := range []teams.Document{d, other} {
			once := changed(t, from, teams.Import{Document: read, Force: true})
			twice, entry, err := teams.Apply(once, teams.Import{Document: read})
			if err != nil || twice.Version != once.Version || entry.What != "" {
				t.Fatalf("the second import: version %d after %d, %v", twice.Version, once.Version, err)
			}
		}
	})
}

// TestAnImportLeavesRoomForChanges: an import with the largest version is refused. The next change would raise it beyond what Read
// accepts.
func TestAnImportLeavesRoomForChanges(t *testing.T) {
	given, err := teams.ReadDocument([]byte("version: 9007199254740991\nteams: [{id: search}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	d, _, err := teams.Apply(teams.Document{}, teams.Import{Document: given})
	if err == nil {
		d, _, err = teams.Apply(d, teams.CreateTeam{Team: spec("maps")})
	}
	if err == nil {
		_, err = teams.ReadDocument(d.Text())
		t.Errorf("version %d is written: %v", d.Version, err)
		return
	}
	const want = "version: got 9007199254740991, allowed: at most 4503599627370495; leave it out"
	if err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if d, _, err = teams.Apply(teams.Document{}, teams.Import{Document: teams.Document{Teams: given.Teams}}); err != nil || d.Version != 1 {
		t.Errorf("without: version %d, %v", d.Version, err)
	}
}

// TestTextsStayAsTheyAre: any text that a person writes is kept letter for letter, or refused.
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
