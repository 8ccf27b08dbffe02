package main

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"testing"

	"sluice/policy/teams"
)

func TestTheConsolesTeamsAreThoseOfTheGateway(t *testing.T) {
	key := func(id, secret, more string) string {
		return fmt.Sprintf("      - {id: %s, sha256: %x%s}\n", id, sha256.Sum256([]byte(secret)), more)
	}
	file, err := teams.Parse([]byte("teams:\n  - id: maps\n    members: [map-people, Alice@Example.com]\n    keys:\n" +
		key("aaaaaaaaaaaa", "good", "") + key("bbbbbbbbbbbb", "expired", ", expires: 2020-01-01T00:00:00Z") + key("cccccccccccc", "disabled", ", disabled: true") +
		"  - id: closed\n    disabled: true\n    members: [map-people]\n    keys:\n" + key("dddddddddddd", "closed", "")))
	if err != nil {
		t.Fatal(err)
	}
	var c inForce
	c.file.Store(file)
	for _, tt := range []struct {
		secret, team, key string
		works             bool
	}{
		{"good", "maps", "aaaaaaaaaaaa", true},
		{"expired", "maps", "bbbbbbbbbbbb", false},
		{"disabled", "maps", "cccccccccccc", false},
		{"closed", "closed", "dddddddddddd", false},
		{"unknown", "maps", "eeeeeeeeeeee", false},
		{"unknown", "unknown", "aaaaaaaaaaaa", false},
	} {
		team, id, ok := c.OfKey(tt.secret)
		if ok != tt.works || ok && (team != tt.team || id != tt.key) {
			t.Errorf("%s belongs to %s, %s, %v", tt.secret, team, id, ok)
		}
		digest, ok := c.Digest(tt.team, tt.key)
		if ok != tt.works || ok && digest != sha256.Sum256([]byte(tt.secret)) {
			t.Errorf("the digest of %s: %x %v", tt.secret, digest, ok)
		}
	}
	for names, want := range map[[2]string][]string{
		{"map-people", "bob@example.com"}: {"closed", "maps"}, {"x", "alice@example.COM"}: {"maps"}, {"MAP-PEOPLE", "example.com"}: nil,
	} {
		if got := c.OfMembers(names[:1], names[1]); !slices.Equal(got, want) {
			t.Errorf("%v are members of %v, want %v", names, got, want)
		}
	}
}
