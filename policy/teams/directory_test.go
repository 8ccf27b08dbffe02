package teams_test

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"sluice/policy/teams"
)

const fileOfTwo = `
currency: CNY
defaults: {concurrent: 7, key_days: 30}
teams:
  - id: search
    keys: [{id: aaaaaaaaaaaa, sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08}]
  - id: ads
prices: [{model: "*", image: 1}]
aliases: {other: llm-max}
`

// none is the SHA-256 of no key.
var none [sha256.Size]byte

func sumOf(key string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(key))) }

func TestADirectorysTeamsStandBesideTheFiles(t *testing.T) {
	file := mustParse(t, fileOfTwo)
	joined, ignored, err := file.Join([]byte(`{"version":3,"teams":[{"id":"maps","description":"Karten & 地图 <خرائط>","concurrent":9,`+
		`"key_days":"none","keys":[{"id":"bbbbbbbbbbbb","sha256":"`+sumOf("maps")+`","note":"the indexer"}]},{"id":"mail"}]}`), none)
	if err != nil || len(ignored) > 0 {
		t.Fatal(err, ignored)
	}
	maps := joined.Team("maps")
	if maps == nil || maps.Owner != teams.OwnerDirectory || maps.Description != "Karten & 地图 <خرائط>" || maps.Concurrent != 9 ||
		maps.KeyDays != 0 || maps.Keys[0].Note != "the indexer" {
		t.Errorf("maps is %+v", maps)
	}
	if mail := joined.Team("mail"); mail == nil || mail.Concurrent != 7 || mail.KeyDays != 30 {
		t.Errorf("mail is %+v, want the defaults of the file", mail)
	}
	if team, _, ok := joined.Lookup("maps", noon); !ok || team != maps {
		t.Error("the key of the directory's team does not work")
	}
	if team, _, ok := joined.Lookup("test", noon); !ok || team.ID != "search" || team.Owner != teams.OwnerFile {
		t.Error("the key of the file's team does not work")
	}
	if joined.Prices.For("llm", 20261121) == nil || joined.Currency != "CNY" || joined.Resolve("other") != "llm-max" {
		t.Error("prices, currency or aliases are lost")
	}
	if file.Team("maps") != nil || len(file.List) != 2 {
		t.Error("the file itself has changed")
	}
}

func TestANameHasOneOwner(t *testing.T) {
	file := mustParse(t, fileOfTwo)
	joined, ignored, err := file.Join([]byte(`{"teams":[
{"id":"search","keys":[{"id":"bbbbbbbbbbbb","sha256":"`+sumOf("intruder")+`"}]},
{"id":"maps","keys":[{"id":"aaaaaaaaaaaa","sha256":"`+sumOf("one")+`"},{"id":"cccccccccccc","sha256":"`+sumOf("test")+
		`"},{"id":"dddddddddddd","sha256":"`+sumOf("two")+`"},{"id":"eeeeeeeeeeee","sha256":"`+sumOf("upstream")+`"}]}]}`),
		sha256.Sum256([]byte("upstream")))
	if err != nil {
		t.Fatal(err)
	}
	want := `team search is in the teams file and in the directory: the file's counts; remove one of the two
key aaaaaaaaaaaa of team maps is in the teams file, too: the file's counts; remove it from the directory
key cccccccccccc of team maps is in the teams file, too: the file's counts; remove it from the directory
key eeeeeeeeeeee of team maps is the upstream key, with which the team can go around the gateway: ` +
		`it does not work; remove it from the directory`
	if diff := cmp.Diff(want, ignored.Error()); diff != "" {
		t.Errorf("ignored (-want +got):\n%s", diff)
	}
	for key, owner := range map[string]string{"test": "search", "two": "maps", "one": "", "intruder": "", "upstream": ""} {
		team, _, ok := joined.Lookup(key, noon)
		if ok != (owner != "") || ok && team.ID != owner {
			t.Errorf("key %s belongs to %v, want %q", key, team, owner)
		}
	}
}

// TestADirectoryIsTheSameAsJSON: what the reader accepts is read the same from its JSON.
func TestADirectoryIsTheSameAsJSON(t *testing.T) {
	file := mustParse(t, "teams: []")
	yaml := string(readDoc(t, "../../teams.example.yaml"))
	_, yaml, _ = strings.Cut(yaml, "\nteams:\n")
	if next := regexp.MustCompile(`(?m)^[a-z]+:`).FindStringIndex(yaml); next != nil {
		yaml = yaml[:next[0]]
	}
	checkSame(t, file, []byte("teams:\n"+yaml))
	checkSame(t, file, []byte("teams:\n- id: a\n  models: [0x10, 1e3, true, 'null', 007, \"5\", 5]\n  quotas: {spend: {day: 0.100}}\n  "+
		"rules:\n"))
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(0, 40, -1).Filter(teams.IsProse).Draw(t, "description")
		checkSame(t, file, []byte("teams:\n  - id: a\n    description: "+quotedYAML(text)+"\n"))
	})
}

// quotedYAML quotes a line for YAML.
func quotedYAML(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

func checkSame(t interface {
	Helper()
	Errorf(string, ...any)
}, file *teams.File, doc []byte,
) {
	t.Helper()
	first, _, err := file.Join(doc, none)
	if err != nil {
		t.Errorf("%s: %v", doc, err)
		return
	}
	again, err := teams.ReadDocument(doc)
	if err != nil {
		t.Errorf("%s: %v", doc, err)
		return
	}
	second, _, err := file.Join(again.Text(), none)
	if err != nil {
		t.Errorf("%s: %v", again.Text(), err)
		return
	}
	if diff := cmp.Diff(first.List, second.List, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(teams.Team{}),
		cmpopts.SortSlices(func(a, b *teams.Team) bool { return a.ID < b.ID })); diff != "" {
		t.Errorf("%s\nis another as JSON (-YAML +JSON):\n%s", doc, diff)
	}
}

func TestTextOfATeam(t *testing.T) {
	file := mustParse(t, fileOfTwo)
	joined, _, err := file.Join([]byte(`{"teams":[{"id":"maps","description":"Karten <&>","concurrent":9}]}`), none)
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{
		"search": `{"id":"search","keys":[{"id":"aaaaaaaaaaaa","sha256":"` + sumOf("test") + `"}]}`,
		"ads":    `{"id":"ads"}`,
		"maps":   "",
	} {
		spec, ok := joined.Spec(id)
		if got, _ := spec.MarshalJSON(); ok != (want != "") || ok && string(got) != want {
			t.Errorf("%s is %s, want %s", id, got, want)
		}
	}
	if joined.Defaults().KeyDays != 30 || (&teams.File{}).Defaults().KeyDays != 0 {
		t.Error("the defaults have another key_days")
	}
}
