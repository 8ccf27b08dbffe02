package teams_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"sluice/policy/teams"
)

var keyForm = regexp.MustCompile(`^slk_([a-z0-9]{12})_[0-9A-Za-z]{43}$`)

// TestMintedKeysLeadToTheirTeams: any random bytes give a key of the right form, and a file of minted keys leads from each to its
// own team, and from a similar key to none.
func TestMintedKeysLeadToTheirTeams(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var doc strings.Builder
		doc.WriteString("teams:\n")
		var keys []teams.MintedKey
		count := rapid.IntRange(1, 5).Draw(t, "teams")
		for i := range count {
			// The first byte differs, so ids and secrets drawn alike do not make two equal keys.
			raw := append([]byte{byte(i)}, rapid.SliceOfN(rapid.Byte(), 47, 47).Draw(t, "random")...)
			key, err := teams.MintKey(bytes.NewReader(raw))
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, key)
			fmt.Fprintf(&doc, "  - id: team-%d\n    keys:\n%s", i, key.Lines())
		}
		file, err := teams.Parse([]byte(doc.String()))
		if err != nil {
			t.Skip("two ids fell together") // the remainder of the drawn bytes may be equal
		}
		for i, key := range keys {
			whole := key.Reveal()
			if form := keyForm.FindStringSubmatch(whole); form == nil || form[1] != key.ID {
				t.Fatalf("%q has the wrong form for id %s", whole, key.ID)
			}
			team, found, ok := file.Lookup(whole, noon)
			if !ok || team.ID != fmt.Sprintf("team-%d", i) || found.ID != key.ID {
				t.Fatalf("key %d belongs to %v, %v, %v", i, team, found, ok)
			}
			at := rapid.IntRange(0, len(whole)-1).Draw(t, "at")
			other := []byte(whole)
			other[at] ^= 1 << rapid.IntRange(0, 6).Draw(t, "bit")
			if _, _, ok := file.Lookup(string(other), noon); ok {
				t.Fatalf("%q works like %q", other, whole)
			}
		}
	})
}

// TestMintedKeyEnds: the smallest and the largest random bytes both give a key of the right form.
func TestMintedKeyEnds(t *testing.T) {
	zeros, _ := teams.MintKey(bytes.NewReader(make([]byte, 48)))
	if got, want := zeros.Reveal(), "slk_000000000000_"+strings.Repeat("0", 43); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	ones, _ := teams.MintKey(bytes.NewReader(bytes.Repeat([]byte{0xff}, 48)))
	if !keyForm.MatchString(ones.Reveal()) {
		t.Errorf("%s has the wrong form", ones.Reveal())
	}
	sum := sha256.Sum256([]byte(ones.Reveal()))
	if ones.SHA256 != hex.EncodeToString(sum[:]) {
		t.Error("SHA256 is not the digest of the whole key")
	}
}

// TestMintWithoutRandomness: no key is better than a guessable one.
func TestMintWithoutRandomness(t *testing.T) {
	broken := errors.New("no entropy")
	if key, err := teams.MintKey(iotest.ErrReader(broken)); !errors.Is(err, broken) || key.Reveal() != "" {
		t.Errorf("got %v, %v", key, err)
	}
	if _, err := teams.MintKey(bytes.NewReader(make([]byte, 47))); err == nil {
		t.Error("47 random bytes were enough")
	}
}

// TestMintedKeyIsShownOnlyByReveal: only Reveal shows the secret.
func TestMintedKeyIsShownOnlyByReveal(t *testing.T) {
	key := mint(t)
	secret := key.Reveal()[len("slk_123456789012_"):]
	asJSON, err := json.Marshal(struct{ Key teams.MintedKey }{key})
	if err != nil {
		t.Fatal(err)
	}
	said := []string{string(asJSON), key.Lines(), fmt.Sprint(key), fmt.Sprint(&key)}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		said = append(said, fmt.Sprintf(verb, key), fmt.Sprintf(verb, struct{ Key teams.MintedKey }{key}))
	}
	for _, text := range said {
		if strings.Contains(text, secret) || strings.Contains(text, hex.EncodeToString([]byte(secret))) {
			t.Errorf("the secret stands in %q", text)
		}
	}
}

// The id is drawn from all letters and digits, also in its first place.
func TestAMintedIDIsDrawnFromAll(t *testing.T) {
	seen := map[byte]bool{}
	for range 1000 {
		seen[mint(t).ID[0]] = true
	}
	if len(seen) < 30 { // of 36
		t.Errorf("%d letters and digits begin a thousand ids", len(seen))
	}
}
