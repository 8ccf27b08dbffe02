package telemetry

import (
	"regexp"
	"testing"
)

func TestIDsAreUUIDs(t *testing.T) {
	form := regexp.MustCompile(`^019a5e2c-1f37-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	seen := make(map[string]bool)
	for range 10000 {
		id := NewID(0x19a5e2c1f37)
		if !form.MatchString(id) || seen[id] {
			t.Fatalf("%s is no new UUID of version 7 with its moment", id)
		}
		seen[id] = true
	}
}
