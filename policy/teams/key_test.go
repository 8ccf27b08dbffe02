package teams_test

import (
	"crypto/rand"
	"testing"
	"time"

	"sluice/policy/teams"
)

func mint(t testing.TB) teams.MintedKey {
	t.Helper()
	key, err := teams.MintKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// TestMintedKeyWorks: a key that sluice key prints works once it is in the file.
func TestMintedKeyWorks(t *testing.T) {
	key := mint(t)
	file, err := teams.Parse([]byte("teams:\n  - id: search\n    keys:\n" + key.Lines()))
	if err != nil {
		t.Fatal(err)
	}
	team, found, ok := file.Lookup(key.Reveal(), time.Now())
	if !ok || team.ID != "search" || found.ID != key.ID {
		t.Errorf("Lookup gave %v, %v, %v", team, found, ok)
	}
}
