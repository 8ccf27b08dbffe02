package teams_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"sluice/policy/teams"
)

// today is when the changes of these tests are made.
var today = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// minted is a key made of a number; equal numbers make equal keys.
func minted(t tb, number int) teams.MintedKey {
	t.Helper()
	sum := sha256.Sum256(fmt.Append(nil, number))
	key, err := teams.MintKey(strings.NewReader(strings.Repeat(string(sum[:]), 2)))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// spec is a team with members as in a teams file.
func spec(id string, members ...string) teams.Spec {
	all := map[string]json.RawMessage{}
	for i := 0; i < len(members); i += 2 {
		all[members[i]] = json.RawMessage(members[i+1])
	}
	return teams.Spec{ID: id, Members: all}
}

// at is a moment that an order names.
func at(moment time.Time) *time.Time { return &moment }

// changed makes changes, one after the other.
func changed(t tb, d teams.Document, changes ...teams.Change) teams.Document {
	t.Helper()
	for _, change := range changes {
		next, _, err := teams.Apply(d, change)
		if err != nil {
			t.Fatal(err)
		}
		d = next
	}
	return d
}

func TestAKeyGetsAnEndFromItsTeam(t *testing.T) {
	in := func(days int) time.Time { return today.AddDate(0, 0, days) }
	for _, tt := range []struct {
		about    string
		keyDays  string
		defaults int
		expires  time.Time
		want     time.Time // zero: never
		fault    string
	}{
		{about: "no policy"},
		{about: "no policy, an end", expires: in(3), want: in(3)},
		{about: "a policy", keyDays: "90", want: in(90)},
		{about: "a policy, an earlier end", keyDays: "90", expires: in(3), want: in(3)},
		{about: "a policy, a later end", keyDays: "90", expires: in(91),
			fault: "expires: got 2027-02-21T12:00:00Z, allowed: at most 2027-02-20T12:00:00Z, because key_days of team search is 90 days; " +
				"choose an earlier end, or raise key_days"},
		{about: "the defaults' policy", defaults: 30, want: in(30)},
		{about: "the defaults' policy, taken away", defaults: 30, keyDays: `"none"`},
		{about: "the team's policy counts", defaults: 30, keyDays: "90", want: in(90)},
		{about: "an end in the past", expires: in(-1), fault: "expires: got a moment in the past, allowed: one after 2026-11-22T12:00:00Z"},
	} {
		search := spec("search")
		if tt.keyDays != "" {
			search = spec("search", "key_days", tt.keyDays)
		}
		d := changed(t, teams.Document{}, teams.CreateTeam{Team: search})
		order := teams.KeyOrder{}
		if !tt.expires.IsZero() {
			order.Expires = &tt.expires
		}
		d, entry, err := teams.Apply(d, teams.AddKey{Team: "search", Minted: minted(t, 1), Order: order, Now: today, DefaultDays: tt.defaults})
		if fmt.Sprint(err) != tt.fault && (err != nil || tt.fault != "") {
			t.Errorf("%s: %v, want %s", tt.about, err, tt.fault)
		}
		if err != nil {
			continue
		}
		key := d.Teams[0].Keys[0]
		if !key.Expires.Equal(tt.want) {
			t.Errorf("%s: the key ends %v, want %v", tt.about, key.Expires, tt.want)
		}
		if entry.What != "key.add" || entry.Team != "search" || entry.Key != key.ID {
			t.Errorf("%s: the entry is %+v", tt.about, entry)
		}
	}
}

func TestARotationEndsTheOldKey(t *testing.T) {
	d := changed(t, teams.Document{},
		teams.CreateTeam{Team: spec("search")},
		teams.AddKey{Team: "search", Minted: minted(t, 1), Order: teams.KeyOrder{Note: "indexer"}, Now: today},
		teams.AddKey{Team: "search", Minted: minted(t, 2), Order: teams.KeyOrder{Replaces: minted(t, 1).ID, OldEnds: at(today.AddDate(0, 0, 7))},
			Now: today},
	)
	keys := d.Teams[0].Keys
	if len(keys) != 2 || !keys[0].Expires.Equal(today.AddDate(0, 0, 7)) || !keys[1].Expires.IsZero() || keys[1].Note != "indexer" {
		t.Fatalf("the keys are %+v", keys)
	}
	file, err := teams.Parse([]byte("teams: []"))
	if err != nil {
		t.Fatal(err)
	}
	joined, _, err := file.Join(d.Text(), [sha256.Size]byte{})
	if err != nil {
		t.Fatal(err)
	}
	for number, until := range map[int]time.Time{1: today.AddDate(0, 0, 7), 2: today.AddDate(9, 0, 0)} {
		if _, _, ok := joined.Lookup(minted(t, number).Reveal(), until.Add(-time.Second)); !ok {
			t.Errorf("key %d does not work before %v", number, until)
		}
	}
	if _, _, ok := joined.Lookup(minted(t, 1).Reveal(), today.AddDate(0, 0, 7)); ok {
		t.Error("the old key works after its end")
	}
	d = changed(t, d, teams.AddKey{Team: "search", Minted: minted(t, 3),
		Order: teams.KeyOrder{Replaces: minted(t, 1).ID, OldEnds: at(today.AddDate(0, 0, 30))}, Now: today})
	if !d.Teams[0].Keys[0].Expires.Equal(today.AddDate(0, 0, 7)) {
		t.Error("a rotation has given the old key a later end")
	}
}

func TestKeyDaysEndOlderKeys(t *testing.T) {
	early := today.AddDate(0, 0, 5)
	d := changed(t, teams.Document{},
		teams.CreateTeam{Team: spec("search")},
		teams.AddKey{Team: "search", Minted: minted(t, 1), Now: today},
		teams.AddKey{Team: "search", Minted: minted(t, 2), Order: teams.KeyOrder{Expires: at(early)}, Now: today},
		teams.ReplaceTeam{Team: spec("search", "key_days", "30"), Now: today, IfMatch: "*"},
	)
	keys := d.Teams[0].Keys
	if !keys[0].Expires.Equal(today.AddDate(0, 0, 30)) || !keys[1].Expires.Equal(early) {
		t.Errorf("the keys are %+v", keys)
	}
	next, entry, err := teams.Apply(d, teams.ReplaceTeam{Team: spec("search", "key_days", "30"), Now: today.AddDate(0, 0, 3), IfMatch: "*"})
	if err != nil || next.Version != d.Version || entry.What != "" {
		t.Errorf("the same once more: version %d after %d, %v", next.Version, d.Version, err)
	}
}

func TestRefusedChanges(t *testing.T) {
	d := changed(t, teams.Document{},
		teams.CreateTeam{Team: spec("search")},
		teams.AddKey{Team: "search", Minted: minted(t, 1), Now: today},
	)
	whole := minted(t, 1).Reveal()
	beyond := time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -2*60*60)) // the year 10000 in UTC
	for _, tt := range []struct {
		change teams.Change
		code   teams.Code
		want   string
	}{
		{teams.CreateTeam{Team: spec("search")}, teams.CodeConflict, "id: team search exists; change it, or choose another id"},
		{teams.CreateTeam{Team: spec("Ads")}, teams.CodeInvalid, `id: got "Ads", allowed: 1 to 63 of a–z, 0–9 and -, not beginning with -`},
		{teams.CreateTeam{Team: spec("ads", "rates", `{"tokens":{"per":"2ms","limit":5}}`)}, teams.CodeInvalid,
			`rates.tokens.per: got "2ms", allowed: whole seconds from "1s" to "1h"`},
		{teams.CreateTeam{Team: spec("ads", "colour", `"red"`)}, teams.CodeInvalid, `colour: unknown field, allowed: id, `},
		{teams.CreateTeam{Team: spec("ads", "description", `"`+whole+`"`)}, teams.CodeInvalid,
			`got a plain key (not shown), allowed: its SHA-256; this key has been seen, so mint another`},
		{teams.CreateTeam{Team: teams.Spec{ID: "ads", Keys: d.Teams[0].Keys}}, teams.CodeInvalid,
			`keys: got keys, allowed: none; make the team, and then its keys`},
		{teams.CreateTeam{Team: spec("ads", "disabled", "{")}, teams.CodeInvalid, `disabled: got no JSON`},
		{teams.ReplaceTeam{Team: spec("search", whole, "{"), IfMatch: "*"}, teams.CodeInvalid, `[hidden]: got no JSON`},
		{teams.ReplaceTeam{Team: spec("ads"), IfMatch: "*"}, teams.CodeMissing,
			`id: team ads is not in the directory; a team of the teams file is changed there`},
		{teams.ReplaceTeam{Team: spec(whole), IfMatch: "*"}, teams.CodeMissing,
			`id: team [hidden] is not in the directory; a team of the teams file is changed there`},
		{teams.RemoveTeam{ID: "search"}, teams.CodeConflict, `removing: team search is not to be removed; set disabled and removing first`},
		{teams.ReplaceTeam{Team: spec("search", "removing", "true"), IfMatch: "*"}, teams.CodeInvalid,
			`got removing without disabled, allowed: both, or neither to keep the team`},
		{teams.RemoveKey{Team: "search", Key: whole}, teams.CodeMissing, `key: the team has no such key; look at the team's keys`},
		{teams.RemoveKey{Team: "ads", Key: "x"}, teams.CodeMissing,
			`id: team ads is not in the directory; a team of the teams file is changed there`},
		{teams.AddKey{Team: "search", Minted: minted(t, 1), Now: today}, teams.CodeInvalid, `id: this key id stands in line`},
		{teams.AddKey{Team: "search", Minted: minted(t, 2), Order: teams.KeyOrder{Note: "a\nb"}, Now: today}, teams.CodeInvalid,
			`note: got "a\nb", allowed: one line`},
		{teams.AddKey{Team: "search", Minted: minted(t, 2), Order: teams.KeyOrder{Expires: at(beyond)}, Now: today}, teams.CodeInvalid,
			`expires: got a time outside the years 1 to 9999`},
		{teams.AddKey{Team: "search", Minted: minted(t, 2), Order: teams.KeyOrder{Replaces: minted(t, 1).ID, OldEnds: at(beyond)}, Now: today},
			teams.CodeInvalid, `old_ends: got a time outside`},
		{teams.Import{Document: teams.Document{Version: 1}}, teams.CodeConflict,
			`version: got 1, allowed: 2, which is the directory's; export it again and repeat the change,` +
				` or use --force to undo what was changed since`},
	} {
		after, _, err := teams.Apply(d, tt.change)
		var refused *teams.Problem
		if !errors.As(err, &refused) || refused.Code != tt.code || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%T: %v, want %s", tt.change, err, tt.want)
		}
		if string(after.Text()) != string(d.Text()) || strings.Contains(fmt.Sprint(err), whole) {
			t.Errorf("%T: changed something, or shows a key: %v", tt.change, err)
		}
	}
}

func TestATeamIsRemovedThatIsToBe(t *testing.T) {
	d := changed(t, teams.Document{},
		teams.CreateTeam{Team: spec("search")},
		teams.ReplaceTeam{Team: spec("search", "disabled", "true", "removing", "true"), Now: today, IfMatch: "*"},
	)
	if ids := d.Removing(); len(ids) != 1 || ids[0] != "search" {
		t.Errorf("to be removed: %v", ids)
	}
	d = changed(t, d, teams.RemoveTeam{ID: "search"})
	if len(d.Teams) != 0 || d.Version != 3 {
		t.Errorf("the directory is %s", d.Text())
	}
}

func TestATeamHasABoundedNumberOfKeys(t *testing.T) {
	d := changed(t, teams.Document{}, teams.CreateTeam{Team: spec("search")})
	for i := range 99 {
		m := minted(t, i)
		d.Teams[0].Keys = append(d.Teams[0].Keys, teams.Key{ID: m.ID, SHA256: sha256.Sum256([]byte(m.Reveal()))})
	}
	d = changed(t, d, teams.AddKey{Team: "search", Minted: minted(t, 99), Now: today})
	_, _, err := teams.Apply(d, teams.AddKey{Team: "search", Minted: minted(t, 100), Now: today})
	if err == nil || err.Error() != "keys: team search has 100 keys, allowed: at most 100; remove one that is not used" {
		t.Error(err)
	}
}

// tb is what the helpers need of a test.
type tb interface {
	Helper()
	Fatal(args ...any)
}

// A disabled key is looked up like an unknown one, until it is enabled. What the change does not name stays.
func TestAKeyIsDisabledAndEnabled(t *testing.T) {
	file, err := teams.Parse([]byte("teams: []"))
	if err != nil {
		t.Fatal(err)
	}
	key := minted(t, 1)
	d := changed(t, teams.Document{}, teams.CreateTeam{Team: spec("search")},
		teams.AddKey{Team: "search", Minted: key, Order: teams.KeyOrder{Note: "indexer"}, Now: today})
	for _, disabled := range []bool{true, false} {
		order := teams.ChangeKey{Team: "search", Key: key.ID, IfMatch: d.Teams[0].ETag(), Members: fmt.Appendf(nil, `{"disabled":%t}`, disabled)}
		next, entry, err := teams.Apply(d, order)
		if err != nil {
			t.Fatal(err)
		}
		want := `{"keys":[{"id":"` + key.ID + `","disabled":true,"note":"indexer"}]}`
		if text := string(entry.After) + string(entry.Before); entry.What != "key.change" || entry.Key != key.ID ||
			!strings.Contains(text, want) {
			t.Errorf("the entry is %s of %s: %s", entry.What, entry.Key, text)
		}
		joined, _, err := file.Join(next.Text(), [sha256.Size]byte{})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, ok := joined.Lookup(key.Reveal(), today); ok == disabled {
			t.Errorf("disabled %t: the key works: %t", disabled, ok)
		}
		var lost *teams.Problem
		if _, _, err := teams.Apply(next, order); !errors.As(err, &lost) || lost.Code != teams.CodeLost {
			t.Errorf("with an old ETag: %v", err)
		}
		if d = next; d.Teams[0].Keys[0].Note != "indexer" {
			t.Errorf("the key lost its note: %+v", d.Teams[0].Keys)
		}
	}
}
