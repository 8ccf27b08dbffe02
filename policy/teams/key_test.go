package teams_test

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"sluice/policy/teams"
)

// noon is the time at which these tests present keys.
var noon = time.Date(2027, 6, 29, 12, 0, 0, 0, time.UTC)

// keyLine is a key of the file in flow style; extra is ", disabled: true" and the like.
func keyLine(id, whole, extra string) string {
	sum := sha256.Sum256([]byte(whole))
	return fmt.Sprintf("{id: %s, sha256: %s%s}", id, hex.EncodeToString(sum[:]), extra)
}

// keyring is a file with a key of every kind. Its keys are words, to show that a key may have any form.
func keyring(t testing.TB) *teams.File {
	t.Helper()
	longest := strings.Repeat("k", 256)
	return mustParse(t, `
teams:
  - id: open
    keys:
      - `+keyLine("aaaaaaaaaaaa", "plain word", "")+`
      - `+keyLine("bbbbbbbbbbbb", "second", "")+`
      - `+keyLine("cccccccccccc", "ended", ", expires: 2027-06-29T12:00:00Z")+`
      - `+keyLine("dddddddddddd", "ending", ", expires: 2027-06-29T12:00:00.000000001Z")+`
      - `+keyLine("eeeeeeeeeeee", "put away", ", disabled: true")+`
      - `+keyLine("ffffffffffff", longest, "")+`
      - `+keyLine("gggggggggggg", longest+"k", "")+`
      - `+keyLine("iiiiiiiiiiii", "abroad", ", expires: 2027-06-29T20:00:01+08:00")+`
  - id: closed
    disabled: true
    keys: [`+keyLine("hhhhhhhhhhhh", "of the closed", "")+`]
`)
}

// TestLookup finds the owner of a key, and none if the key does not work, whatever the reason.
func TestLookup(t *testing.T) {
	teams := keyring(t)
	for _, tt := range []struct{ presented, id string }{
		{"plain word", "aaaaaaaaaaaa"},
		{"Plain word", ""},
		{"plain word ", ""},
		{"plain wor", ""},
		{"", ""},
		{"aaaaaaaaaaaa", ""},
		{"second", "bbbbbbbbbbbb"},
		{"ended", ""},
		{"ending", "dddddddddddd"},
		{"abroad", "iiiiiiiiiiii"},
		{"put away", ""},
		{"of the closed", ""},
		{strings.Repeat("k", 255), ""},
		{strings.Repeat("k", 256), "ffffffffffff"},
		{strings.Repeat("k", 257), ""},
		{strings.Repeat("x", 1<<20), ""}, // hostile ones are only hashed, whatever they contain
		{"' OR 1=1 --", ""}, {"sl1:{open}:open", ""}, {"{open}", ""}, {"*", ""}, {"plain word\r\n", ""}, {"plain\x00word", ""}, {"\xff\xfe", ""},
	} {
		team, key, ok := teams.Lookup(tt.presented, noon)
		switch {
		case tt.id == "" && (ok || team != nil || key != nil):
			t.Errorf("%.20q gave %v, %v, %v, want nothing", tt.presented, team, key, ok)
		case tt.id != "" && (!ok || team.ID != "open" || key.ID != tt.id):
			t.Errorf("%.20q gave %v, %v, %v, want key %s", tt.presented, team, key, ok, tt.id)
		}
	}
}

// TestTwoKeysWorkWhileOneIsReplaced: both work, then the old one is disabled and the new one works on.
func TestTwoKeysWorkWhileOneIsReplaced(t *testing.T) {
	before, after := mint(t), mint(t)
	const head = "teams:\n  - id: search\n    keys:\n"
	for _, tt := range []struct {
		name, keys         string
		oldWorks, newWorks bool
	}{
		{"one", before.Lines(), true, false},
		{"both", before.Lines() + after.Lines(), true, true},
		{"old disabled", before.Lines() + "        disabled: true\n" + after.Lines(), false, true},
		{"old removed", after.Lines(), false, true},
	} {
		teams := mustParse(t, head+tt.keys)
		_, _, oldWorks := teams.Lookup(before.Reveal(), noon)
		_, _, newWorks := teams.Lookup(after.Reveal(), noon)
		if oldWorks != tt.oldWorks || newWorks != tt.newWorks {
			t.Errorf("%s: old works %v, new works %v", tt.name, oldWorks, newWorks)
		}
	}
}

// TestHasKey: the digest of the upstream key is found in the file, usable or not.
func TestHasKey(t *testing.T) {
	teams := keyring(t)
	for _, tt := range []struct {
		key  string
		want bool
	}{{"plain word", true}, {"put away", true}, {"of the closed", true}, {"", false}, {"another", false}} {
		if got := teams.HasKey(sha256.Sum256([]byte(tt.key))); got != tt.want {
			t.Errorf("HasKey of %q is %v", tt.key, got)
		}
	}
}

// TestZeroFileKnowsNobody: no key is accepted before a file is read.
func TestZeroFileKnowsNobody(t *testing.T) {
	var list teams.File
	if _, _, ok := list.Lookup("", noon); ok {
		t.Error("the zero File knows a key")
	}
	if list.Team("") != nil || list.HasKey([32]byte{}) {
		t.Error("the zero File has a team or key")
	}
	if list.Prices.For("llm-max", 20261121) != nil {
		t.Error("the zero File has a price")
	}
}

func BenchmarkLookup(b *testing.B) {
	teams := keyring(b)
	for _, name := range []string{"plain word", "another one", "put away", "of the closed"} {
		b.Run(strings.ReplaceAll(name, " ", "_"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				teams.Lookup(name, noon)
			}
		})
	}
}

// TestLookupAllocatesNothing: Lookup runs before anything is known about the caller.
func TestLookupAllocatesNothing(t *testing.T) {
	teams := keyring(t)
	for _, presented := range []string{"plain word", "another", strings.Repeat("k", 257)} {
		if allocs := testing.AllocsPerRun(100, func() { teams.Lookup(presented, noon) }); allocs != 0 {
			t.Errorf("%.20q costs %v allocations", presented, allocs)
		}
	}
}

func mint(t testing.TB) teams.MintedKey {
	t.Helper()
	key, err := teams.MintKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}
