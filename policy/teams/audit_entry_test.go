package teams_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sluice/policy/teams"
)

// last is the last entry of a trail.
func (s *trail) last(t *testing.T) teams.Entry {
	t.Helper()
	e, err := teams.ReadEntry(s.Last)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestAnEntryOfAKeyHasThatKeyAlone: members change keys often, and a team has up to a hundred with long notes.
func TestAnEntryOfAKeyHasThatKeyAlone(t *testing.T) {
	s := &trail{}
	s.then(t, teams.CreateTeam{Team: spec("search", "description", `"Search"`)})
	note := strings.Repeat("é", 200)
	for i := range 20 {
		s.then(t, teams.AddKey{Team: "search", Minted: minted(t, i), Order: teams.KeyOrder{Note: note}, Now: today})
		if n := len(s.Last); n > 1024 {
			t.Fatalf("the entry of key %d has %d bytes", i, n)
		}
	}
	first, next := minted(t, 0).ID, minted(t, 99).ID
	const ends = "2026-11-23T12:00:00Z"
	for _, tt := range []struct {
		change        teams.Change
		before, after string
	}{
		{
			teams.AddKey{Team: "search", Minted: minted(t, 99), Order: teams.KeyOrder{Note: "n", Replaces: first,
				OldEnds: at(today.AddDate(0, 0, 1))}, Now: today}, fmt.Sprintf(`{"keys":[{"id":%q,"note":%q}]}`, first, note),
			fmt.Sprintf(`{"keys":[{"id":%q,"expires":%q,"note":%q},{"id":%q,"note":"n"}]}`, first, ends, note, next),
		},
		{teams.RemoveKey{Team: "search", Key: next}, fmt.Sprintf(`{"keys":[{"id":%q,"note":"n"}]}`, next), ""},
		{teams.ReplaceTeam{Team: spec("search", "description", `"Maps"`, "concurrent", "5"), Now: today, IfMatch: "*"},
			`{"description":"Search"}`, `{"concurrent":5,"description":"Maps"}`},
		{teams.ReplaceTeam{Team: spec("search", "description", `"Maps"`), Now: today, IfMatch: "*"}, `{"concurrent":5}`, ""},
	} {
		s.then(t, tt.change)
		if e := s.last(t); string(e.Before) != tt.before || string(e.After) != tt.after {
			t.Errorf("%s:\n%s\n%s", e.What, e.Before, e.After)
		}
	}
}

// TestNoEntryHasTheAddressOfAHook: a chat's is a secret. A change of it is visible.
func TestNoEntryHasTheAddressOfAHook(t *testing.T) {
	hooks := func(path string) string {
		return `[{"id":"chat","kind":"slack","url":"https://chat.example/` + path + `"}]`
	}
	s := &trail{}
	s.then(t, teams.CreateTeam{Team: spec("search", "hooks", hooks("CANARY-1"))})
	s.then(t, teams.ReplaceTeam{Team: spec("search", "hooks", hooks("CANARY-2")), Now: today, IfMatch: "*"})
	e, blanked := s.last(t), regexp.MustCompile(`^{"hooks":\[{"id":"chat","kind":"slack","url":"sha256:[0-9a-f]{12}"}\]}$`)
	for _, text := range []json.RawMessage{e.Before, e.After} {
		if !blanked.Match(text) {
			t.Errorf("%s", text)
		}
	}
	if string(e.Before) == string(e.After) {
		t.Error("the change is not visible")
	}
	s.then(t, teams.AddKey{Team: "search", Minted: minted(t, 1), Now: today})
	s.then(t, teams.Import{Document: teams.Document{Teams: []teams.Spec{spec("search", "hooks", hooks("CANARY-3")),
		spec("shop", "hooks", hooks("CANARY-4"))}}, Force: true})
	s.then(t, teams.ReplaceTeam{Team: spec("shop", "hooks", `"none"`), Now: today, IfMatch: "*"})
	if e := s.last(t); string(e.After) != `{"hooks":"none"}` {
		t.Errorf("%s", e.After)
	}
	s.then(t, teams.EndTeam{ID: "search", IfMatch: "*", Now: today})
	s.then(t, teams.RemoveTeam{ID: "search"})
	for _, text := range s.entries {
		if strings.Contains(string(text), "CANARY") || strings.Contains(string(text), "chat.example") {
			t.Errorf("%s", text)
		}
	}
	if faults := prove(s.entries, s.State); faults != nil {
		t.Error(faults)
	}
}

// TestAnEntryIsBounded, whatever was changed: what is too long is replaced by a digest of the whole; the rest is kept.
func TestAnEntryIsBounded(t *testing.T) {
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprintf("group-%d-%s@example.com", i, strings.Repeat("x", 50)))
	}
	members, err := json.Marshal(many)
	if err != nil {
		t.Fatal(err)
	}
	s := &trail{}
	s.then(t, teams.CreateTeam{Team: spec("search", "description", `"Search"`, "members", string(members))})
	sum := sha256.Sum256(members)
	want := fmt.Sprintf(`{"description":"Search","id":"search","members":{"cut":{"bytes":%d,"sha256":%q}}}`, len(members),
		hex.EncodeToString(sum[:]))
	if e := s.last(t); string(e.After) != want {
		t.Errorf("%s\nwant\n%s", e.After, want)
	}
	d, err := s.Open()
	if err != nil || string(d.Teams[0].Members["members"]) != string(members) {
		t.Errorf("the document is cut: %v", err)
	}
	for i := range 100 {
		d.Teams[0].Keys = append(d.Teams[0].Keys, teams.Key{ID: minted(t, i).ID, SHA256: sha256.Sum256([]byte(minted(t, i).Reveal())),
			Note: strings.Repeat("é", 200)})
	}
	s.then(t, teams.Import{Document: teams.Document{Teams: d.Teams}})
	// each key gets an end
	s.then(t, teams.ReplaceTeam{Team: spec("search", "disabled", "true", "removing", "true", "key_days", "5"), Now: today, IfMatch: "*"})
	s.then(t, teams.RemoveTeam{ID: "search"})
	d.Teams = nil
	for i := range 50 {
		d.Teams = append(d.Teams, spec(fmt.Sprintf("team-%02d", i), "description", `"`+strings.Repeat("x", 200)+`"`))
	}
	s.then(t, teams.Import{Document: teams.Document{Teams: d.Teams}})
	for i, text := range s.entries {
		if len(text) > teams.MostEntry {
			t.Errorf("entry %d has %d bytes", i+1, len(text))
		}
	}
	if faults := prove(s.entries, s.State); faults != nil {
		t.Error(faults)
	}
}

// TestAnyEntryIsBounded: with the longest texts of an order, and any members.
func TestAnyEntryIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := func(label string) json.RawMessage {
			members := map[string]string{}
			for i := range rapid.IntRange(0, 40).Draw(t, label) {
				members[fmt.Sprint("m", i)] = strings.Repeat(rapid.SampledFrom([]string{"<", "\"", "é", "x"}).Draw(t, "letter"),
					rapid.IntRange(0, 2000).Draw(t, "length"))
			}
			text, err := json.Marshal(members)
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
		long := strings.Repeat(rapid.SampledFrom([]string{"\"", "𝕏", "搜"}).Draw(t, "text"), 200)
		entry := teams.Entry{What: "usage.adjust.refused", Team: strings.Repeat("t", 63), Key: "aaaaaaaaaaaa", Before: value("before"),
			After: value("after")}
		next, err := teams.State{}.Next(nil, entry, teams.Order{Who: long, Address: long, Reason: long, Now: today})
		if err != nil || len(next.Last) > teams.MostEntry {
			t.Fatalf("%d bytes, %v", len(next.Last), err)
		}
	})
}

// TestOldLongEntriesAreProved: older versions wrote whole teams as entries.
func TestOldLongEntriesAreProved(t *testing.T) {
	s := someTrail(t, 1)
	e := s.last(t)
	e.Before = json.RawMessage(`{"id":"a","description":"` + strings.Repeat("x", 100_000) + `"}`)
	s.Last = e.Text()
	s.entries[0] = s.Last
	s.then(t, teams.CreateTeam{Team: spec("b")})
	if faults := prove(s.entries, s.State); faults != nil {
		t.Error(faults)
	}
	if faults := prove([][]byte{bytes.Replace(s.entries[0], []byte("xxx"), []byte("xyx"), 1), s.entries[1]},
		s.State); !slices.Contains(faults, "entry 1 is not the one that entry 2 follows") {
		t.Error(faults)
	}
}
