package teams_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sluice/policy/teams"
)

// order is the order of the tests' changes.
var order = teams.Order{Who: "test", Address: "127.0.0.1", Now: today}

// trail is what a store keeps after some changes.
type trail struct {
	teams.State
	entries [][]byte
}

// then makes one more change.
func (s *trail) then(t fataler, change teams.Change) {
	d, err := s.Open()
	if err != nil {
		t.Fatalf("%v", err)
	}
	d, entry, err := teams.Apply(d, change)
	if err != nil {
		t.Fatalf("%v", err)
	}
	next, err := s.Next(d.Text(), entry, order)
	if err != nil {
		t.Fatalf("%v", err)
	}
	s.State = next
	s.entries = append(s.entries, next.Last)
}

type fataler interface{ Fatalf(string, ...any) }

// someTrail makes a trail of many changes.
func someTrail(t fataler, length int) *trail {
	s := &trail{}
	for i := range length {
		s.then(t, teams.CreateTeam{Team: spec(fmt.Sprintf("team-%d", i), "concurrent", fmt.Sprint(i+1))})
	}
	return s
}

func prove(entries [][]byte, s teams.State) []string {
	var p teams.Proof
	for _, text := range entries {
		p.Add(text)
	}
	return p.Verify(s)
}

func TestAWholeTrailIsProved(t *testing.T) {
	s := someTrail(t, 12)
	if faults := prove(s.entries, s.State); faults != nil {
		t.Error(faults)
	}
	if faults := prove(nil, teams.State{}); faults != nil {
		t.Error("an empty one:", faults)
	}
	aged := s.State // the oldest entries are too old to be kept
	aged.First = 5
	if faults := prove(s.entries[4:], aged); faults != nil {
		t.Error("an aged one:", faults)
	}
	next, err := s.Next(nil, teams.Entry{What: "usage.adjust", Team: "team-1"}, order)
	if err != nil {
		t.Fatal(err)
	}
	if faults := prove(append(slices.Clone(s.entries), next.Last), next); faults != nil || string(next.Document) != string(s.Document) {
		t.Error("an entry about a change elsewhere:", faults)
	}
}

// TestAnyTamperingIsFound: an entry that is changed, dropped, repeated or moved, or a document that is changed.
func TestAnyTamperingIsFound(t *testing.T) {
	whole := someTrail(t, 9)
	rapid.Check(t, func(t *rapid.T) {
		entries, s := slices.Clone(whole.entries), whole.State
		at := rapid.IntRange(0, len(entries)-1).Draw(t, "entry")
		what := rapid.SampledFrom([]string{"change", "drop", "repeat", "move", "cut", "document", "rewrite"}).Draw(t, "what")
		switch what {
		case "change":
			text := bytes.Clone(entries[at])
			i := rapid.IntRange(0, len(text)-1).Draw(t, "byte")
			text[i] ^= byte(1 << rapid.IntRange(0, 6).Draw(t, "bit"))
			entries[at] = text
		case "drop":
			entries = slices.Delete(entries, at, at+1)
		case "repeat":
			entries = slices.Insert(entries, at, entries[at])
		case "move":
			to := rapid.IntRange(0, len(entries)-1).Filter(func(to int) bool { return to != at }).Draw(t, "to")
			entries[at], entries[to] = entries[to], entries[at]
		case "cut":
			entries = entries[:at]
		case "document":
			text := bytes.Clone(s.Document)
			text[rapid.IntRange(0, len(text)-1).Draw(t, "byte")] ^= 1
			s.Document = text
		case "rewrite": // a whole trail of someone else, of the same length
			other := &trail{}
			for i := range entries {
				other.then(t, teams.CreateTeam{Team: spec(fmt.Sprintf("other-%d", i))})
			}
			entries = other.entries
		}
		if faults := prove(entries, s); faults == nil {
			t.Fatalf("%s of entry %d is not found", what, at)
		}
	})
}

func TestADocumentWithoutItsEntryIsNotOpened(t *testing.T) {
	s := someTrail(t, 2).State
	s.Document = bytes.Replace(s.Document, []byte("team-1"), []byte("team-9"), 1)
	if _, err := s.Open(); err == nil ||
		err.Error() != "the directory is not as entry 2 of its audit left it: it was changed without an entry" {
		t.Error(err)
	}
}

// TestNothingContainsAKey: no document, entry, error or text does, over the whole life of keys.
func TestNothingContainsAKey(t *testing.T) {
	s := &trail{}
	s.then(t, teams.CreateTeam{Team: spec("search", "key_days", "90")})
	var all strings.Builder
	for i := range 5 {
		key := teams.AddKey{Team: "search", Minted: minted(t, i), Order: teams.KeyOrder{Note: "key"}, Now: today}
		if i > 0 {
			key.Order.Replaces, key.Order.OldEnds = minted(t, i-1).ID, &today
		}
		s.then(t, key)
		fmt.Fprintf(&all, "%v %+v %#v", key, key, key)
	}
	s.then(t, teams.RemoveKey{Team: "search", Key: minted(t, 0).ID})
	for i := range 5 {
		whole := minted(t, i).Reveal()
		for _, o := range []teams.Order{{Who: whole, Now: today}, {Who: "x", Address: whole, Now: today},
			{Who: "x", Reason: "for " + whole, Now: today}} {
			_, err := s.Next(nil, teams.Entry{What: "x"}, o)
			if err == nil {
				t.Error("an order with a key is taken")
			}
			fmt.Fprintln(&all, err)
		}
		if _, err := s.Next(nil, teams.Entry{What: "x", Before: []byte(`"` + whole + `"`)}, order); err == nil {
			t.Error("an entry with a key is taken")
		}
	}
	all.Write(bytes.Join(s.entries, nil))
	for i := range 5 {
		secret := strings.TrimPrefix(minted(t, i).Reveal(), "slk_"+minted(t, i).ID)
		if strings.Contains(all.String()+string(s.Document), secret) {
			t.Errorf("key %d stands in\n%s", i, all.String())
		}
		if strings.Contains(string(bytes.Join(s.entries, nil)), minted(t, i).SHA256) {
			t.Errorf("the hash of key %d stands in an entry", i)
		}
	}
}

func TestARestoredDirectoryTellsWhatIsLost(t *testing.T) {
	known := someTrail(t, 5)
	older := someTrail(t, 3)
	for about, has := range map[string]*trail{"an empty store": {}, "an older copy": older} {
		next, err := teams.Restored(has.State, known.State, order)
		if err != nil {
			t.Fatal(about, err)
		}
		d, err := next.Open()
		if err != nil || string(d.Text()) != string(known.Document) {
			t.Errorf("%s: the directory is %s, %v", about, d.Text(), err)
		}
		faults := strings.Join(prove(append(slices.Clone(has.entries), next.Last), next), "; ")
		want := map[string]string{"an empty store": "entries 1 to 5 are missing", "an older copy": "entries 4 to 5 are missing"}[about]
		if faults != want {
			t.Errorf("%s: %q, want %q", about, faults, want)
		}
	}
}
