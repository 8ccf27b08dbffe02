package directory_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"sluice/policy/directory"
	"sluice/policy/teams"
)

// noon is when the changes of these tests are made.
var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

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

// team is a team with members as in a teams file.
func team(id string, members ...string) directory.Team {
	all := map[string]json.RawMessage{}
	for i := 0; i < len(members); i += 2 {
		all[members[i]] = json.RawMessage(members[i+1])
	}
	return directory.Team{ID: id, Members: all}
}

// changed makes changes, one after the other.
func changed(t tb, d directory.Document, changes ...directory.Change) directory.Document {
	t.Helper()
	for _, change := range changes {
		next, _, err := directory.Apply(d, change)
		if err != nil {
			t.Fatal(err)
		}
		d = next
	}
	return d
}

func TestAKeyGetsAnEndFromItsTeam(t *testing.T) {
	in := func(days int) time.Time { return noon.AddDate(0, 0, days) }
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
		{about: "a policy, a later end", keyDays: "90", expires: in(91), fault: "expires: got 2027-02-21T12:00:00Z, allowed: at most 2027-02-20T12:00:00Z, because key_days of team search is 90 days; choose an earlier end, or raise key_days"},
		{about: "the defaults' policy", defaults: 30, want: in(30)},
		{about: "the defaults' policy, taken away", defaults: 30, keyDays: `"none"`},
		{about: "the team's policy counts", defaults: 30, keyDays: "90", want: in(90)},
		{about: "an end in the past", expires: in(-1), fault: "expires: got a moment in the past, allowed: one after 2026-11-22T12:00:00Z"},
	} {
		search := team("search")
		if tt.keyDays != "" {
			search = team("search", "key_days", tt.keyDays)
		}
		d := changed(t, directory.Document{}, directory.CreateTeam{Team: search})
		d, entry, err := directory.Apply(d, directory.AddKey{Team: "search", Key: directory.NewKey{Minted: minted(t, 1), Expires: tt.expires, DefaultDays: tt.defaults, Now: noon}})
		if fmt.Sprint(err) != tt.fault && (err != nil || tt.fault != "") {
			t.Errorf("%s: %v, want %s", tt.about, err, tt.fault)
		}
		if err != nil {
			continue
		}
		key := d.Teams[0].Keys[0]
		if (key.Expires == nil) != tt.want.IsZero() || key.Expires != nil && !key.Expires.Equal(tt.want) {
			t.Errorf("%s: the key ends %v, want %v", tt.about, key.Expires, tt.want)
		}
		if entry.What != "key.add" || entry.Team != "search" || entry.Key != key.ID {
			t.Errorf("%s: the entry is %+v", tt.about, entry)
		}
	}
}

func TestARotationEndsTheOldKey(t *testing.T) {
	d := changed(t, directory.Document{},
		directory.CreateTeam{Team: team("search")},
		directory.AddKey{Team: "search", Key: directory.NewKey{Minted: minted(t, 1), Note: "indexer", Now: noon}},
		directory.RotateKey{Team: "search", Old: minted(t, 1).ID, Key: directory.NewKey{Minted: minted(t, 2), Now: noon}, OldEnds: noon.AddDate(0, 0, 7)},
	)
	keys := d.Teams[0].Keys
	if len(keys) != 2 || keys[0].Expires == nil || !keys[0].Expires.Equal(noon.AddDate(0, 0, 7)) || keys[1].Expires != nil || keys[1].Note != "indexer" {
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
	for number, until := range map[int]time.Time{1: noon.AddDate(0, 0, 7), 2: noon.AddDate(9, 0, 0)} {
		if _, _, ok := joined.Lookup(minted(t, number).Reveal(), until.Add(-time.Second)); !ok {
			t.Errorf("key %d does not work before %v", number, until)
		}
	}
	if _, _, ok := joined.Lookup(minted(t, 1).Reveal(), noon.AddDate(0, 0, 7)); ok {
		t.Error("the old key works after its end")
	}
	d = changed(t, d, directory.RotateKey{Team: "search", Old: minted(t, 1).ID, Key: directory.NewKey{Minted: minted(t, 3), Now: noon}, OldEnds: noon.AddDate(0, 0, 30)})
	if !d.Teams[0].Keys[0].Expires.Equal(noon.AddDate(0, 0, 7)) {
		t.Error("a rotation has given the old key a later end")
	}
}

func TestKeyDaysEndOlderKeys(t *testing.T) {
	early := noon.AddDate(0, 0, 5)
	d := changed(t, directory.Document{},
		directory.CreateTeam{Team: team("search")},
		directory.AddKey{Team: "search", Key: directory.NewKey{Minted: minted(t, 1), Now: noon}},
		directory.AddKey{Team: "search", Key: directory.NewKey{Minted: minted(t, 2), Now: noon, Expires: early}},
		directory.ReplaceTeam{Team: team("search", "key_days", "30"), Now: noon},
	)
	keys := d.Teams[0].Keys
	if keys[0].Expires == nil || !keys[0].Expires.Equal(noon.AddDate(0, 0, 30)) || !keys[1].Expires.Equal(early) {
		t.Errorf("the keys are %+v", keys)
	}
	next, entry, err := directory.Apply(d, directory.ReplaceTeam{Team: team("search", "key_days", "30"), Now: noon.AddDate(0, 0, 3)})
	if err != nil || next.Version != d.Version || entry.What != "" {
		t.Errorf("the same once more: version %d after %d, %v", next.Version, d.Version, err)
	}
}

func TestRefusedChanges(t *testing.T) {
	d := changed(t, directory.Document{},
		directory.CreateTeam{Team: team("search")},
		directory.AddKey{Team: "search", Key: directory.NewKey{Minted: minted(t, 1), Now: noon}},
	)
	whole := minted(t, 1).Reveal()
	beyond := time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -2*60*60)) // the year 10000 in UTC
	for _, tt := range []struct {
		change directory.Change
		kind   directory.Kind
		want   string
	}{
		{directory.CreateTeam{Team: team("search")}, directory.Conflict, "id: team search exists; change it, or choose another id"},
		{directory.CreateTeam{Team: team("Ads")}, directory.Invalid, `id: got "Ads", allowed: 1 to 63 of a–z, 0–9 and -, the first no -`},
		{directory.CreateTeam{Team: team("ads", "rates", `{"tokens":{"per":"2ms","limit":5}}`)}, directory.Invalid, `rates.tokens.per: got "2ms", allowed: whole seconds from "1s" to "1h"`},
		{directory.CreateTeam{Team: team("ads", "colour", `"red"`)}, directory.Invalid, `colour: unknown field, allowed: id, `},
		{directory.CreateTeam{Team: team("ads", "description", `"`+whole+`"`)}, directory.Invalid, `got a plain key (not shown), allowed: its SHA-256; this key has been seen, so mint another`},
		{directory.CreateTeam{Team: directory.Team{ID: "ads", Keys: d.Teams[0].Keys}}, directory.Invalid, `keys: got keys, allowed: none; mint and remove keys one by one`},
		{directory.CreateTeam{Team: team("ads", "disabled", "{")}, directory.Invalid, `disabled: got no JSON`},
		{directory.ReplaceTeam{Team: team("search", whole, "{")}, directory.Invalid, `[hidden]: got no JSON`},
		{directory.ReplaceTeam{Team: team("ads")}, directory.Missing, `id: team ads is not in the directory; a team of the teams file is changed there`},
		{directory.ReplaceTeam{Team: team(whole)}, directory.Missing, `id: team [hidden] is not in the directory; a team of the teams file is changed there`},
		{directory.RemoveTeam{ID: "search"}, directory.Conflict, `removing: team search is not to be removed; set disabled and removing first`},
		{directory.ReplaceTeam{Team: team("search", "removing", "true")}, directory.Invalid, `got removing without disabled, allowed: both, or neither to keep the team`},
		{directory.RemoveKey{Team: "search", Key: whole}, directory.Missing, `key: key [hidden] is not one of team search; look at the team's keys`},
		{directory.RemoveKey{Team: "ads", Key: "x"}, directory.Missing, `id: team ads is not in the directory; a team of the teams file is changed there`},
		{directory.AddKey{Team: "search", Key: directory.NewKey{Minted: minted(t, 1), Now: noon}}, directory.Invalid, `keys[1].id: this key id stands in line`},
		{directory.AddKey{Team: "search", Key: directory.NewKey{Minted: minted(t, 2), Note: "a\nb", Now: noon}}, directory.Invalid, `keys[1].note: got "a\nb", allowed: one line`},
		{directory.AddKey{Team: "search", Key: directory.NewKey{Minted: minted(t, 2), Expires: beyond, Now: noon}}, directory.Invalid, `expires: got no moment of the years 1 to 9999`},
		{directory.RotateKey{Team: "search", Old: minted(t, 1).ID, Key: directory.NewKey{Minted: minted(t, 2), Now: noon}, OldEnds: beyond}, directory.Invalid, `old_ends: got no moment`},
		{directory.Import{Document: directory.Document{Version: 1}}, directory.Conflict, `version: got 1, allowed: 2, which is the directory's; export it again and repeat the change, or use --force to undo what was changed since`},
	} {
		after, _, err := directory.Apply(d, tt.change)
		var refused *directory.Error
		if !errors.As(err, &refused) || refused.Kind != tt.kind || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%T: %v, want %s", tt.change, err, tt.want)
		}
		if string(after.Text()) != string(d.Text()) || strings.Contains(fmt.Sprint(err), whole) {
			t.Errorf("%T: changed something, or shows a key: %v", tt.change, err)
		}
	}
}

func TestATeamIsRemovedThatIsToBe(t *testing.T) {
	d := changed(t, directory.Document{},
		directory.CreateTeam{Team: team("search")},
		directory.ReplaceTeam{Team: team("search", "disabled", "true", "removing", "true"), Now: noon},
	)
	if ids := d.Removing(); len(ids) != 1 || ids[0] != "search" {
		t.Errorf("to be removed: %v", ids)
	}
	d = changed(t, d, directory.RemoveTeam{ID: "search"})
	if len(d.Teams) != 0 || d.Version != 3 {
		t.Errorf("the directory is %s", d.Text())
	}
}

func TestATeamHasABoundedNumberOfKeys(t *testing.T) {
	d := changed(t, directory.Document{}, directory.CreateTeam{Team: team("search")})
	for i := range 100 {
		d = changed(t, d, directory.AddKey{Team: "search", Key: directory.NewKey{Minted: minted(t, i), Now: noon}})
	}
	_, _, err := directory.Apply(d, directory.AddKey{Team: "search", Key: directory.NewKey{Minted: minted(t, 100), Now: noon}})
	if err == nil || err.Error() != "keys: team search has 100 keys, allowed: at most 100; remove one that is not used" {
		t.Error(err)
	}
}

// tb is what the helpers need of a test.
type tb interface {
	Helper()
	Fatal(args ...any)
}
